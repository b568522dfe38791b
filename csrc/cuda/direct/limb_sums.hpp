// Dot products of long integers in machine words: every integer is cut into limbs, and the products of limbs of one weight are
// summed in 64 bits, without carries. The sums are added at their places once, at the end.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// Bits of a limb: two of 27 hold what FP64 numbers of one binade need, with four products; three and four are of 21.
template <int Limbs>
inline constexpr int kLimbBits = Limbs == 2 ? 27 : 21;

// |v| <= 2^kLimbedBits has the uppermost limb in [-2^(bits - 1), 2^(bits - 1)], and the others in [0, 2^bits).
template <int Limbs>
inline constexpr int kLimbedBits = kLimbBits<Limbs> * Limbs - 1;

// How many products may be summed: a sum has at most Limbs of them at each index, below 2^(2 bits) each, or of two limbs two
// below 2^(2 bits - 1).
template <int Limbs>
inline constexpr std::int64_t kLimbedProducts = Limbs == 2 ? (1 << 9) - 1 : (1 << 19) - 1;

template <int Limbs>
inline constexpr bool kSumsFit = (Limbs == 2 ? 2 * kLimbedProducts<2> : Limbs * kLimbedProducts<Limbs>) <= INT64_MAX >>
                                 (2 * kLimbBits<Limbs> - (Limbs == 2 ? 1 : 0));
static_assert(kSumsFit<2> && kSumsFit<3> && kSumsFit<4>, "a sum of products of limbs fits 64 bits");

template <int Limbs>
struct Limbed {
  std::int32_t limb[Limbs];
};

// Precondition: |v| <= 2^kLimbedBits<Limbs>, 2 or 3 limbs. The limbs of other numbers have no meaning.
template <int Limbs>
OZFP4_HD Limbed<Limbs> limbs_of(std::int64_t v) {
  static_assert(Limbs == 2 || Limbs == 3, "four hold more than 64 bits");
  constexpr int bits = kLimbBits<Limbs>;
  Limbed<Limbs> x;
  for (int i = 0; i + 1 < Limbs; ++i) x.limb[i] = static_cast<std::int32_t>((v >> (bits * i)) & ((std::int64_t(1) << bits) - 1));
  x.limb[Limbs - 1] = static_cast<std::int32_t>(v >> (bits * (Limbs - 1)));
  return x;
}

// The same for four. Precondition: |v| <= 2^83.
OZFP4_HD Limbed<4> limbs_of(const WideInt<3>& v) {
  constexpr std::uint32_t mask = (1u << 21) - 1;
  return {{static_cast<std::int32_t>(v.word[0] & mask), static_cast<std::int32_t>(((v.word[0] >> 21) | (v.word[1] << 11)) & mask),
           static_cast<std::int32_t>((v.word[1] >> 10) & mask), static_cast<std::int32_t>((v.word[1] >> 31) | (v.word[2] << 1))}};
}

// Words that hold every dot product of limbs: 2 * 83 + 19 bits and a sign.
inline constexpr int kLimbedWords = 6;
static_assert(2 * kLimbedBits<4> + 19 + 1 <= 32 * kLimbedWords && kLimbedProducts<4> < 1 << 19, "dot products fit");

// Precondition: up to kLimbedProducts<Limbs> products.
template <int Limbs>
struct LimbSums {
  static constexpr int count = 2 * Limbs - 1;
  std::int64_t sum[count] = {};

  OZFP4_HD void add_product(const Limbed<Limbs>& x, const Limbed<Limbs>& y) {
    for (int i = 0; i < Limbs; ++i) {
      for (int j = 0; j < Limbs; ++j) sum[i + j] += static_cast<std::int64_t>(x.limb[i]) * y.limb[j];
    }
  }

  OZFP4_HD WideInt<kLimbedWords> total() const {
    constexpr int bits = kLimbBits<Limbs>;
    WideInt<kLimbedWords> value = wide_from<kLimbedWords>(sum[count - 1]);
    for (int i = count - 2; i >= 0; --i) {
      for (int w = kLimbedWords - 1; w > 0; --w) value.word[w] = (value.word[w] << bits) | (value.word[w - 1] >> (32 - bits));
      value.word[0] <<= bits;
      value = wide_add(value, wide_from<kLimbedWords>(sum[i]));
    }
    return value;
  }
};

}  // namespace ozfp4
