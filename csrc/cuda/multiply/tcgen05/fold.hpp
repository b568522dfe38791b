// What the epilogue of a pass of the sm_100 kernels does to one accumulator; tcgen05/pass.hpp says what a pass is.
#pragma once

#include <cstdint>

#include "arith/fold.hpp"
#include "arith/host_device.hpp"

namespace ozfp4::cuda::tcgen05 {

// Constants of one unit in one pass. Range: 2 <= m <= 256, multiplier and weight in [0, m),
// bound + offset + (m - 1)^2 < 2^31, where bound is the one that `constants` were made for (unsigned sums: 2^31 - 1 for
// both and (m - 1)^2 is what the sums leave free below 2^31).
struct PassFold {
  fold_constants constants = {};
  std::uint32_t multiplier = 0;  // of the residue that the previous pass left; 0 in the first pass
  std::uint32_t weight = 1;      // of the result
};

// Accumulators are 32-bit integers, or FP32 numbers that hold one. Range: |x| <= 2^24.
OZFP4_HD std::int32_t accumulated_integer(float x) { return static_cast<std::int32_t>(x); }
OZFP4_HD std::int32_t accumulated_integer(std::int32_t x) { return x; }

// (acc + previous * multiplier) mod m, in [0, m). Range: acc as the constants were made for, previous <= 255; any
// previous where the multiplier is 0.
OZFP4_HD std::uint32_t fold_sum(std::int32_t acc, std::uint32_t previous, const PassFold& f) {
  const std::uint32_t sum = static_cast<std::uint32_t>(acc) + f.constants.offset + previous * f.multiplier;
  return fold_unsigned(sum, f.constants);
}

// The same times the weight, in [0, m).
OZFP4_HD std::uint32_t fold_weighted_sum(std::int32_t acc, std::uint32_t previous, const PassFold& f) {
  return fold_unsigned(fold_sum(acc, previous, f) * f.weight, f.constants);
}

}  // namespace ozfp4::cuda::tcgen05
