// The sums of products of a tile's limbs, of sixteen rows and eight columns at a time.
#pragma once

#include <cstdint>

#include "cuda/multiply/ptx/warp.cuh"
#include "cuda/tiles/encode.cuh"

namespace ozfp4::cuda::tiles {

inline constexpr int kPart = 64;  // entries along K with limbs of B that are in registers at a time

// Where this lane reads its part of the fragments: of 16 rows and 32 bytes of A, and of eight columns and kPart bytes of B.
template <class K>
struct Fragments {
  std::uint32_t a, b, turn_a, turn_b;  // addresses of a line's chunk 0, and how its chunks have changed places

  __device__ __forceinline__ Fragments(const std::uint8_t* planes, int row, int column) {
    const std::uint32_t lane = threadIdx.x % 32, matrix = lane / 8;
    const std::uint32_t line_a = static_cast<std::uint32_t>(row) + lane % 8 + 8 * (matrix % 2);
    const std::uint32_t line_b = static_cast<std::uint32_t>(K::Rows + column) + lane % 8;
    const std::uint32_t base = shared_address(planes);
    a = base + line_a * K::Inner;
    b = base + line_b * K::Inner;
    turn_a = place_of_chunk<K>(line_a, matrix / 2);
    turn_b = place_of_chunk<K>(line_b, matrix);
    if (K::Inner == kPart) b += turn_b, turn_b = 0;  // one number less to keep
  }
  // Chunks at byte `at` along K, a multiple of 32 and of kPart.
  __device__ __forceinline__ std::uint32_t of_a(int limb, int at) const {
    return a + static_cast<std::uint32_t>(limb * K::PlaneBytes) + (turn_a ^ static_cast<std::uint32_t>(at));
  }
  __device__ __forceinline__ std::uint32_t of_b(int limb, int at) const {
    return b + static_cast<std::uint32_t>(limb * K::PlaneBytes) +
           (K::Inner == kPart ? 0u : turn_b ^ static_cast<std::uint32_t>(at));
  }
  // Eight columns further: their chunks have changed places in the same way.
  __device__ __forceinline__ void next_columns() { b += kStepColumns * K::Inner; }
};

// Adds the products of kPart entries along K from `at` on; the first ones onto where the sums start.
template <class K, bool IsFirst>
__device__ __forceinline__ void multiply_part(const Fragments<K>& fragments, int at, const std::uint32_t (&bias)[4],
                                              std::uint32_t (&sum)[kDiagonals<K::Limbs>][4]) {
  std::uint32_t b[K::Limbs][4];
#pragma unroll
  for (int j = 0; j < K::Limbs; ++j) load_matrices(b[j], fragments.of_b(j, at));
#pragma unroll
  for (int i = 0; i < K::Limbs; ++i) {
#pragma unroll
    for (int step = 0; step < kPart / 32; ++step) {
      std::uint32_t a[4];
      load_matrices(a, fragments.of_a(i, at + 32 * step));
#pragma unroll
      for (int j = 0; j < K::Limbs; ++j) {
        auto& own = sum[i + j];
        const std::uint32_t b0 = b[j][2 * step], b1 = b[j][2 * step + 1];
        if (!IsFirst || step > 0 || (i > 0 && j + 1 < K::Limbs)) {
          multiply_signed_bytes(own, a, b0, b1);
        } else if (starts_biased<K::Limbs, K::Inner>(i + j)) {
          multiply_first_signed_bytes(own, a, b0, b1, bias);
        } else {
          multiply_first_signed_bytes(own, a, b0, b1);
        }
      }
    }
  }
}

// D_d of signed_bytes.hpp plus where it starts, of rows g and g + 8 and columns 2 t and 2 t + 1. All lanes of a warp call it.
template <class K>
__device__ __forceinline__ void multiply_limbs(const Fragments<K>& fragments, int inner, const std::uint32_t (&bias)[4],
                                               std::uint32_t (&sum)[kDiagonals<K::Limbs>][4]) {
  multiply_part<K, true>(fragments, 0, bias, sum);
  if constexpr (K::Inner > kPart) {
#pragma unroll 1
    for (int at = kPart; at < kChunk * chunks_used(inner); at += kPart) multiply_part<K, false>(fragments, at, bias, sum);
  }
}

}  // namespace ozfp4::cuda::tiles
