// The accumulators of a warp behind a K loop, as walk/act.cuh wants them. No shared memory: the four lanes of a quad hold two
// bytes each of eight neighbours in a row, and exchange them until each has sixteen.
//
// acc[i][j][2 h + e]: row 16 i + 8 h + lane / 4, column 8 j + 2 (lane % 4) + e of the warp's tile.
#pragma once

#include <cstdint>

#include "cuda/multiply/mma_sync/atom.cuh"
#include "cuda/multiply/mma_sync/tiles.hpp"
#include "cuda/multiply/walk/act.cuh"

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
  static constexpr bool kSigned = C::Atom::kSigned, kStoredSigned = false;
  static constexpr int kRowGroups = 2 * C::kRows, kPairs = C::kColumns;

  Accumulators acc;
  const MultiplyParams& p;
  const OutPlace to;

  __device__ __forceinline__ std::int32_t at(int i, int j, int e) const { return acc[i / 2][j][2 * (i % 2) + e]; }
  __device__ __forceinline__ int row_of(int i) const { return to.row + 8 * i + threadIdx.x % 32 / 4; }

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
  static __device__ __forceinline__ void clear(Accumulators acc) {
    for_each(acc, [](std::int32_t& x) { x = 0; });  // also the bits of 0.0f
  }
  __device__ __forceinline__ void pin() const {
    for_each(acc, [](std::int32_t& x) { asm volatile("" : "+r"(x)); });
  }
  template <class Change>
  __device__ __forceinline__ void change(const Fold&, const Change& changed) const {
    pin();
    for_each(acc, [&](std::int32_t& x) { x = changed(x); });
  }

  // Between what the atom accumulates in and the integers that all else takes and leaves.
  __device__ __forceinline__ void begin() const {
    if constexpr (C::Atom::kFloat) {
      pin();
      for_each(acc, [](std::int32_t& x) { x = float_to_integer(x); });
      pin();
    }
  }
  __device__ __forceinline__ void end(bool is_stored) const {
    if (is_stored) {
      clear(acc);
    } else if constexpr (C::Atom::kFloat) {
      pin();
      for_each(acc, [](std::int32_t& x) { x = integer_to_float(x); });
      pin();
    }
  }

  // To what is nonnegative. In place, as a separate pass: else the compiler keeps the shifted values next to the unshifted ones.
  __device__ __forceinline__ void shift(const Fold& f) const {
    change(f, [&](std::int32_t x) { return static_cast<std::int32_t>(shifted<kSigned>(x, f.offset)); });
  }

  // Sixteen columns are stored if the first of them is inside.
  __device__ __forceinline__ void store_bytes(const Fold& f, bool) const {
    constexpr int kFragments = C::kColumns / 2;  // pairs of them: 16 columns
    const int lane = threadIdx.x % 32, t = lane % 4;
    std::uint8_t* const out = p.out_bytes + to.matrix * p.out_matrix_stride;
    pin();
    const auto residue = [&](std::int32_t x) { return residue_word<false>(x, f); };
#pragma unroll
    for (int i = 0; i < C::kRows; ++i) {
      // Words of the quad: kFragments of row g, then kFragments of row g + 8; four at a time.
#pragma unroll
      for (int first = 0; first < 2 * kFragments; first += 4) {
        std::uint32_t word[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int h = (first + q) / kFragments, j = 2 * ((first + q) % kFragments);
          const std::uint32_t left = __byte_perm(residue(acc[i][j][2 * h]), residue(acc[i][j][2 * h + 1]), 0x3240);
          const std::uint32_t right = __byte_perm(residue(acc[i][j + 1][2 * h]), residue(acc[i][j + 1][2 * h + 1]), 0x3240);
          word[q] = __byte_perm(left, right, 0x5410);
        }
        transpose_quad(word);
        const int mine = first + t, h = mine / kFragments, pair = mine % kFragments;
        const int out_row = to.row + 16 * i + 8 * h + lane / 4, out_column = to.column + 16 * pair;
        const uint4 bytes = {__byte_perm(word[0], word[1], 0x5410), __byte_perm(word[2], word[3], 0x5410),
                             __byte_perm(word[0], word[1], 0x7632), __byte_perm(word[2], word[3], 0x7632)};
        if (out_row < p.m && out_column < p.n) *reinterpret_cast<uint4*>(out + out_row * p.out_pitch + out_column) = bytes;
      }
    }
  }
};

}  // namespace ozfp4::cuda::mma_sync
