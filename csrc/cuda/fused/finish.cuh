// From residues in registers to the columns of arith/wide/column_crt.hpp, without memory.
//
// The residues of a tile come from accumulators of mma.m16n8: lane 4 g + t holds, of every eight columns, columns 2
// t and 2 t + 1 of rows g and g + 8. For the multiplication with the weights the rows are entries: row g of the left operand
// holds, side by side along the inner dimension, four (of two steps: eight) residues of an entry of each of the four lanes of its
// group. Columns 2 t and 2 t + 1 of the right operand are zero but where the residues of lane t are: so the lane gets two bytes
// of the weights times the residues of its own entry, and nothing has to be exchanged.
#pragma once

#include <cstdint>

#include "arith/wide/column_crt.hpp"
#include "cuda/multiply/ptx/byte_mma.cuh"
#include "cuda/reconstruct/reconstruct_plan.hpp"

namespace ozfp4::cuda::fused {

inline constexpr int kFinishWords = 4;                   // of the integers
inline constexpr int kFinishColumns = 2 * kFinishWords;  // of 16 bits
inline constexpr int kMostResidues = kRowsPerStep;       // of an entry
inline constexpr int kResidueWords = kMostResidues / 4;

// The weights as a plan has them, [tile][lane], and as the lanes take them.
using FinishWeights = std::uint32_t[kFinishColumns / 4][32];
struct FinishFragments {
  uint4 column[kFinishColumns][32];
};

// Fragment [column][lane], from lane number `lane` of a plan's weights: words 0 .. 3 of the residues times byte 2 column + n % 2
// of their weights, where the residues are those of lane n / 2 of a group.
__device__ __forceinline__ uint4 finish_fragment(const FinishWeights& weights, int column, int lane) {
  const int n = lane / 4, t = lane % 4, byte = 2 * column + n % 2;
  if (n / 2 != t) return {0, 0, 0, 0};
  const std::uint32_t* from = &weights[byte / 8][4 * (byte % 8)];
  return {from[0], from[1], from[2], from[3]};
}

// The residues of two entries x and y of a lane as the matrix unit takes them: words x0, y0, x1, y1 and x2, y2, x3, y3, of four
// residues each.
struct ResiduePair {
  std::uint32_t word[2][4];
};

// The columns of this lane's entries; residues of the plan beyond those in use have weight 0. All lanes of the warp call it.
template <int Pairs>
__device__ __forceinline__ void make_columns(const ResiduePair (&pair)[Pairs], const FinishFragments& fragments,
                                             std::uint32_t (&column)[2 * Pairs][kFinishColumns]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int s = 0; s < kFinishColumns; ++s) {
    const uint4 weight = fragments.column[s][lane];
#pragma unroll
    for (int i = 0; i < Pairs; ++i) {
      const auto &low = pair[i].word[0], &high = pair[i].word[1];
      std::uint32_t c[4];
      multiply_first_bytes(c, low[0], low[1], low[2], low[3], weight.x, weight.y);
      multiply_bytes(c, high[0], high[1], high[2], high[3], weight.z, weight.w);
      column[2 * i][s] = c[0] + 256 * c[1];
      column[2 * i + 1][s] = c[2] + 256 * c[3];
    }
  }
}

}  // namespace ozfp4::cuda::fused
