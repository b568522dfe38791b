// The wide integers of one block of the output, from what multiply left of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arith/wide/round_wide.hpp"
#include "cpu/accuracy/lanes.hpp"
#include "cpu/crt/number_lanes.hpp"
#include "cpu/crt/round_bytes.hpp"
#include "cpu/stages/columns.hpp"
#include "cpu/stages/multiply.hpp"
#include "plan/moduli/crt_constants.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// Horner's rule over the digit groups, highest first. Range: the result fits the words; intermediate values may wrap.
template <int Words>
WideInt<Words> positional(std::uint32_t base, int groups, const std::int64_t* sums, std::int64_t pitch) {
  WideInt<Words> x = wide_zero<Words>();
  for (int g = groups - 1; g >= 0; --g) x = wide_add(wide_mul_small(x, base), wide_from<Words>(sums[g * pitch]));
  return x;
}

// What multiply left for one block, group-major, and how to turn it into integers.
template <int Words>
class Integers {
 public:
  static constexpr int kWords = Words;
  using Lanes = Columns<Words>;

  Integers(const Plan& plan, int count, const void* output, std::int64_t rows, std::int64_t columns)
      : plan_(plan), count_(count), output_(output), columns_(columns), entries_(rows * columns) {
    if (plan.has_moduli()) constants_ = make_crt_constants<Words>(first_moduli(plan, count));
    if constexpr (Words == 5 || Words == 6) {
      if (has_columns() && output_type(plan) == OutputType::residue8 && can_round_bytes())
        signed_columns_ = make_signed_columns(constants_);
    }
    if (has_columns() && output_type(plan) == OutputType::residue32)
      numbers_ = make_number_crt(constants_, first_moduli(plan, count));
  }

  // The number of an entry.
  std::int64_t at(std::int64_t row, std::int64_t column) const { return row * columns_ + column; }

  // Column sums of the entries [first, first + n), n <= kLanes, where the plan has such.
  void load(std::int64_t first, int n, Lanes& sums) const {
    if (has_columns()) columns(first, n, sums);
  }

  // Of lane i of the entries from `first` on, which were loaded.
  WideInt<Words> lane(const Lanes& sums, std::int64_t first, int i) const {
    return has_columns() ? integer_of_lane(sums, i, constants_.product) : one(first + i);
  }

  // Whether `pair` serves.
  bool pairs() const { return has_columns(); }
  // Entries [first, first + n), n <= kLanes, below 2^bits, in two FP64 numbers each, up to what is returned. Range: pairs.
  PairCut pair(std::int64_t first, int n, int bits, LanePairs& lanes) const {
    if (bits < kCertainBits && signed_columns_.groups > 0) {
      pair_by_bytes(first, n, lanes);
      return {0, signed_columns_.loss};
    }
    LaneParts own;
    const PairCut cut = parts(first, n, bits, own, lanes.refused);
    pair_lanes(own, n, lanes);
    return cut;
  }

  // Column sums of the entries [first, first + n), n <= kLanes.
  void columns(std::int64_t first, int n, Columns<Words>& column) const {
    for (int k = 0; k < Words; ++k) std::fill_n(column[k], n, 0);
    for (int i = 0; i < count_; ++i) {
      const WideInt<Words>& weight = constants_.weight[static_cast<std::size_t>(i)];
      const std::int64_t at = plan_.groups_of(i) * entries_ + first;
      if (output_type(plan_) == OutputType::residue8) {
        add_columns(static_cast<const std::uint8_t*>(output_) + at, n, weight, column);
      } else {
        add_columns(static_cast<const std::uint32_t*>(output_) + at, n, weight, column);
      }
    }
  }

  // Entries [first, first + n), n <= kLanes, as FP numbers of the given exponents, rounded to nearest.
  template <class T>
  void round(std::int64_t first, int n, const std::int32_t* exponent, T* result) const {
    std::int64_t refused[kLanes];
    if (rounds_bytes()) {
      take_bits(round_bytes(signed_columns_, bytes(first), entries_, count_, n, exponent, result), n, refused);
    } else if (has_columns()) {
      round_parts(first, n, exponent, result, refused);
    } else {
      std::fill_n(refused, n, 1);
    }
    if (!is_any(refused, n)) return;
    Lanes sums;
    load(first, n, sums);
    for (int i = 0; i < n; ++i) {
      if (refused[i] != 0) result[i] = round_scaled<T>(lane(sums, first, i), exponent[i]);
    }
  }

  // Whether integers come from column sums, and the product of the moduli that they are reduced by.
  bool has_columns() const { return plan_.has_moduli(); }
  const CrtProduct<Words>& product() const { return constants_.product; }

  WideInt<Words> one(std::int64_t entry) const {
    if (!has_columns()) return sum(entry);
    Columns<Words> column;
    columns(entry, 1, column);
    return integer_of_lane(column, 0, constants_.product);
  }

 private:
  // Whether bytes make the integers themselves.
  bool rounds_bytes() const { return signed_columns_.groups > 0 && signed_columns_.loss == 0; }

  static void take_bits(std::uint64_t bits, int n, std::int64_t* refused) {
    for (int i = 0; i < n; ++i) refused[i] = static_cast<std::int64_t>(bits >> i & 1);
  }

  void pair_by_bytes(std::int64_t first, int n, LanePairs& lanes) const {
    take_bits(pair_bytes(signed_columns_, bytes(first), entries_, count_, n, lanes.sum, lanes.rest), n, lanes.refused);
  }

  const std::uint8_t* bytes(std::int64_t first) const { return static_cast<const std::uint8_t*>(output_) + first; }

  PairCut parts(std::int64_t first, int n, int bits, LaneParts& own, std::int64_t* refused) const {
    if (bits < kCertainBits && numbers_.count > 0) {
      number_lanes(numbers_, static_cast<const std::uint32_t*>(output_) + first, entries_, n, own, refused);
      return {};
    }
    Columns<Words> column;
    columns(first, n, column);
    return part_columns(column, n, constants_.product, bits, own, refused);
  }

  // Integers that are cut pass the rounding test.
  template <class T>
  void round_parts(std::int64_t first, int n, const std::int32_t* exponent, T* result, std::int64_t* refused) const {
    LaneParts own;
    const PairCut cut = parts(first, n, wide_bit_length(constants_.product.half), own, refused);
    if (cut.bits == 0) return round_lanes(own, n, exponent, result, refused);
    LanePairs pairs;
    pair_lanes(own, n, pairs);
    std::copy_n(refused, n, pairs.refused);
    std::int32_t of_pairs[kLanes];
    double error[kLanes];
    for (int i = 0; i < n; ++i) of_pairs[i] = exponent[i] + cut.bits, error[i] = cut.loss;
    round_certain(pairs, error, n, of_pairs, Rounding::nearest, result);
    std::copy_n(pairs.refused, n, refused);
  }

  WideInt<Words> sum(std::int64_t entry) const {
    return positional<Words>(static_cast<std::uint32_t>(plan_.base), static_cast<int>(plan_.groups.size()),
                             static_cast<const std::int64_t*>(output_) + entry, entries_);
  }

  const Plan& plan_;
  int count_;
  const void* output_;
  std::int64_t columns_, entries_;
  CrtConstants<Words> constants_{};
  SignedColumns signed_columns_;
  NumberCrt numbers_;
};

}  // namespace ozfp4
