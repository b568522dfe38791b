// The wide integers of one block of the output, from what multiply left of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "arith/accuracy/capacity.hpp"
#include "arith/wide/round_wide.hpp"
#include "cpu/crt/columns.hpp"
#include "cpu/crt/lanes.hpp"
#include "cpu/crt/number_crt.hpp"
#include "cpu/crt/round_bytes.hpp"
#include "plan/moduli/moduli.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// Words of the integers of nearly all plans; what is beyond them has kMaxWords. Loops over lanes take as many as there are.
inline constexpr int kUsualWords = 6;

// use(std::integral_constant<int, words>()) of the words for integers of crt_words.
template <class Use>
decltype(auto) with_words(int words, const Use& use) {
  return words <= kUsualWords ? use(std::integral_constant<int, kUsualWords>()) : use(std::integral_constant<int, kMaxWords>());
}

// The sums of one block as multiply leaves them, group-major, and how to turn them into integers.
template <int Words>
class Integers {
 public:
  static constexpr int kWords = Words;

  Integers(const Plan& plan, int count, const void* output, std::int64_t rows, std::int64_t columns)
      : plan_(plan), count_(count), words_(crt_words(plan, count)), output_(output), columns_(columns), entries_(rows * columns) {
    if (!has_columns()) {
      most_bits_ = 2 * plan.bits + floor_log2(plan.k_max | 1) + 1;
      if (most_bits_ >= kCertainBits) words_ = std::max(words_, kUpperWords + 1);  // so that pair_words can cut them
      return;
    }
    constants_ = make_crt_constants<Words>(first_moduli(plan, count));
    most_bits_ = wide_bit_length(constants_.product.half);
    if (plan.output_bytes() == 4) {
      numbers_ = make_number_crt(constants_, first_moduli(plan, count));
    } else if constexpr (Words == kUsualWords) {
      if (can_round_bytes()) signed_columns_ = make_signed_columns(constants_);
    }
  }

  // As many as crt_words says, or more.
  int words() const { return words_; }

  // The number of an entry.
  std::int64_t at(std::int64_t row, std::int64_t column) const { return row * columns_ + column; }

  // use(i, integer) of the entries first + i, i < n <= kLanes, that are refused.
  template <class Use>
  void for_refused(std::int64_t first, int n, const std::int64_t* refused, const Use& use) const {
    if (!is_any(refused, n)) return;
    Columns sums;
    if (has_columns()) load(first, n, sums);
    for (int i = 0; i < n; ++i) {
      if (refused[i] != 0) use(i, has_columns() ? integer_of_lane(sums, i, constants_.product) : joined(first + i));
    }
  }

  // The entries [first, first + n), n <= kLanes, in words().
  void integers(std::int64_t first, int n, LaneWords& x) const {
    std::int64_t refused[kLanes];
    find_words(first, n, x, refused);
    for_refused(first, n, refused, [&](int i, const WideInt<Words>& own) {
      for (int k = 0; k < words_; ++k) x.word[k][i] = own.word[k];
    });
  }

  // Entries [first, first + n), n <= kLanes, below 2^bits, in two FP64 numbers each, up to what is returned.
  PairCut pair(std::int64_t first, int n, int bits, LanePairs& pairs) const {
    if (bits >= kCertainBits || signed_columns_.groups == 0) return pair_whole(first, n, bits, pairs);
    take_bits(pair_bytes(signed_columns_, bytes(first), entries_, count_, n, pairs.sum, pairs.rest), n, pairs.refused);
    return {0, signed_columns_.loss};
  }

  // Entries [first, first + n), n <= kLanes, as FP numbers of the given exponents, rounded to nearest.
  template <class T>
  void round(std::int64_t first, int n, const std::int32_t* exponent, T* result) const {
    LanePairs pairs;
    if (rounds_bytes()) {
      take_bits(round_bytes(signed_columns_, bytes(first), entries_, count_, n, exponent, result), n, pairs.refused);
    } else {
      round_whole(first, n, exponent, pairs, result);
    }
    for_refused(first, n, pairs.refused,
                [&](int i, const WideInt<Words>& own) { result[i] = round_scaled<T>(own, exponent[i]); });
  }

