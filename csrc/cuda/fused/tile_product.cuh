// The product of a tile's planes, modulus by modulus, to residues in registers.
#pragma once

#include <cstdint>

#include "cuda/fused/tile_encode.cuh"
#include "cuda/multiply/ptx/ldmatrix.cuh"

namespace ozfp4::cuda::fused {

inline constexpr int kOwnEntries = kWarpRows * kWarpColumns / 32;  // of a lane, as four accumulators of each eight columns

// Where this lane reads its part of the fragments: of 16 rows and 32 bytes of A, and of 16 columns of B.
struct Fragments {
  std::uint32_t a, b, turn_a, turn_b;  // addresses of a line's chunk 0, and how its chunks have changed places

  template <bool Certifies>
  __device__ __forceinline__ explicit Fragments(const TileShared<Certifies>& shared) {
    const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, matrix = lane / 8;
    const std::uint32_t row = kWarpRows * (warp % kWarpsAlongRows) + lane % 8 + 8 * (matrix % 2);
    const std::uint32_t column = kTile + kWarpColumns * (warp / kWarpsAlongRows) + lane % 8 + 8 * (matrix / 2);
    const std::uint32_t base = shared_address(shared.planes);
    a = base + row * kMostTileInner;
    b = base + column * kMostTileInner;
    turn_a = place_of_chunk(row, matrix / 2);
    turn_b = place_of_chunk(column, matrix % 2);
  }
  // Step `step` of 32 bytes along K; B: columns 16 half ... of the warp's.
  __device__ __forceinline__ std::uint32_t of_a(std::uint32_t plane, int step) const {
    return a + plane + (turn_a ^ static_cast<std::uint32_t>(32 * step));
  }
  __device__ __forceinline__ std::uint32_t of_b(std::uint32_t plane, int step, int half) const {
    return b + plane + half * 16 * kMostTileInner + (turn_b ^ static_cast<std::uint32_t>(32 * step));
  }
};

// Residues modulo the moduli of word `word` of a pass to byte 0 .. 3 of `residue`. All lanes of a warp call it.
template <bool Certifies>
__device__ __forceinline__ void multiply_word(const TileShared<Certifies>& shared, const Fragments& fragments, int word,
                                              int first_modulus, int count, std::uint32_t (&residue)[kOwnEntries]) {
#pragma unroll 1
  for (int byte = 0; byte < 4; ++byte) {
    const int modulus = first_modulus + 4 * word + byte;
    if (modulus >= count) return;
    const auto plane = static_cast<std::uint32_t>((4 * word + byte) * kPlaneBytes);
    const Quotient fold = shared.fold[modulus];
    std::uint32_t c[kWarpColumns / 8][4];
#pragma unroll
    for (int step = 0; step < kMostTileInner / 32; ++step) {
      std::uint32_t a[4];
      load_matrices(a, fragments.of_a(plane, step));
#pragma unroll
      for (int half = 0; half < kWarpColumns / 16; ++half) {
        std::uint32_t b[4];
        load_matrices(b, fragments.of_b(plane, step, half));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          auto& sums = c[2 * half + i];
          if (step == 0) load_start(sums, shared_address(shared.fold_start[modulus]));
          multiply_bytes(sums, a[0], a[1], a[2], a[3], b[2 * i], b[2 * i + 1]);
        }
      }
    }
    const std::uint32_t select = 0x3210u + ((4u - static_cast<std::uint32_t>(byte)) << (4 * byte));  // byte `byte` of the sum's
#pragma unroll
    for (int e = 0; e < kOwnEntries; ++e) residue[e] = __byte_perm(residue[e], reduce(c[e / 4][e % 4], fold), select);
  }
}

// Where residues of a warp's entries lie in its 8 KiB: of rows `row` and row + 8 side by side, in halves of 16 bytes
// (ResiduePair). Neighbouring columns change places in odd rows, and halves in every other four columns: lanes that write two
// rows and every second column reach all banks, and so do lanes that read a row.
__device__ __forceinline__ std::uint32_t residues_at(std::uint32_t row, std::uint32_t column, std::uint32_t half) {
  return (row * kWarpColumns + (column ^ (row & 1u))) * 32 + 16 * (half ^ ((column >> 2) & 1u));
}

__device__ __forceinline__ void store_residues(std::uint32_t base, const std::uint32_t (&residue)[kResidueWords][kOwnEntries]) {
  const std::uint32_t row = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int tile = 0; tile < kWarpColumns / 8; ++tile) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int x = 4 * tile + i, y = x + 2;
      const std::uint32_t column = 8 * tile + 2 * t + i;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto &low = residue[2 * half], &high = residue[2 * half + 1];
        store_shared(base + residues_at(row, column, half), {low[x], low[y], high[x], high[y]});
      }
    }
  }
}

__device__ __forceinline__ void load_residues(ResiduePair& pair, std::uint32_t base, int row) {
#pragma unroll
  for (int half = 0; half < 2; ++half) load_words(pair.word[half], base + residues_at(row, threadIdx.x % 32, half));
}

}  // namespace ozfp4::cuda::fused
