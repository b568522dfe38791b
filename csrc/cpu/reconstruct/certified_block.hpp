// The results of a block from its integers, where they promise more than the scaled product.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "arith/accuracy/certificate.hpp"
#include "arith/multiples.hpp"
#include "arith/scale_entry.hpp"
#include "arith/update/update.hpp"
#include "arith/wide/round_wide.hpp"
#include "cpu/crt/columns.hpp"
#include "cpu/crt/lanes.hpp"
#include "cpu/reconstruct/certified.hpp"
#include "cpu/runtime/kept.hpp"

namespace ozfp4 {

inline constexpr std::int64_t kCertifiedGrain = 8192;

// Facts that kLanes columns share, so that one test may be enough for all. Special ones are left out, and of those without a
// nonzero entry only their number is kept: their entries are exact, whatever the row is.
struct ColumnGroup {
  std::int64_t least_nonzeros = std::numeric_limits<std::int64_t>::max(), largest_depth = 0;
  int lanes = 0, exact = 0, zeros = 0;  // zeros are exact, too
  LaneErrorTerms terms;
};

struct ColumnGroups {
  std::vector<ColumnGroup> groups;

  static constexpr std::size_t most_kept = 512;  // of 4096 columns where a group is 8
  bool is_small() const { return groups.capacity() <= most_kept; }
};

inline ErrorTerms error_terms(const LineRecord& record) {
  return {static_cast<double>(record.rounded), static_cast<double>(record.nonzeros),
          exact_power_of_two<double>(record.capacity - 1)};
}

inline ColumnGroup group_of(const BlockLines& lines, std::int64_t first, int n) {
  ColumnGroup group;
  for (int i = 0; i < n; ++i) {
    const LineRecord& record = lines.records[first + i];
    const ErrorTerms terms = error_terms(record);
    group.terms.rounded[i] = terms.rounded;
    group.terms.nonzeros[i] = terms.nonzeros;
    group.terms.half[i] = terms.half;
    if (lines.special[first + i] != kFinite) continue;
    ++group.lanes;
    group.exact += record.rounded == 0;
    group.zeros += record.nonzeros == 0;
    if (record.nonzeros == 0) continue;
    group.least_nonzeros = std::min(group.least_nonzeros, record.nonzeros);
    group.largest_depth = std::max(group.largest_depth, record.depth);
  }
  return group;
}

// Precondition: the parts of an FP64 number.
inline double value_of(const FloatParts& parts) {
  const double magnitude = std::ldexp(static_cast<double>(parts.significand), parts.weight);
  return parts.is_negative ? -magnitude : magnitude;
}

inline int largest_capacity(const BlockLines& lines, std::int64_t count) {
  int largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, lines.records[i].capacity);
  return largest;
}

// Whether the lines alone certify the row with every column of the group.
inline bool certifies_all(const LineRecord& row, const ColumnGroup& group, std::int64_t k) {
  const int rounded = (row.rounded != 0) + (group.exact < group.lanes);
  if (rounded == 0 || row.nonzeros == 0 || group.lanes == group.zeros) return true;
  return certifies_depth(row.depth + group.largest_depth, row.nonzeros + group.least_nonzeros - k, rounded);
}

// "standard": counts the entries of a row and a group of columns where the lines certify all of them; false where they do not.
// Special lines count for nothing.
inline bool counts_all(const BlockLines& rows, std::int64_t row, const ColumnGroup& group, std::int64_t k, EntryCounts& counts) {
  if (rows.special[row] != kFinite) return true;
  const LineRecord& own = rows.records[row];
  if (!certifies_all(own, group, k)) return false;
  const int exact = own.nonzeros == 0 ? group.lanes : own.rounded == 0 ? group.exact : group.zeros;
  counts.exact += exact;
  counts.depth += group.lanes - exact;
  return true;
}

// The counts of a whole product where its lines certify all entries, whatever its integers are.
inline std::optional<EntryCounts> counted_by_lines(const BlockLines& rows, std::int64_t row_count, const BlockLines& columns,
                                                   std::int64_t column_count, std::int64_t k) {
  EntryCounts counts;
  for (std::int64_t column = 0; column < column_count; column += kLanes) {
    const ColumnGroup group = group_of(columns, column, static_cast<int>(std::min<std::int64_t>(kLanes, column_count - column)));
    for (std::int64_t row = 0; row < row_count; ++row) {
      if (!counts_all(rows, row, group, k, counts)) return std::nullopt;
    }
  }
  return counts;
}

// Whether every number within the error of `value` rounds to the same bits, which it stores. `round` is monotonic.
template <int Words, class Round, class T>
bool passes_rounding_test(const WideInt<Words>& value, const LineRecord& row, const LineRecord& column, bool is_exact,
                          const Round& round, T& rounded) {
  if (is_exact) {
    rounded = round(value);
    return true;
  }
  const WideInt<Words> error = error_bound<Words>(row, column);
  rounded = round(wide_sub(value, error));
  return float_bits(rounded) == float_bits(round(wide_add(value, error)));
}

