// An integer cut in two, v = low + 2^cut high with 0 <= low < 2^cut, and the product of two such integers from three products
// of their parts (Karatsuba and Ofman):
//     v w = low low' + 2^cut ((low + high)(low' + high') - low low' - high high') + 2^(2 cut) high high'.
// Sums of such products over K obey the same identity. For |v| <= 2^bits no part exceeds 2^cut + 2^(bits - cut) in magnitude.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// In the order in which a plan holds them; `whole` where nothing is cut.
enum class Part : std::uint8_t { low, high, sum, whole };
inline constexpr int kParts = 3;

// x * 2^shift modulo 2^(32 Words). Range: shift >= 0. Words are not named by a number that is known late, which would put them
// into a GPU's memory.
template <int Words>
OZFP4_HD WideInt<Words> wide_shift_left(WideInt<Words> x, int shift) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (; shift > 0; shift -= 31) x = wide_mul_small(x, std::uint32_t(1) << (shift < 31 ? shift : 31));
  return x;
}

// The part of v. Range: 0 < cut < 32 Words - 1, |v| < 2^(32 Words - 2).
template <int Words>
WideInt<Words> part_of(const WideInt<Words>& v, Part part, int cut) {
  if (part == Part::whole) return v;
  const std::uint32_t sign = wide_sign_mask(v);
  const int skipped = cut / 32, bits = cut % 32;
  WideInt<Words> low = v, high;
  for (int i = 0; i < Words; ++i) {
    if (i >= skipped) low.word[i] &= i > skipped ? 0u : (std::uint32_t(1) << bits) - 1;
    const std::uint64_t next = i + skipped + 1 < Words ? v.word[i + skipped + 1] : sign;
    const std::uint64_t own = i + skipped < Words ? v.word[i + skipped] : sign;
    high.word[i] = static_cast<std::uint32_t>(((next << 32) | own) >> bits);
  }
  return part == Part::low ? low : part == Part::high ? high : wide_add(low, high);
}

// The product from those of the parts, which are handed over in the order high, low, sum: t becomes -2^cut high, then
// low - 2^cut high, then t + 2^cut (sum - t), which is the product. Range: the product fits the words; what comes in between may
// wrap.
template <int Words>
class JoinedProduct {
 public:
  OZFP4_HD explicit JoinedProduct(int cut) : value_(wide_zero<Words>()), cut_(cut) {}

  OZFP4_HD void take(const WideInt<Words>& product, Part part) {
    if (part == Part::low) {
      value_ = wide_add(value_, product);
      return;
    }
    const WideInt<Words> moved = wide_shift_left(wide_sub(product, value_), cut_);
    value_ = part == Part::high ? wide_negate(moved) : wide_add(value_, moved);
  }

  OZFP4_HD const WideInt<Words>& value() const { return value_; }

 private:
  WideInt<Words> value_;
  int cut_;
};

// The i-th part to be handed over.
OZFP4_HD Part joined_part(int i) { return i == 0 ? Part::high : i == 1 ? Part::low : Part::sum; }

}  // namespace ozfp4
