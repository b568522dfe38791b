#include "cpu/crt/signed_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ozfp4 {
namespace {

constexpr int kProductBits = 126, kBytes = 16, kHalfwords = 8;

// floor(x / 2^count). Precondition: count >= 0.
template <int Words>
WideInt<Words> cut(const WideInt<Words>& x, int count) {
  const int words = count / 32, bits = count % 32;
  const std::uint32_t sign = wide_sign_mask(x);
  const auto word = [&](int i) { return i < Words ? x.word[i] : sign; };
  WideInt<Words> found = wide_zero<Words>();
  for (int i = 0; i < Words; ++i) {
    const std::uint64_t both = static_cast<std::uint64_t>(word(i + words + 1)) << 32 | word(i + words);
    found.word[i] = static_cast<std::uint32_t>(both >> bits);
  }
  return found;
}

// x * 2^count, rounded to an integer.
template <int Words>
WideInt<Words> shifted(WideInt<Words> x, int count) {
  if (count < 0) return cut(wide_add(cut(x, -count - 1), wide_from<Words>(1)), 1);
  return wide_shift_left(x, count);
}

// Signed digits of `Bits` bits with the sum x. Precondition: |x| < 2^126.
template <int Bits, int Words>
void cut_signed(const WideInt<Words>& x, std::int32_t* digit) {
  constexpr std::int32_t base = 1 << Bits;
  std::int32_t carry = 0;
  for (int j = 0; j < 128 / Bits; ++j) {
    const auto own = static_cast<std::int32_t>(x.word[Bits * j / 32] >> (Bits * j % 32)) & (base - 1);
    carry += own;
    digit[j] = carry >= base / 2 ? carry - base : carry;
    carry = carry >= base / 2 ? 1 : 0;
  }
}

// The lower one of the columns of a pair; the other is two above it.
constexpr int column_of(int pair) { return pair < 2 ? pair : pair + 2; }

std::uint64_t lane(std::uint32_t low, std::uint32_t high) { return (static_cast<std::uint64_t>(high) << 32) | low; }

// The signed byte `j` of four weights side by side.
std::uint32_t four_bytes(const std::int32_t (&digit)[4][kBytes], int j) {
  std::uint32_t four = 0;
  for (int i = 0; i < 4; ++i) four |= static_cast<std::uint32_t>(digit[i][j] & 255) << (8 * i);
  return four;
}

}  // namespace

template <int Words>
SignedColumns make_signed_columns(const CrtConstants<Words>& constants) {
  SignedColumns columns;
  const WideInt<Words>& product = constants.product.number;
  const int count = static_cast<int>(constants.weight.size()), bits = wide_bit_length(product);
  if (count > 4 * SignedColumns::kMostGroups) return columns;
  columns.groups = (count + 3) / 4;
  columns.shift = kProductBits - bits;
  const bool is_cut = columns.shift < 0;
  columns.loss = is_cut ? std::ldexp(1.0, 13 - columns.shift) : 0;
  const WideInt<Words> shifted_product = is_cut ? cut(product, -columns.shift) : shifted(product, columns.shift);
  columns.ratio = 0x1p80 / wide_to_double(shifted_product);
  columns.most = lane(shifted_product.word[2], shifted_product.word[3]) / 2 - (is_cut ? 1 : 0);

  std::int32_t halfword[kHalfwords];
  cut_signed<16>(wide_negate(shifted_product), halfword);
  for (int pair = 0; pair < SignedColumns::kPairs; ++pair) {
    const int j = column_of(pair);
    columns.negated_product[pair] =
        lane(static_cast<std::uint32_t>(halfword[j] & 0xffff), static_cast<std::uint32_t>(halfword[j + 2] & 0xffff));
    columns.start[pair] = pair % 2 == 0 ? lane(1u << 21, 0u - (1u << 5)) : lane((1u << 21) - (1u << 5), 0);
  }
  for (int group = 0; group < columns.groups; ++group) {
    std::int32_t digit[4][kBytes] = {};
    for (int i = 0; i < std::min(4, count - 4 * group); ++i) {
      WideInt<Words> weight = constants.weight[static_cast<std::size_t>(4 * group + i)];
      if (wide_is_negative(wide_sub(constants.product.half, weight))) weight = wide_sub(weight, product);
      cut_signed<8>(shifted(weight, columns.shift), digit[i]);
    }
    for (int pair = 0; pair < SignedColumns::kPairs; ++pair) {
      for (int odd = 0; odd < 2; ++odd) {
        const int j = 2 * column_of(pair) + odd;
        columns.weight[group][pair][odd] = lane(four_bytes(digit, j), four_bytes(digit, j + 4));
      }
    }
  }
  return columns;
}

template SignedColumns make_signed_columns(const CrtConstants<5>&);
template SignedColumns make_signed_columns(const CrtConstants<6>&);

}  // namespace ozfp4