 private:
  // Whether integers come from column sums.
  bool has_columns() const { return plan_.has_moduli(); }

  // Whether bytes make the integers themselves.
  bool rounds_bytes() const { return signed_columns_.groups > 0 && signed_columns_.loss == 0; }

  static void take_bits(std::uint64_t bits, int n, std::int64_t* refused) {
    for (int i = 0; i < n; ++i) refused[i] = static_cast<std::int64_t>(bits >> i & 1);
  }

  const std::uint8_t* bytes(std::int64_t first) const { return static_cast<const std::uint8_t*>(output_) + first; }

  // The same from words or numbers, which lose nothing below 2^kCertainBits.
  PairCut pair_whole(std::int64_t first, int n, int bits, LanePairs& pairs) const {
    if (bits < kCertainBits && numbers_.count > 0) {
      number_lanes(numbers_, static_cast<const std::uint32_t*>(output_) + first, entries_, n, pairs);
      return {};
    }
    LaneWords x;
    find_words(first, n, x, pairs.refused);
    return pair_words(x, words_, n, bits, pairs);
  }

  // Integers that are cut pass the rounding test.
  template <class T>
  void round_whole(std::int64_t first, int n, const std::int32_t* exponent, LanePairs& pairs, T* result) const {
    const PairCut cut = pair_whole(first, n, most_bits_, pairs);
    if (cut.bits == 0) return round_lanes(pairs, n, exponent, result);
    std::int32_t of_pairs[kLanes];
    double error[kLanes];
    for (int i = 0; i < n; ++i) of_pairs[i] = exponent[i] + cut.bits, error[i] = cut.loss;
    round_certain(pairs, error, n, of_pairs, Rounding::nearest, result);
  }

  // Column sums of the entries [first, first + n), n <= kLanes. Precondition: has_columns().
  void load(std::int64_t first, int n, Columns& sums) const {
    sums.words = words_;
    for (int k = 0; k < words_; ++k) std::fill_n(sums.sum[k], n, 0);
    for (int i = 0; i < count_; ++i) {
      const std::uint32_t* weight = constants_.weight[static_cast<std::size_t>(i)].word;
      const std::int64_t at = plan_.groups_of(i) * entries_ + first;
      if (plan_.output_bytes() == 1) {
        add_columns(static_cast<const std::uint8_t*>(output_) + at, n, weight, sums);
      } else {
        add_columns(static_cast<const std::uint32_t*>(output_) + at, n, weight, sums);
      }
    }
  }

  // The integers; those that may not be are refused.
  void find_words(std::int64_t first, int n, LaneWords& x, std::int64_t* refused) const {
    if (!has_columns()) {
      std::fill_n(refused, n, 0);
      return join(first, n, x);
    }
    Columns sums;
    load(first, n, sums);
    crt_lanes(sums, n, constants_.product, x, refused);
  }

  // The integers of digit groups, and one of them.
  void join(std::int64_t first, int n, LaneWords& x) const {
    join_digits(static_cast<std::uint32_t>(plan_.base), static_cast<int>(plan_.groups.size()),
                static_cast<const std::int64_t*>(output_) + first, entries_, n, words_, x);
  }
  WideInt<Words> joined(std::int64_t entry) const {
    LaneWords x;
    join(entry, 1, x);
    WideInt<Words> own;
    const std::uint32_t sign = static_cast<std::uint32_t>(static_cast<std::int32_t>(x.word[words_ - 1][0]) >> 31);
    for (int k = 0; k < Words; ++k) own.word[k] = k < words_ ? x.word[k][0] : sign;
    return own;
  }

  const Plan& plan_;
  int count_, words_, most_bits_;
  const void* output_;
  std::int64_t columns_, entries_;
  CrtConstants<Words> constants_{};
  SignedColumns signed_columns_;
  NumberCrt numbers_;
};

}  // namespace ozfp4
