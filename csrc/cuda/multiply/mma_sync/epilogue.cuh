// What a warp does with its accumulators after a K loop: fold in place, or fold and store. No shared memory: the four
// lanes of a quad hold two bytes each of eight neighbours in a row, and exchange them until each has sixteen.
//
// acc[i][j][2 h + e]: row 16 i + 8 h + lane / 4, column 8 j + 2 (lane % 4) + e of the warp's tile.
#pragma once

#include <cstdint>

#include "cuda/multiply/mma_sync/atom.cuh"
#include "cuda/multiply/mma_sync/config.cuh"
#include "cuda/multiply/walk/fold.cuh"

namespace ozfp4::cuda::mma_sync {

// Lane t of a quad has words w[0..3]; afterwards its w[s] is what lane s had as w[t].
__device__ __forceinline__ void transpose_quad(std::uint32_t (&w)[4]) {
  const std::uint32_t lane = threadIdx.x;
#pragma unroll
  for (int bit = 1; bit <= 2; bit *= 2) {
    const bool is_upper = (lane & bit) != 0;
#pragma unroll
    for (int low = 0; low < 4; ++low) {
      if (low & bit) continue;
      const int high = low | bit;
      const std::uint32_t sent = is_upper ? w[low] : w[high];
      const std::uint32_t received = __shfl_xor_sync(0xFFFFFFFFu, sent, bit);
      w[low] = is_upper ? received : w[low];
      w[high] = is_upper ? w[high] : received;
    }
  }
}

template <class C>
struct Epilogue {
  using Accumulators = std::int32_t (&)[C::kRows][C::kColumns][4];
  static constexpr bool kSigned = C::Atom::kSigned;

  // Each pass over the accumulators pins them first, so that the compiler does not compute part of it for all of them ahead
  // of time, and spill.
  template <class Function>
  static __device__ __forceinline__ void for_each(Accumulators acc, const Function& function) {
#pragma unroll
    for (int i = 0; i < C::kRows; ++i) {
#pragma unroll
      for (int j = 0; j < C::kColumns; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) function(acc[i][j][e]);
      }
      __syncwarp();
    }
  }
  static __device__ __forceinline__ void pin_all(Accumulators acc) {
    for_each(acc, [](std::int32_t& x) { asm volatile("" : "+r"(x)); });
  }

  static __device__ __forceinline__ void clear(Accumulators acc) {
    for_each(acc, [](std::int32_t& x) { x = 0; });  // also the bits of 0.0f
  }

  // Between what the atom accumulates in and the integers that the other functions take and leave.
  static __device__ __forceinline__ void to_integers(Accumulators acc) {
    if constexpr (C::Atom::kFloat) {
      pin_all(acc);
      for_each(acc, [](std::int32_t& x) { x = float_to_integer(x); });
      pin_all(acc);
    }
  }
  static __device__ __forceinline__ void from_integers(Accumulators acc) {
    if constexpr (C::Atom::kFloat) {
      pin_all(acc);
      for_each(acc, [](std::int32_t& x) { x = integer_to_float(x); });
      pin_all(acc);
    }
  }

  static __device__ __forceinline__ void scale(Accumulators acc, std::int32_t multiplier) {
    pin_all(acc);
    for_each(acc, [&](std::int32_t& x) { x = wrapping_product(x, multiplier); });
  }

  // acc = (acc mod m) * multiplier.
  static __device__ __forceinline__ void fold(Accumulators acc, const Fold& f, const GemmStep& step) {
    const MultipliedResidue residue(f, step);
    pin_all(acc);
    for_each(acc, [&](std::int32_t& x) { x = residue.template of<kSigned>(x, f); });
  }

  // Before store_bytes and carry, which take what is nonnegative. In place, as a pass of its own: else the shifted values
  // come to lie beside the unshifted ones.
  static __device__ __forceinline__ void shift(Accumulators acc, const Fold& f) {
    pin_all(acc);
    for_each(acc, [&](std::int32_t& x) { x = static_cast<std::int32_t>(shifted<kSigned>(x, f.offset)); });
  }

  // acc = floor(acc / m), of what was shifted.
  static __device__ __forceinline__ void carry(Accumulators acc, const Fold& f, const GemmStep& step) {
    const Carry carried(f, step);
    pin_all(acc);
    for_each(acc, [&](std::int32_t& x) { x = carried.of_shifted(x); });
  }

  // Stores acc mod m, of what was shifted, one byte per entry: rows from `row` on, columns from `column` on, of out matrix
  // `matrix`. Sixteen columns are stored if the first of them is inside.
  static __device__ __forceinline__ void store_bytes(Accumulators acc, const Fold& f, const MultiplyParams& p, int row,
                                                     int column, int matrix) {
    constexpr int kPairs = C::kColumns / 2;  // of fragments: 16 columns
    const int lane = threadIdx.x % 32, t = lane % 4;
    std::uint8_t* const out = p.out_bytes + matrix * p.out_matrix_stride;
    pin_all(acc);
    const auto residue = [&](std::int32_t x) { return residue_word<false>(x, f); };
#pragma unroll
    for (int i = 0; i < C::kRows; ++i) {
      // Words of the quad: kPairs of row g, then kPairs of row g + 8; four at a time.
#pragma unroll
      for (int first = 0; first < 2 * kPairs; first += 4) {
        std::uint32_t word[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int h = (first + q) / kPairs, j = 2 * ((first + q) % kPairs);
          const std::uint32_t left = __byte_perm(residue(acc[i][j][2 * h]), residue(acc[i][j][2 * h + 1]), 0x3240);
          const std::uint32_t right = __byte_perm(residue(acc[i][j + 1][2 * h]), residue(acc[i][j + 1][2 * h + 1]), 0x3240);
          word[q] = __byte_perm(left, right, 0x5410);
        }
        transpose_quad(word);
        const int mine = first + t, h = mine / kPairs, pair = mine % kPairs;
        const int out_row = row + 16 * i + 8 * h + lane / 4, out_column = column + 16 * pair;
        const uint4 bytes = {__byte_perm(word[0], word[1], 0x5410), __byte_perm(word[2], word[3], 0x5410),
                             __byte_perm(word[0], word[1], 0x7632), __byte_perm(word[2], word[3], 0x7632)};
        if (out_row < p.m && out_column < p.n) *reinterpret_cast<uint4*>(out + out_row * p.out_pitch + out_column) = bytes;
      }
    }
  }

  // Four lanes write a 32-byte sector.
  static __device__ __forceinline__ void store_words(Accumulators acc, std::int32_t multiplier, const MultiplyParams& p,
                                                     int first_row, int first_column, int matrix) {
    const int lane = threadIdx.x % 32;
    std::int32_t* const base = p.out_int32 + matrix * p.out_matrix_stride;
    pin_all(acc);
#pragma unroll
    for (int i = 0; i < C::kRows; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = first_row + 16 * i + 8 * h + lane / 4;
        if (row >= p.m) continue;
        std::int32_t* const line = base + row * p.out_pitch;
#pragma unroll
        for (int j = 0; j < C::kColumns; ++j) {
          const int column = first_column + 8 * j + 2 * (lane % 4);
          const int2 pair = {wrapping_product(acc[i][j][2 * h], multiplier), wrapping_product(acc[i][j][2 * h + 1], multiplier)};
          if (column + 1 < p.n) {
            *reinterpret_cast<int2*>(line + column) = pair;
          } else if (column < p.n) {
            line[column] = pair.x;
          }
        }
      }
    }
  }
};

}  // namespace ozfp4::cuda::mma_sync
