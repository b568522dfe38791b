// Whether one entry is certified, decided in integers, and the further questions of both forms of reconstruct.
#pragma once

#include <cstdint>
#include <limits>

#include "arith/accuracy/bound.hpp"
#include "arith/accuracy/certificate.hpp"
#include "arith/update/update.hpp"
#include "arith/wide/round_wide.hpp"
#include "cuda/entries.cuh"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda {

// floor(x / 2^places). Precondition: places >= 0.
template <int Words>
__device__ __forceinline__ WideInt<Words> shift_right(WideInt<Words> x, int places) {
  const std::uint32_t sign = wide_sign_mask(x);
#pragma unroll 1
  for (; places >= 32; places -= 32) {
#pragma unroll
    for (int i = 0; i < Words; ++i) x.word[i] = i + 1 < Words ? x.word[i + 1 < Words ? i + 1 : i] : sign;
  }
#pragma unroll
  for (int i = 0; i < Words; ++i) {
    x.word[i] =
        __funnelshift_r(x.word[i], i + 1 < Words ? x.word[i + 1 < Words ? i + 1 : i] : sign, static_cast<unsigned>(places));
  }
  return x;
}

template <class T>
struct CertifiedEntry {
  T value;
  double bound;       // where it is asked for
  bool is_certified;  // else the others do not matter where the accuracy is correct
};

// Whether "standard" keeps an entry, `magnitude` as certifies_magnitude takes it; 0: it is not asked.
__device__ __forceinline__ bool keeps_entry(const LineRecord& a, const LineRecord& b, std::uint32_t magnitude,
                                            std::int64_t inner) {
  return certifies_magnitude(a, b, magnitude) || certifies_lines(a, b, inner);
}

// Certifies the integer of a row and a column, with the value integer * 2^exponent. Precondition: the records of lines of `inner`
// entries, none of them special, with an E that integers of Words + 1 words hold.
template <class T, int Words>
__device__ __forceinline__ CertifiedEntry<T> certify_entry(const Certification& asked, const WideInt<Words>& integer,
                                                           std::int32_t exponent, const LineRecord& a, const LineRecord& b,
                                                           std::int64_t inner, std::uint32_t magnitude = 0) {
  const WideInt<Words + 1> wide = wide_resize<Words + 1>(integer), error = error_bound<Words + 1>(a, b);
  CertifiedEntry<T> entry{};
  if (asked.accuracy == Accuracy::correct) {
    entry.value = round_wide<T>(wide_sub(wide, error), exponent, asked.rounding);
    entry.is_certified = float_bits(entry.value) == float_bits(round_wide<T>(wide_add(wide, error), exponent, asked.rounding));
  } else {
    entry.value = round_scaled<T>(wide, exponent);
    entry.is_certified = asked.accuracy == Accuracy::scaled || keeps_entry(a, b, magnitude, inner);
  }
  if (asked.bound.data != nullptr) entry.bound = entry_bound(error, exponent, entry.value, asked.rounding);
  return entry;
}

// The bound of an entry that the IEEE rules of NaN and infinity give.
inline constexpr double kSpecialBound = std::numeric_limits<double>::infinity();

// The place of an entry's bound: of matrix `matrix`, row and column of the block.
__device__ __forceinline__ double* bound_of(const DeviceResult& bound, std::int32_t matrix, std::int64_t row,
                                            std::int64_t column) {
  return reinterpret_cast<double*>(bound.data + StackIndex{matrix}.offset(bound.stack) + row * bound.row_stride +
                                   column * bound.column_stride);
}

// An entry of an update that is listed, where its value may be asked for: of matrix `matrix`, row and column of the block.
template <class T>
__device__ __forceinline__ void keep_value(const Certification& asked, std::int32_t matrix, std::int64_t row, std::int64_t column,
                                           T value) {
  if (asked.kept.data == nullptr) return;
  reinterpret_cast<T*>(asked.kept.data)[matrix * asked.kept.matrix_stride + row * asked.kept.pitch + column] = value;
}

// The words of the list of a row of a matrix of the block.
__device__ __forceinline__ std::uint32_t* listed_words(const Listed& listed, std::int32_t matrix, std::int64_t row) {
  return listed.word + matrix * listed.matrix_stride + row * listed.pitch;
}

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
  // The integer alone; or both ends of its interval, which shall give the same.
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
