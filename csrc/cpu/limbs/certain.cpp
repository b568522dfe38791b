#include "cpu/limbs/certain.hpp"

#include <algorithm>

#include "arith/scale_entry.hpp"
#include "arith/wide/round_wide.hpp"
#include "cpu/accuracy/certified_block.hpp"
#include "cpu/limbs/join.hpp"

namespace ozfp4 {

CertainLimbs::Lines::Lines(const Scales& scales) : scales_(scales) {
  const std::size_t lines = scales.shift.size();
  numbers_.resize(4 * lines);
  double* to = numbers_.data();
  for (std::size_t i = 0; i < lines; ++i) {
    const ErrorTerms terms = error_terms(scales.records[i]);
    const double power = exact_power_of_two<double>(-scales.shift[i]);
    to[i] = terms.rounded, to[lines + i] = terms.nonzeros, to[2 * lines + i] = terms.half * power, to[3 * lines + i] = power;
  }
}

LineErrors CertainLimbs::Lines::from(std::int64_t first) const {
  return {plane(0) + first, plane(1) + first, plane(2) + first, plane(3) + first};
}

CertainLimbs::CertainLimbs(const Scales& rows, const Scales& columns, int limbs, std::int64_t inner, const Target& target,
                           Listed& listed)
    : rows_(rows), columns_(columns), limbs_(limbs), inner_(inner), target_(target), listed_(listed) {}

void CertainLimbs::round(std::int64_t row, std::int64_t column, const std::int32_t* sums) {
  const ResultView& result = target_.result;
  const std::int64_t rows = std::min(kPanelLines, result.rows - row), columns = std::min(kPanelLines, result.columns - column);
  CertainEntries found;
  round_diagonals_certain(
      sums, limbs_, inner_,
      {rows_.shift(row), columns_.shift(column), rows, columns,
       result.data + row * result.row_stride + column * result.column_stride, result.row_stride, result.column_stride},
      rows_.from(row), columns_.from(column), found);
  unsigned finite = (1u << columns) - 1;
  for (std::int64_t j = 0; columns_.scales().special_lines > 0 && j < columns; ++j)
    finite &= ~(static_cast<unsigned>(columns_.is_special(column + j)) << j);
  EntryCounts counts;
  std::uint64_t listed[kPanelLines] = {}, any = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (rows_.is_special(row + i)) continue;
    const int exact = __builtin_popcount(found.exact[i] & finite);
    counts.exact += exact;
    counts.result += __builtin_popcount(finite) - exact;
    for (unsigned left = found.uncertain[i] & finite; left != 0; left &= left - 1) {
      const int j = __builtin_ctz(left);
      if (settle(row + i, column + j, sums + i * kPanelLines + j)) continue;
      listed[i] |= std::uint64_t(1) << ((column + j) % kLanes);
      --counts.result;
    }
    any |= listed[i];
  }
  const std::lock_guard<std::mutex> hold(lock_);
  counts_.extend(counts);
  // Words that other tiles share.
  for (std::int64_t i = 0; any != 0 && i < rows; ++i) listed_.word(row + i, column / kLanes) |= listed[i];
}

// One result by all numbers within the error of its integer; false where these do not round to the same.
bool CertainLimbs::settle(std::int64_t row, std::int64_t column, const std::int32_t* sums) const {
  const std::int32_t exponent = -(*rows_.shift(row) + *columns_.shift(column));
  const auto round = [&](const JoinedInteger& value) { return round_wide<double>(value, exponent, Rounding::nearest); };
  const auto record = [](const Scales& scales, std::int64_t line) { return scales.records[static_cast<std::size_t>(line)]; };
  double rounded = 0.0;
  if (!round_alone(join_diagonals(sums, limbs_), record(rows_.scales(), row), record(columns_.scales(), column), false, round,
                   rounded)) {
    return false;
  }
  put(target_.result, row, column, rounded);
  return true;
}

}  // namespace ozfp4
