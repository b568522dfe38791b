#include "exec/verify.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cpu/runtime/fp_mode.hpp"
#include "exec/fork.hpp"
#include "exec/line.hpp"
#include "exec/record.hpp"
#include "exec/settings.hpp"
#include "exec/table.hpp"

namespace ozfp4::exec {
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

std::int64_t random_below(std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)); }

void tell(Routine routine, const Product& p, const Sample& entry, const Checked& checked) {
  char text[320];
  std::snprintf(text, sizeof text,
                "verify: %s of %lld x %lld x %lld: entry (%lld, %lld) is %.17g%+.17gi, the exact one %.17g%+.17gi",
                name_of(routine), static_cast<long long>(p.m), static_cast<long long>(p.n), static_cast<long long>(p.k),
                static_cast<long long>(entry.row), static_cast<long long>(entry.column), checked.found.real,
                checked.found.imaginary, checked.exact.real, checked.exact.imaginary);
  say(text);
}

bool is_chosen() {
  const std::int64_t wanted = settings().verify;
  if (wanted == 0) return false;
  const std::int64_t number = ++counters.made;
  return number <= wanted ||
         static_cast<double>(random() >> 11) * 0x1p-53 * static_cast<double>(number) < static_cast<double>(wanted);
}

}  // namespace

Verification::Verification(const Product& product, Read read, void* stream) : read_(read), stream_(stream) {
  if (!is_chosen()) return;
  const double entries = static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.batch);
  const Factor beta = factor(product.type, product.beta);
  for (int i = 0; i < std::min<double>(most, entries); ++i) {
    Sample entry{random_below(product.batch), random_below(product.m), random_below(product.n), {}};
    if (!is_written(product, entry.row, entry.column)) std::swap(entry.row, entry.column);
    const Product p = matrix_of(product, entry.matrix);
    double number[2];
    if (beta.real != 0 || beta.imaginary != 0) {
      const void* const place = static_cast<const char*>(p.c) + place_of(p, p.ldc, entry.row, entry.column);
      if (!read_(number, place, size_of(p.type), 1, 1, stream_)) continue;
      const Factor before = factor(p.type, number);
      entry.before = {before.real, product.is_hermitian && entry.row == entry.column ? 0 : before.imaginary};
    }
    entries_[static_cast<std::size_t>(count_++)] = entry;
  }
}

void Verification::finish(Routine routine, const Product& product) const {
  if (count_ == 0) return;
  const DefaultFpMode mode;
  try {
    ++counters.products;
    for (int i = 0; i < count_; ++i) {
      const Sample& entry = entries_[static_cast<std::size_t>(i)];
      const Checked checked = check_entry(product, settings().accuracy, entry, read_, stream_);
      if (checked.finding == Finding::correct) ++counters.correct;
      if (checked.finding == Finding::within_bound) ++counters.within_bound;
      if (checked.finding == Finding::not_finite) ++counters.not_finite;
      if (checked.finding == Finding::wrong && ++counters.wrong <= most_lines) tell(routine, product, entry, checked);
    }
  } catch (const std::bad_alloc&) {  // entries without memory for their lines are not checked; the program may go on
  }
}

Verified verified() {
  const Counters& of = counters;
  return {of.products,  of.correct + of.within_bound + of.wrong + of.not_finite, of.correct, of.within_bound, of.wrong,
          of.not_finite};
}

}  // namespace ozfp4::exec
