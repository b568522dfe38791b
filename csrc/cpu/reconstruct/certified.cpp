#include "cpu/reconstruct/certified.hpp"

#include <algorithm>
#include <limits>

#include "arith/accuracy/bound.hpp"
#include "cpu/reconstruct/certified_block.hpp"
#include "cpu/reconstruct/integers.hpp"

namespace ozfp4 {
namespace {

// The bound of an entry, by the integer that its error is.
template <int Words, class T>
double bound_of_wide(const LineRecord& row, const LineRecord& column, int exponent, T value, const Target& target) {
  const WideInt<Words> error = error_bound<Words>(row, column);
  if (!target.update.is_asked) return entry_bound(error, exponent, value, target.rounding);
  const FloatParts& alpha = target.update.factors.alpha;
  return entry_bound(times_significand(error, alpha), exponent + alpha.weight, value, target.rounding);
}

// The same. Mostly both terms of the error are normal numbers, exactly, as there are fewer than 2^53 entries in a line.
template <class T>
double bound_of(const LineRecord& row, const LineRecord& column, int exponent, T value, const Target& target) {
  const int of_row = exponent + row.capacity - 1, of_column = exponent + column.capacity - 1;
  const int least = std::min(of_row, of_column), most = std::max(of_row, of_column) + 54;
  if (!target.update.is_asked && least >= FloatFormat<double>::min_exponent && most <= FloatFormat<double>::max_exponent) {
    const double first = static_cast<double>(rounded_products(column, row)) * exact_power_of_two<double>(of_row);
    const double second = static_cast<double>(rounded_products(row, column)) * exact_power_of_two<double>(of_column);
    return add_up(add_up(first, second), rounding_bound(value, target.rounding));
  }
  static_assert(kMostBits + 64 <= 32 * 10 - 2, "error_bound");
  const auto find = std::max(row.capacity, column.capacity) + 64 <= 32 * 6 - 2 ? bound_of_wide<6, T> : bound_of_wide<10, T>;
  return find(row, column, exponent, value, target);
}

}  // namespace

template <class T>
void put_bounds(const BlockLines& rows, const BlockLines& columns, const Target& target, std::int64_t row, std::int64_t column,
                int n, const std::int32_t* exponent, const T* value, std::uint64_t listed, EntryCounts& counts) {
  const LineRecord& own = rows.records[row];
  for (int i = 0; i < n; ++i) {
    if ((listed >> i & 1) != 0) continue;
    if (rows.special[row] == kFinite && columns.special[column + i] == kFinite) {
      target.put_bound(row, column + i, bound_of(own, columns.records[column + i], exponent[i], value[i], target), counts);
    } else {
      put(target.bound, row, column + i, std::numeric_limits<double>::infinity());
    }
  }
}
template void put_bounds(const BlockLines&, const BlockLines&, const Target&, std::int64_t, std::int64_t, int,
                         const std::int32_t*, const double*, std::uint64_t, EntryCounts&);
template void put_bounds(const BlockLines&, const BlockLines&, const Target&, std::int64_t, std::int64_t, int,
                         const std::int32_t*, const float*, std::uint64_t, EntryCounts&);

Target Target::part(const ResultBlock& block) const {
  const TargetUpdate own{update.is_asked, update.factors, update.c.part(block)};
  return {result.part(block), rounding, bound.part(block), own};
}

double TargetUpdate::addend(std::int64_t row, std::int64_t column) const {
  if (c.data == nullptr) return 0.0;
  return with_float(c.type, [&](auto zero) { return static_cast<double>(load<decltype(zero)>(c.at(row, column))); });
}

void TargetUpdate::addends(std::int64_t row, std::int64_t column, int n, double* to) const {
  if (c.data == nullptr) {
    std::fill_n(to, n, 0.0);
    return;
  }
  with_float(c.type, [&](auto zero) {
    for (int i = 0; i < n; ++i) to[i] = static_cast<double>(load<decltype(zero)>(c.at(row, column + i)));
  });
}

double Target::of_zero(std::int64_t row, std::int64_t column) const {
  if (!update.is_asked) return exact_zero(rounding);
  const double c = update.addend(row, column);
  if (!is_finite(c)) return special_update(update.factors, 0.0, c);
  const Addend addend = addend_of(update.factors, c);
  return with_float(result.type, [&](auto zero) {
    return static_cast<double>(round_update<decltype(zero)>(wide_zero<1>(), 0, update.factors, addend, rounding));
  });
}

void EntryCounts::extend(const EntryCounts& other) {
  exact += other.exact;
  depth += other.depth;
  magnitude += other.magnitude;
  chains += other.chains;
  result += other.result;
  pairs += other.pairs;
  exact_sums += other.exact_sums;
  largest_bound = std::max(largest_bound, other.largest_bound);
}

bool Listed::is_empty() const {
  return std::all_of(memory_->words.begin(), memory_->words.end(), [](std::uint64_t word) { return word == 0; });
}

std::vector<Listed::Place> Listed::places() const {
  std::vector<Place> found;
  const std::int64_t rows = words_per_row_ == 0 ? 0 : static_cast<std::int64_t>(memory_->words.size()) / words_per_row_;
  for (std::int64_t index = 0; index < words_per_row_; ++index) {
    for (std::int64_t row = 0; row < rows; ++row) {
      if (word(row, index) != 0) found.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(index)});
    }
  }
  return found;
}

EntryCounts cpu_reconstruct_certified(const Plan& plan, int count, const void* output, const Promise& promise, std::int64_t k,
                                      const BlockLines& rows, const BlockLines& columns, const std::uint16_t* magnitudes,
                                      const Target& target, Listed& listed) {
  if (target.result.rows == 0 || target.result.columns == 0) return {};
  return with_words(crt_words(plan, count), [&](auto words) {
    return with_float(target.result.type, [&](auto zero) {
      const Integers<words()> integers(plan, count, output, target.result.rows, target.result.columns);
      return CertifiedBlock<decltype(zero), Integers<words()>>(integers, promise, k, rows, columns, magnitudes, target, listed)
          .run();
    });
  });
}

}  // namespace ozfp4