// Puts the bounds of the errors of n entries of a row, which have these exponents and values; of special lines infinity, of those
// that are listed none.
template <class T>
void put_bounds(const BlockLines& rows, const BlockLines& columns, const Target& target, std::int64_t row, std::int64_t column,
                int n, const std::int32_t* exponent, const T* value, std::uint64_t listed, EntryCounts& counts);

// Reconstructs a block from its integers: `Source` is Integers (cpu/reconstruct/integers.hpp) or has the same members.
// `magnitudes`: [row][column] of the block, what certifies_magnitude takes; null: nothing is certified by it.
template <class T, class Source>
class CertifiedBlock {
 public:
  CertifiedBlock(const Source& integers, const Promise& promise, std::int64_t k, const BlockLines& rows,
                 const BlockLines& columns, const std::uint16_t* magnitudes, const Target& target, Listed& listed)
      : integers_(integers),
        promise_(promise),
        k_(k),
        rows_(rows),
        columns_(columns),
        magnitudes_(magnitudes),
        target_(target),
        listed_(listed),
        alpha_(value_of(target.update.factors.alpha)),
        beta_(value_of(target.update.factors.beta)) {
    memory_->groups.clear();
    memory_->groups.reserve(static_cast<std::size_t>(ceil_div(target.result.columns, kLanes)));
    for (std::int64_t column = 0; column < target.result.columns; column += kLanes)
      memory_->groups.push_back(group_of(columns, column, lanes_at(column)));
    groups_ = memory_->groups.data();
    bits_ = largest_capacity(rows, target.result.rows) + largest_capacity(columns, target.result.columns) + floor_log2(k) + 1;
    has_pairs_ = !target.update.is_asked || (target.rounding == Rounding::nearest && are_near_factors(alpha_, beta_));
  }

  EntryCounts run() {
    const std::int64_t columns = target_.result.columns, grain = std::max<std::int64_t>(1, kCertifiedGrain / columns);
    return count_over(target_.result.rows, grain, [&](std::int64_t begin, std::int64_t end, EntryCounts& counts) {
      for (std::int64_t row = begin; row < end; ++row) {
        for (std::int64_t column = 0; column < columns; column += kLanes) group(row, column, counts);
      }
    });
  }

 private:
  static constexpr int kWords = Source::kWords;

  struct Lanes {
    std::int32_t exponent[kLanes];
    T value[kLanes];
  };

  int lanes_at(std::int64_t column) const {
    return static_cast<int>(std::min<std::int64_t>(kLanes, target_.result.columns - column));
  }

  bool is_special(std::int64_t row, std::int64_t column) const {
    return rows_.special[row] != kFinite || columns_.special[column] != kFinite;
  }

  // With NaN or infinity of C no finite product matters.
  bool is_decided_by_addend(std::int64_t row, std::int64_t column) const {
    return target_.update.is_asked && !is_finite(target_.update.addend(row, column));
  }

  void group(std::int64_t row, std::int64_t column, EntryCounts& counts) {
    const int n = lanes_at(column);
    Lanes lanes;
    for (int i = 0; i < n; ++i) lanes.exponent[i] = -(rows_.shift[row] + columns_.shift[column + i]);
    std::uint64_t listed = 0;
    if (promise_.accuracy == Accuracy::correct) {
      listed = round_correctly(row, column, n, lanes, counts);
    } else {
      if (target_.update.is_asked)
        round_updates(row, column, n, lanes);
      else
        integers_.round(integers_.at(row, column), n, lanes.exponent, lanes.value);
      if (promise_.accuracy == Accuracy::standard) listed = list_uncertified(row, column, n, counts);
    }
    listed_.word(row, column / kLanes) = listed;
    char* address = target_.result.at(row, column);
    if (!target_.update.is_asked) {
      store_line(address, target_.result.column_stride, lanes.value, n);
    } else {
      for (int i = 0; i < n; ++i) {
        // C, which may lie here, is read again where this is not the result.
        if ((listed >> i & 1) != 0 || is_special(row, column + i)) continue;
        store(address + i * target_.result.column_stride, lanes.value[i]);
      }
    }
    if (target_.has_bound()) put_bounds(rows_, columns_, target_, row, column, n, lanes.exponent, lanes.value, listed, counts);
  }

  // The entry of an integer, rounded once.
  T round_one(const WideInt<kWords>& value, int exponent, std::int64_t row, std::int64_t column) const {
    if (!target_.update.is_asked) return round_wide<T>(value, exponent, target_.rounding);
    const Update& factors = target_.update.factors;
    const double c = target_.update.addend(row, column);
    if (!is_finite(c)) return static_cast<T>(special_update(factors, 0.0, c));
    return round_update<T>(value, exponent, factors, addend_of(factors, c), target_.rounding);
  }

