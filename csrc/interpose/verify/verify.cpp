#include "interpose/verify/verify.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

#include "cpu/runtime/fp_mode.hpp"
#include "interpose/process/fork.hpp"
#include "interpose/process/line.hpp"
#include "interpose/process/record.hpp"
#include "interpose/process/settings.hpp"
#include "interpose/process/table.hpp"

namespace ozfp4::interpose {
namespace {

constexpr int most_lines = 5;  // of entries that are wrong

struct Counters {
  std::atomic<std::int64_t> made{0}, products{0}, correct{0}, within_bound{0}, wrong{0}, not_finite{0};
};
Counters counters;
void forget() {
  for (auto* each :
       {&counters.made, &counters.products, &counters.correct, &counters.within_bound, &counters.wrong, &counters.not_finite}) {
    *each = 0;
  }
}
const bool forgets = (forget_in_children(forget), true);

// Another one at each call, and in each process.
std::uint64_t random() {
  static std::atomic<std::uint64_t> next{static_cast<std::uint64_t>(now())};
  return mix(next.fetch_add(0x9e3779b97f4a7c15u, std::memory_order_relaxed));
}

void tell(Routine routine, const Product& p, Place place, Complex found, Complex exact) {
  char text[320];
  std::snprintf(text, sizeof text,
                "verify: %s of %lld x %lld x %lld: entry (%lld, %lld) is %.17g%+.17gi, the exact one %.17g%+.17gi",
                name_of(routine), static_cast<long long>(p.m), static_cast<long long>(p.n), static_cast<long long>(p.k),
                static_cast<long long>(place.row), static_cast<long long>(place.column), found.real, found.imaginary, exact.real,
                exact.imaginary);
  say(text);
}

}  // namespace

bool is_chosen_for_verification() {
  const std::int64_t wanted = settings().verify;
  if (wanted == 0) return false;
  const std::int64_t number = ++counters.made;
  return number <= wanted ||
         static_cast<double>(random() >> 11) * 0x1p-53 * static_cast<double>(number) < static_cast<double>(wanted);
}

int entries_verified(const Product& product) {
  const double entries = static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.batch);
  return static_cast<int>(std::min<double>(most_verified_entries, entries));
}

std::int64_t random_below(std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)); }

void count_verified_product() { ++counters.products; }

void count_verified_entry(Routine routine, const Product& product, Place place, Complex found, const Checked& checked) {
  switch (checked.finding) {
    case Finding::correct: ++counters.correct; break;
    case Finding::within_bound: ++counters.within_bound; break;
    case Finding::not_finite: ++counters.not_finite; break;
    case Finding::wrong:
      if (++counters.wrong <= most_lines) tell(routine, product, place, found, checked.exact);
      break;
  }
}

Verification::Verification(const Product& product) {
  if (!is_chosen_for_verification()) return;
  count_ = entries_verified(product);
  for (int i = 0; i < count_; ++i) {
    places_[i] = {random_below(product.m), random_below(product.n)};
    if (!is_written(product, places_[i].row, places_[i].column)) std::swap(places_[i].row, places_[i].column);
    const Factor beta = factor(product.type, product.beta);
    const bool reads_c = beta.real != 0 || beta.imaginary != 0;
    before_[i] = reads_c ? entry_of_c(product, places_[i]) : Complex{};
    if (product.is_hermitian && places_[i].row == places_[i].column) before_[i].imaginary = 0;
  }
}

void Verification::finish(Routine routine, const Product& product) const {
  if (count_ == 0) return;
  const DefaultFpMode mode;
  try {
    count_verified_product();
    for (int i = 0; i < count_; ++i) {
      const Checked checked = check_entry(product, settings().accuracy, places_[i], before_[i]);
      count_verified_entry(routine, product, places_[i], entry_of_c(product, places_[i]), checked);
    }
  } catch (const std::bad_alloc&) {  // entries without memory for their lines are not checked; the program may go on
  }
}

Verified verified() {
  const Counters& of = counters;
  return {of.products,  of.correct + of.within_bound + of.wrong + of.not_finite, of.correct, of.within_bound, of.wrong,
          of.not_finite};
}

}  // namespace ozfp4::interpose
