#include "cpu/limbs/certain.hpp"

#include <algorithm>

#include "arith/scale_entry.hpp"
#include "arith/wide/round_wide.hpp"
#include "cpu/limbs/join.hpp"
#include "cpu/reconstruct/certified_block.hpp"

namespace ozfp4 {

CertainLimbs::Lines::Lines(const Scales& scales, const std::int32_t* shift) : scales_(scales), shift_(shift) {
  const std::size_t lines = scales.shift.size();
  numbers_.resize(5 * lines);
  is_exact_.assign(static_cast<std::size_t>(panels_of(static_cast<std::int64_t>(lines))), true);
  double* to = numbers_.data();
  for (std::size_t i = 0; i < lines; ++i) {
    if (scales.records[i].rounded != 0) is_exact_[i / kPanelLines] = false;
    const ErrorTerms terms = error_terms(scales.records[i]);
    const double power = exact_power_of_two<double>(-scales.shift[i]);
    to[i] = terms.rounded, to[lines + i] = terms.nonzeros, to[2 * lines + i] = terms.half * power, to[3 * lines + i] = power;
    to[4 * lines + i] = exact_power_of_two<double>(-shift[i]);
  }
}

// Bits of `count` lines from `first` on, of which none has NaN or an infinity.
unsigned CertainLimbs::Lines::finite(std::int64_t first, std::int64_t count) const {
  unsigned lines = (1u << count) - 1;
  for (std::int64_t i = 0; scales_.special_lines > 0 && i < count; ++i)
    lines &= ~(static_cast<unsigned>(scales_.special[static_cast<std::size_t>(first + i)] != kFinite) << i);
  return lines;
}

LineErrors CertainLimbs::Lines::from(std::int64_t first) const {
  return {plane(0) + first, plane(1) + first, plane(2) + first, plane(3) + first, plane(4) + first};
}

CertainLimbs::CertainLimbs(const Scales& rows, const std::int32_t* row_shift, const Scales& columns,
                           const std::int32_t* column_shift, const Target& target, Listed& listed)
    : rows_(rows, row_shift), columns_(columns, column_shift), target_(target), listed_(listed) {}

EntryCounts CertainLimbs::counts() const {
  EntryCounts counts;
  counts.exact = exact_, counts.result = others_;
  return counts;
}

bool CertainLimbs::round(std::int64_t row, std::int64_t column, const TileSums& sums) {
  const ResultView& result = target_.result;
  const std::int64_t rows = std::min(kPanelLines, result.rows - row), columns = std::min(kPanelLines, result.columns - column);
  const RoundedTile tile{rows_.shift(row), columns_.shift(column), result.part({row, rows, column, columns})};
  const unsigned finite_rows = rows_.finite(row, rows), finite = columns_.finite(column, columns);
  if (rows_.is_exact(row) && columns_.is_exact(column)) {
    if (!round_diagonals(sums, tile)) return false;
    exact_ += __builtin_popcount(finite_rows) * __builtin_popcount(finite);
    return true;
  }
  CertainEntries found;
  round_diagonals_certain(sums, tile, rows_.from(row), columns_.from(column), found);
  const bool is_all = sums.diagonals == Diagonals::all;
  std::int64_t exact = 0, others = 0;
  std::uint64_t listed[kPanelLines] = {}, any = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    if ((finite_rows >> i & 1) == 0) continue;
    const unsigned exact_here = found.exact[i] & finite;
    exact += __builtin_popcount(exact_here), others += __builtin_popcount(finite & ~exact_here);
    if (!is_all && (found.undecided[i] & finite) != 0) return false;
    for (unsigned left = found.uncertain[i] & finite; left != 0; left &= left - 1) {
      const int j = __builtin_ctz(left);
      if (is_all && is_certified(row + i, column + j, sums.sums + i * kPanelLines + j, sums.limbs)) continue;
      listed[i] |= std::uint64_t(1) << ((column + j) % kLanes);
      --others;
    }
    any |= listed[i];
  }
  exact_ += exact, others_ += others;
  if (any == 0) return true;
  const std::lock_guard<std::mutex> hold(lock_);
  // Words that other tiles share.
  for (std::int64_t i = 0; i < rows; ++i) listed_.word(row + i, column / kLanes) |= listed[i];
  return true;
}

// Puts one result, by all numbers within the error of its integer; false where these do not round to the same.
bool CertainLimbs::is_certified(std::int64_t row, std::int64_t column, const std::int32_t* sums, int limbs) const {
  const int raised = rows_.raised(row) + columns_.raised(column);
  const std::int32_t exponent = -(*rows_.shift(row) + *columns_.shift(column)) + raised;
  const auto round = [&](const JoinedInteger& value) { return round_wide<double>(value, exponent, Rounding::nearest); };
  const auto record = [](const Scales& scales, std::int64_t line) { return scales.records[static_cast<std::size_t>(line)]; };
  double rounded = 0.0;
  if (!passes_rounding_test(join_diagonals(sums, limbs, raised), record(rows_.scales(), row), record(columns_.scales(), column),
                            false, round, rounded)) {
    return false;
  }
  put(target_.result, row, column, rounded);
  return true;
}

}  // namespace ozfp4
