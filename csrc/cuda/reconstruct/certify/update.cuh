// Whether one entry of alpha A B + beta C is certified, decided in integers.
#pragma once

#include <cstdint>

#include "arith/accuracy/bound.hpp"
#include "arith/accuracy/certificate.hpp"
#include "arith/update/update.hpp"
#include "cuda/reconstruct/certify/entry.cuh"

namespace ozfp4::cuda {

// certify_entry for alpha times the integer plus beta c. Where c is NaN or infinite nothing else matters, and the entry is
// certified.
template <class T, int Words>
__device__ __forceinline__ CertifiedEntry<T> certify_update(const Certification& asked, const WideInt<Words>& integer,
                                                            std::int32_t exponent, const LineRecord& a, const LineRecord& b,
                                                            std::int64_t inner, const Update& factors, double c,
                                                            std::uint32_t magnitude = 0) {
  CertifiedEntry<T> entry{};
  if (!is_finite(c)) return {static_cast<T>(special_update(factors, 0.0, c)), kSpecialBound, true};
  const WideInt<Words + 1> wide = wide_resize<Words + 1>(integer), error = error_bound<Words + 1>(a, b);
  const Addend addend = addend_of(factors, c);
  const bool is_correct = asked.accuracy == Accuracy::correct;
  entry.is_certified = asked.accuracy == Accuracy::scaled || is_correct || keeps_entry(a, b, magnitude, inner);
  // The integer alone; or both ends of what it stands for, which shall give the same.
  const int ends = is_correct ? 2 : 1;
#pragma unroll 1
  for (int i = 0; i < ends; ++i) {
    const WideInt<Words + 1> end = !is_correct ? wide : i == 0 ? wide_sub(wide, error) : wide_add(wide, error);
    const T value = round_update<T>(end, exponent, factors, addend, asked.rounding);
    if (i > 0) entry.is_certified = float_bits(value) == float_bits(entry.value);
    entry.value = value;
  }
  if (asked.bound.data != nullptr) {
    entry.bound =
        entry_bound(times_significand(error, factors.alpha), exponent + factors.alpha.weight, entry.value, asked.rounding);
  }
  return entry;
}

}  // namespace ozfp4::cuda
