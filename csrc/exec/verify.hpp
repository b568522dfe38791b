// `ozfp4 exec --verify N`: entries of products that ozfp4 made, chosen at random, held against exact integers.
#pragma once

#include <array>
#include <complex>
#include <cstdint>

#include "exec/decide.hpp"

namespace ozfp4::exec {

struct Sample {
  std::int64_t matrix = 0, row = 0, column = 0;
  std::complex<double> before{};  // it was, where beta is not 0
};

enum class Finding { correct, within_bound, wrong, not_finite, unread };

struct Checked {
  Finding finding;
  std::complex<double> exact, found;  // what the exact result rounds to, and what is there
};

// Whether an entry is the exact result rounded once, or within the bound of "standard" (of ozfp4.h) but for a unit in the last
// place. Where its row, column or C is not finite, a real entry must be NaN or infinite as by IEEE 754; a complex one is not
// judged.
Checked check_entry(const Product& product, int accuracy, const Sample& entry, const Place& place);

// Checks one product: constructed before it, called after it. Does nothing for those that are not chosen: the first N of the
// process are, and then the t-th with probability N / t. On a GPU it waits for the stream.
class Verification {
 public:
  Verification(const Product& product, const Place& place);
  void finish(Routine routine, const Product& product) const;

 private:
  std::array<Sample, 8> entries_;
  std::size_t count_ = 0;
  const Place& place_;
};

// How many entries were judged, and found to be so, of how many products.
struct Verified {
  std::int64_t products, correct, within_bound, wrong, not_finite;
  std::int64_t entries() const { return correct + within_bound + wrong + not_finite; }
};
Verified verified();
// In a child of fork().
void forget_verified();

}  // namespace ozfp4::exec
