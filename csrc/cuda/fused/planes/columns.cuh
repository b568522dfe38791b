// From packed residues to columns of 16 bits, on the matrix unit, in the lane that holds them.
//
// An entry's 16 residues are four words of one lane, but the matrix unit takes a row of 32 bytes from the four lanes of a quad,
// four bytes from each and four more: the rows of A are words w and w + 1 of one entry of each lane. The weights pick each
// lane's own: of every 8 columns of B column n is zero but in the bytes that lane n / 2 of the quad brings, and so the
// accumulators of lane t, which are columns 2 t and 2 t + 1, are sums over that lane's residues alone. Of every four products
// three are with zeros; in turn nothing has to move from lane to lane. A warpgroup does it by wgmma, four times as fast as
// mma.sync, and what seldom happens to a single warp by mma.sync.
#pragma once

#include <cstdint>

#include "cuda/fused/planes/shape.cuh"
#include "cuda/multiply/ptx/tma.cuh"
#include "cuda/multiply/ptx/wgmma.cuh"
#include "cuda/multiply/walk/shared_layout.cuh"
#include "cuda/reconstruct/columns.cuh"

namespace ozfp4::cuda::fused_planes {

// B for wgmma, at the shared address `weights`: row 8 s + n, of 128 bytes of which 64 are used, is column n for column s; chunk w
// of 16 bytes is of words w of the quad's lanes. From the fragments of a table of load_table: [tile][4 n + w] is byte 8 tile + n
// of the weights of moduli 4 w ... 4 w + 3. All threads of the block call it, and wait for each other behind it.
template <int Words>
__device__ __forceinline__ void share_weights(std::uint32_t weights, const std::uint32_t* fragment) {
  const int row = static_cast<int>(threadIdx.x) / 4, w = static_cast<int>(threadIdx.x) % 4;
  if (row < Config::kN) {
    const int byte = row / 8 * 2 + row % 2, t = row % 8 / 2;
    const std::uint32_t own = byte < 4 * Words ? fragment[byte / 8 * 32 + byte % 8 * 4 + w] : 0u;
    const uint4 chunk{t == 0 ? own : 0u, t == 1 ? own : 0u, t == 2 ? own : 0u, t == 3 ? own : 0u};
    store_shared(weights + swizzled_chunk<128>(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(w)), chunk);
  }
  publish_to_copy_engine();  // so does the matrix unit read it
}

using Sums = std::int32_t[1][Config::kEntries];

// Begins to multiply the residues of two entries: afterwards sum 4 s + 2 i + b is byte b of column s of entry i. All four warps
// of the group call it.
__device__ __forceinline__ void begin_columns(Sums& sums, const std::uint32_t (&x)[kMostModuli / 4],
                                              const std::uint32_t (&y)[kMostModuli / 4], std::uint32_t weights) {
  const std::uint64_t b = tile_descriptor(weights);
  const std::uint32_t low[4] = {x[0], y[0], x[1], y[1]}, high[4] = {x[2], y[2], x[3], y[3]};
  begin_multiply();
  Multiply<false>::run(sums[0], low, b, 0);
  Multiply<false>::run(sums[0], high, b + 2, 1);
  commit_multiply();
}

// Waits for them.
template <int Words>
__device__ __forceinline__ void end_columns(std::uint32_t (&column)[2][2 * Words], Sums& sums) {
  wait_multiply<0>();
  pin(sums);
#pragma unroll
  for (int s = 0; s < 2 * Words; ++s) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
      column[i][s] = static_cast<std::uint32_t>(sums[0][4 * s + 2 * i] + 256 * sums[0][4 * s + 2 * i + 1]);
  }
}

// The same for a single warp. This lane's part of B: for column s, words w and w + 1.
template <int Words>
struct OwnWeights {
  std::uint32_t word[2 * Words][kMostModuli / 4];

  // From the fragments of a table of load_table: [tile][4 n + w] is byte 8 tile + n of the weights of moduli 4 w ... 4 w + 3.
  __device__ __forceinline__ void load(const std::uint32_t* fragment) {
    const int lane = static_cast<int>(threadIdx.x % 32), n = lane / 4;
    const bool is_own = n / 2 == lane % 4;
#pragma unroll
    for (int s = 0; s < 2 * Words; ++s) {
      const int byte = 2 * s + n % 2;
#pragma unroll
      for (int w = 0; w < kMostModuli / 4; ++w) word[s][w] = is_own ? fragment[byte / 8 * 32 + byte % 8 * 4 + w] : 0u;
    }
  }

  // The columns of two entries.
  __device__ __forceinline__ void columns(std::uint32_t (&column)[2][2 * Words], const std::uint32_t (&x)[kMostModuli / 4],
                                          const std::uint32_t (&y)[kMostModuli / 4]) const {
#pragma unroll
    for (int s = 0; s < 2 * Words; ++s) {
      std::uint32_t c[4] = {};
      multiply_bytes(c, x[0], y[0], x[1], y[1], word[s][0], word[s][1]);
      multiply_bytes(c, x[2], y[2], x[3], y[3], word[s][2], word[s][3]);
      column[0][s] = c[0] + 256 * c[1];
      column[1][s] = c[2] + 256 * c[3];
    }
  }
};

}  // namespace ozfp4::cuda::fused_planes
