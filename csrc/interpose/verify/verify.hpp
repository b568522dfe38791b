// `ozfp4 exec --verify N`: products that ozfp4 made, chosen at random, held against exact integers.
#pragma once

#include <array>
#include <cstdint>

#include "interpose/call/product.hpp"
#include "interpose/symbols/routine.hpp"
#include "interpose/verify/entry.hpp"

namespace ozfp4::interpose {

constexpr int most_verified_entries = 8;  // of a product

// Of one product: made before it, asked after it. Does nothing for those that are not chosen: the first N of the process are,
// and then the t-th with probability N / t.
class Verification {
 public:
  explicit Verification(const Product& product);
  void finish(Routine routine, const Product& product) const;

 private:
  std::array<Place, most_verified_entries> places_;
  std::array<Complex, most_verified_entries> before_;
  int count_ = 0;
};

// What verifications of products anywhere share: whether one more is chosen, how many entries of it, which (range: below at least
// 1), and what was found.
bool is_chosen_for_verification();
int entries_verified(const Product& product);
std::int64_t random_below(std::int64_t limit);
void count_verified_product();
void count_verified_entry(Routine routine, const Product& product, Place place, Complex found, const Checked& checked);

// Products and entries that were checked; entries that are the exact result rounded once, that are within the bound of the
// accuracy, that are wrong, and that hold what is not finite and were passed by.
struct Verified {
  std::int64_t products, entries, correct, within_bound, wrong, not_finite;
};
Verified verified();

}  // namespace ozfp4::interpose
