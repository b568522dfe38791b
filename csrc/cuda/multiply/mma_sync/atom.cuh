// The exchangeable part of the mma.sync kernels: one tensor-core instruction, 16 x 8 += 16 x 32 bytes times 32 bytes x 8.
//
// Fragments, lane l, g = l / 4, t = l % 4 (PTX ISA, m16n8k32 of bytes, m16n8k64 of 4-bit codes: the same words):
//   a[0], a[1]: bytes 4 t .. 4 t + 3 along K of rows g and g + 8; a[2], a[3]: the same, 16 bytes further along K
//   b[0], b[1]: bytes 4 t .. 4 t + 3 of column g, and 16 bytes further
//   d[0], d[1]: row g, columns 2 t and 2 t + 1; d[2], d[3]: row g + 8
#pragma once

#include <cstdint>

#include "arith/limbs/e2m1.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/ptx/warp.cuh"

namespace ozfp4::cuda::mma_sync {

// ---- Accumulators: words that hold INT32, or FP32 with an integral value ----------------------------------------------

// Exact: the FP32 number is an integer. Precondition: |value| <= 2^24.
__device__ __forceinline__ std::int32_t float_to_integer(std::int32_t bits) { return __float2int_rn(__int_as_float(bits)); }
// Floats in [2^23, 2^24) count up by one. Precondition: |value| <= 2^22.
__device__ __forceinline__ std::int32_t integer_to_float(std::int32_t value) {
  return __float_as_int(__int_as_float(0x4B400000 + value) - 12582912.0f);  // 1.5 * 2^23
}

// ---- Bytes -----------------------------------------------------------------------------------------------------------

// INT32 accumulators, wrapping on overflow.
template <bool kSignedBytes>
struct ByteAtom {
  static constexpr bool kSigned = kSignedBytes, kFloat = false;
  static constexpr int kEntriesPerByte = 1;

  static __device__ __forceinline__ void multiply(std::int32_t (&d)[4], const std::uint32_t (&a)[4],
                                                  const std::uint32_t (&b)[2]) {
    auto& c = reinterpret_cast<std::uint32_t (&)[4]>(d);
    if constexpr (kSigned) {
      multiply_signed_bytes(c, a, b[0], b[1]);
    } else {
      multiply_bytes(c, a[0], a[1], a[2], a[3], b[0], b[1]);
    }
  }
};

// ---- E2M1 codes --------------------------------------------------------------------------------------------------------

// The FP4 tensor core of sm_120. A code is half its limb; block scales of 2 on both sides (ue8m0 0x80, one register for
// every selector) make up for it, so d counts limb products. Exact while |d| <= 2^24.
struct Fp4Atom {
  static constexpr bool kSigned = true, kFloat = true;
  static constexpr int kEntriesPerByte = 2;

  static __device__ __forceinline__ void multiply(std::int32_t (&d)[4], const std::uint32_t (&a)[4],
                                                  const std::uint32_t (&b)[2]) {
    constexpr std::uint32_t scales_of_two = 0x80808080u;
    float sum[4] = {__int_as_float(d[0]), __int_as_float(d[1]), __int_as_float(d[2]), __int_as_float(d[3])};
    asm volatile(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {0, 0}, {%10}, {0, 0};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scales_of_two));
#pragma unroll
    for (int i = 0; i < 4; ++i) d[i] = __float_as_int(sum[i]);
  }
};

// The limbs of a fragment's eight codes as bytes: those of the low half-word and those of the high one.
struct Limbs {
  std::uint32_t half[2];
};
// Any word; code 8, minus zero, gives 0.
__device__ __forceinline__ Limbs decode(std::uint32_t codes) {
  constexpr std::uint32_t positive[2] = {0x03020100u, 0x0C080604u}, negative[2] = {0xFDFEFF00u, 0xF4F8FAFCu};
  const std::uint32_t magnitudes = codes & 0x77777777u, signs = (codes >> 3) & 0x11111111u;
  Limbs limbs;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const std::uint32_t magnitude = magnitudes >> (16 * h);
    const std::uint32_t mask = __byte_perm(0x0000FF00u, 0u, signs >> (16 * h));  // byte 0 or byte 1, by the sign
    limbs.half[h] =
        (__byte_perm(positive[0], positive[1], magnitude) & ~mask) | (__byte_perm(negative[0], negative[1], magnitude) & mask);
  }
  return limbs;
}

// Fp4Atom on any GPU: the codes of a half-word have the same place along K in A and in B. So two products of bytes, one of the
// low half-words and one of the high ones, sum over the 64 codes. Accumulates in FP32 as Fp4Atom does. Exact while |d| <= 2^24.
struct StandInAtom {
  static constexpr bool kSigned = true, kFloat = true;
  static constexpr int kEntriesPerByte = 2;

  static __device__ __forceinline__ void multiply(std::int32_t (&d)[4], const std::uint32_t (&a)[4],
                                                  const std::uint32_t (&b)[2]) {
    Limbs left[4], right[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) left[i] = decode(a[i]);
#pragma unroll
    for (int i = 0; i < 2; ++i) right[i] = decode(b[i]);
    std::int32_t sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t half_a[4] = {left[0].half[h], left[1].half[h], left[2].half[h], left[3].half[h]};
      const std::uint32_t half_b[2] = {right[0].half[h], right[1].half[h]};
      ByteAtom<true>::multiply(sum, half_a, half_b);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) d[i] = __float_as_int(__int_as_float(d[i]) + __int2float_rn(sum[i]));
  }
};

// Codes have no unsigned atom.
template <bool>
using Fp4 = Fp4Atom;
template <bool>
using StandIn = StandInAtom;

}  // namespace ozfp4::cuda::mma_sync
