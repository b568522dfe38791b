// One entry of a product as exact integers make it.
#pragma once

#include <cstdint>

#include "interpose/call/product.hpp"

namespace ozfp4::interpose {

enum class Finding { correct, within_bound, wrong, not_finite };

struct Place {
  std::int64_t row = 0, column = 0;
};

// An entry of C of either part; of real types the imaginary one is 0.
struct Complex {
  double real = 0, imaginary = 0;
};

Complex entry_of_c(const Product& product, Place place);

struct Checked {
  Finding finding;
  Complex exact;  // what it rounds to
};

// What became of an entry whose C was `before`: the exact result rounded once, or within what the accuracy (of ozfp4.h) promises.
// Entries whose row, column or C holds what is not finite are told from each other by that alone.
Checked check_entry(const Product& product, int accuracy, Place place, Complex before);

}  // namespace ozfp4::interpose
