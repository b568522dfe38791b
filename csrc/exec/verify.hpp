// `ozfp4 exec --verify N`: entries of products that ozfp4 made, chosen at random, held against exact integers.
#pragma once

#include <array>
#include <cstdint>

#include "exec/product.hpp"
#include "exec/routine.hpp"

namespace ozfp4::exec {

// Copies `count` entries of so many bytes, which lie `step` entries apart, one behind another. False: they cannot be read.
using Read = bool (*)(void* to, const void* from, std::size_t bytes, std::int64_t step, std::int64_t count, void* stream);
bool read_from_host(void* to, const void* from, std::size_t bytes, std::int64_t step, std::int64_t count, void* stream);

// An entry of C of either part; of real types the imaginary one is 0.
struct Complex {
  double real = 0, imaginary = 0;
};

struct Sample {
  std::int64_t matrix = 0, row = 0, column = 0;
  Complex before;  // it was, where beta is not 0
};

enum class Finding { correct, within_bound, wrong, not_finite, unread };

struct Checked {
  Finding finding;
  Complex exact, found;  // what the exact result rounds to, and what is there
};

// Whether an entry is the exact result rounded once, or within the promise of the accuracy (of ozfp4.h). Where its row,
// column or C is not finite, a real entry must be NaN or infinite as by IEEE 754; a complex one is not judged.
Checked check_entry(const Product& product, int accuracy, const Sample& entry, Read read, void* stream);

// Checks one product: constructed before it, called after it. Does nothing for those that are not chosen: the first N of the
// process are, and then the t-th with probability N / t. On a GPU it waits for the stream.
class Verification {
 public:
  explicit Verification(const Product& product, Read read = read_from_host, void* stream = nullptr);
  void finish(Routine routine, const Product& product) const;

 private:
  static constexpr int most = 8;  // entries of a product
  std::array<Sample, most> entries_;
  int count_ = 0;
  const Read read_;
  void* const stream_;
};

// Products and entries that were checked; entries that are the exact result rounded once, that are within the bound of the
// accuracy, that are wrong, and that hold what is not finite and were passed by.
struct Verified {
  std::int64_t products, entries, correct, within_bound, wrong, not_finite;
};
Verified verified();

}  // namespace ozfp4::exec
