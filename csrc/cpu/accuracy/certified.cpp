#include "cpu/accuracy/certified.hpp"

#include <algorithm>

#include "cpu/accuracy/certified_block.hpp"
#include "cpu/stages/integers.hpp"

namespace ozfp4 {
namespace {

ResultView part_of(const ResultView& whole, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  ResultView part = whole;
  if (whole.data != nullptr) part.data += row * whole.row_stride + column * whole.column_stride;
  part.rows = rows;
  part.columns = columns;
  return part;
}

}  // namespace

Target Target::part(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
  return {part_of(result, row, rows, column, columns),
          rounding,
          part_of(bound, row, rows, column, columns),
          {update.is_asked, update.factors, part_of(update.c, row, rows, column, columns)}};
}

double TargetUpdate::addend(std::int64_t row, std::int64_t column) const {
  if (c.data == nullptr) return 0.0;
  const char* address = c.data + row * c.row_stride + column * c.column_stride;
  return with_float(c.type, [&](auto zero) { return static_cast<double>(load<decltype(zero)>(address)); });
}

void TargetUpdate::addends(std::int64_t row, std::int64_t column, int n, double* to) const {
  if (c.data == nullptr) {
    std::fill_n(to, n, 0.0);
    return;
  }
  const char* address = c.data + row * c.row_stride + column * c.column_stride;
  with_float(c.type, [&](auto zero) {
    for (int i = 0; i < n; ++i) to[i] = static_cast<double>(load<decltype(zero)>(address + i * c.column_stride));
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
  return dispatch_words(crt_words(plan, count), [&](auto words) {
    return with_float(target.result.type, [&](auto zero) {
      const Integers<words()> integers(plan, count, output, target.result.rows, target.result.columns);
      return CertifiedBlock<decltype(zero), Integers<words()>>(integers, promise, k, rows, columns, magnitudes, target, listed)
          .run();
    });
  });
}

}  // namespace ozfp4
