// How a product of a matrix with few lines is cut. Clusters of blocks take a tile of the many lines of the matrix, each block a
// slice of K, each thread entries of one line.
#pragma once

#include <cstdint>

#include "arith/scale_entry.hpp"
#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/scale/scale.hpp"
#include "cuda/thin/cut.hpp"
#include "cuda/thin/thin.hpp"

namespace ozfp4::cuda::thin {

// Limbs of the few lines: [matrix][unit][padded line][32] of the two lower limbs of two neighbours, and of their third.
struct FewLimbs {
  int4* lower;
  int2* upper;
  std::int32_t* capacity;  // [matrix][padded line]
  std::int32_t units;      // of a matrix
};

struct Arguments {
  ScaledOperand many, few;
  DeviceResult result;  // rows are those of a, whichever of the operands that is
  CapacityRule capacity;
  FewLimbs limbs;
  std::uint32_t* digits;  // [part][matrix][line of many][padded line of few][kDigitPitch]
  std::int64_t part_words;
  std::int32_t few_padded;
  std::int32_t cluster, slots_shift;                 // blocks of a cluster; 2^slots_shift threads share a line
  std::int32_t tiles, tiles_per_matrix, slice;       // slice: entries of K of a block
  std::int32_t first_stride, tile_step, tiles_each;  // cluster c takes tiles c * first_stride + i * tile_step, i < tiles_each
  std::int64_t pair_step;                            // bytes from one of a thread's pairs to the next
  bool many_is_a;
  bool loads_pairs;  // 16 bytes a load
};

// first * second = 2^shift, normal numbers both; x * first is exact for every x of a line with this shift. The shift is above
// kMostShift only where all entries are tiny.
struct Factors {
  double first, second;
};
inline constexpr int kMostShift = 1000, kMoved = 200;
__device__ __forceinline__ Factors factors_of(std::int32_t shift) {
  const bool is_moved = shift > kMostShift;
  return {is_moved ? exact_power_of_two<double>(kMoved) : 1.0, exact_power_of_two<double>(is_moved ? shift - kMoved : shift)};
}

}  // namespace ozfp4::cuda::thin
