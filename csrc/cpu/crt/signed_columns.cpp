#include "cpu/crt/signed_columns.hpp"

#include <algorithm>
#include <cstddef>

namespace ozfp4 {
namespace {

constexpr int kProductBits = 126, kBytes = 16, kHalfwords = 8;

// x * 2^count.
WideInt<5> shifted(WideInt<5> x, int count) {
  for (; count > 0; count -= std::min(count, 31)) x = wide_mul_small(x, std::uint32_t(1) << std::min(count, 31));
  return x;
}

// Signed digits of `Bits` bits whose sum is x. Range: |x| < 2^126.
template <int Bits>
void cut_signed(const WideInt<5>& x, std::int32_t* digit) {
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

SignedColumns make_signed_columns(const CrtConstants<5>& constants) {
  SignedColumns columns;
  const WideInt<5>& product = constants.product.number;
  const int count = static_cast<int>(constants.weight.size()), bits = wide_bit_length(product);
  if (count > 4 * SignedColumns::kMostGroups || bits > kProductBits) return columns;
  columns.groups = (count + 3) / 4;
  columns.shift = kProductBits - bits;
  const WideInt<5> shifted_product = shifted(product, columns.shift);
  columns.ratio = 0x1p80 / wide_to_double(shifted_product);
  columns.most = lane(shifted_product.word[2], shifted_product.word[3]) / 2;

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
      WideInt<5> weight = constants.weight[static_cast<std::size_t>(4 * group + i)];
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

}  // namespace ozfp4