  // The same of n lanes, with products that lie within the errors of their integers. `refused` is not 0 where they are left.
  // Precondition: has_pairs_.
  void round_pairs(std::int64_t row, std::int64_t column, int n, const double* error, Lanes& lanes, std::int64_t* refused) const {
    LanePairs pairs;
    const PairCut cut = integers_.pair(integers_.at(row, column), n, bits_, pairs);
    const double unit = exact_power_of_two<double>(-cut.bits);
    std::int32_t exponent[kLanes];
    double own_error[kLanes];
    for (int i = 0; i < n; ++i) {
      exponent[i] = lanes.exponent[i] + cut.bits;
      own_error[i] = error[i] * unit + cut.loss;
    }
    if (target_.update.is_asked) {
      double c[kLanes];
      target_.update.addends(row, column, n, c);
      update_lanes(pairs, own_error, n, exponent, alpha_, beta_, c, lanes.value);
    } else {
      round_certain(pairs, own_error, n, exponent, target_.rounding, lanes.value);
    }
    std::copy_n(pairs.refused, n, refused);
  }

  // Updates of the integers themselves.
  void round_updates(std::int64_t row, std::int64_t column, int n, Lanes& lanes) const {
    const std::int64_t first = integers_.at(row, column);
    std::int64_t refused[kLanes];
    if (has_pairs_) {
      const double error[kLanes] = {};
      round_pairs(row, column, n, error, lanes, refused);
    } else {
      std::fill_n(refused, n, 1);
    }
    integers_.for_refused(first, n, refused, [&](int i, const WideInt<kWords>& value) {
      lanes.value[i] = round_one(value, lanes.exponent[i], row, column + i);
    });
  }

  // "standard": the lanes that nothing certifies.
  std::uint64_t list_uncertified(std::int64_t row, std::int64_t column, int n, EntryCounts& counts) const {
    if (counts_all(rows_, row, groups_[column / kLanes], k_, counts)) return 0;
    const LineRecord& own = rows_.records[row];
    const std::uint16_t* magnitude = magnitudes_ == nullptr ? nullptr : magnitudes_ + row * target_.result.columns + column;
    std::uint64_t listed = 0;
    for (int i = 0; i < n; ++i) {
      if (columns_.special[column + i] != kFinite) continue;
      const LineRecord& other = columns_.records[column + i];
      const bool is_exact = is_exact_pair(own, other), is_certified = is_exact || certifies_lines(own, other, k_);
      counts.exact += is_exact;
      counts.depth += is_certified && !is_exact;
      if (is_certified) continue;
      const bool by_magnitude = magnitude != nullptr && certifies_magnitude(own, other, magnitude[i]);
      counts.magnitude += by_magnitude;
      if (!by_magnitude && !is_decided_by_addend(row, column + i)) listed |= std::uint64_t(1) << i;
    }
    return listed;
  }

  // accuracy="correct": rounds the lanes in the wanted direction; returns those that fail the rounding test.
  std::uint64_t round_correctly(std::int64_t row, std::int64_t column, int n, Lanes& lanes, EntryCounts& counts) const {
    std::int64_t refused[kLanes];
    std::fill_n(refused, n, 1);
    if (has_pairs_) {
      const ColumnGroup& group = groups_[column / kLanes];
      double error[kLanes];
      const std::int64_t exact = find_errors(error_terms(rows_.records[row]), group.terms, n, error);
      round_pairs(row, column, n, error, lanes, refused);
      if (rows_.special[row] == kFinite && group.lanes == n && !is_any(refused, n)) {
        counts.exact += exact;
        counts.result += n - exact;
        return 0;
      }
    }
    const LineRecord& own = rows_.records[row];
    std::uint64_t listed = 0;
    integers_.for_refused(integers_.at(row, column), n, refused, [&](int i, const WideInt<kWords>& integer) {
      if (is_special(row, column + i)) return;
      const LineRecord& other = columns_.records[column + i];
      const auto round = [&](const WideInt<kWords>& value) { return round_one(value, lanes.exponent[i], row, column + i); };
      if (!passes_rounding_test(integer, own, other, is_exact_pair(own, other), round, lanes.value[i]))
        listed |= std::uint64_t(1) << i;
    });
    for (int i = 0; i < n; ++i) {
      if (is_special(row, column + i)) continue;
      const bool is_exact = is_exact_pair(own, columns_.records[column + i]);
      counts.exact += is_exact;
      counts.result += !is_exact && (listed >> i & 1) == 0;
    }
    return listed;
  }

  const Source& integers_;
  Promise promise_;
  std::int64_t k_;
  BlockLines rows_, columns_;
  const std::uint16_t* magnitudes_;
  Target target_;
  Listed& listed_;
  Kept<ColumnGroups> memory_;
  const ColumnGroup* groups_;
  int bits_;        // of the longest integers
  bool has_pairs_;  // two FP64 numbers are rounded instead of an integer, where they vouch for the result
  double alpha_, beta_;
};

}  // namespace ozfp4
