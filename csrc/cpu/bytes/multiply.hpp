// Stage 3, multiply, on packed planes by a kernel for bytes: tiles of the output in turn, each of one group, whose INT32 sums are
// folded while they lie in the cache.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/bytes/packed.hpp"
#include "cpu/stages/multiply.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// The kernel whose tiles the planes of a plan are packed in, nullptr where they are multiplied in floating point.
const ByteKernel* byte_kernel_of(const Plan& plan);

// From one row of a tile's sums to the next: an odd number of cache lines, as a first-level cache holds few of lines that are a
// power of two apart.
constexpr std::int64_t sums_pitch(std::int64_t columns) { return (panels_of(columns) | 1) * kPanelLines; }
static_assert(sums_pitch(240) == 240 && sums_pitch(256) == 272);
inline constexpr std::int64_t kLeastTileSums = kPanelLines * sums_pitch(kPanelLines);

// Bytes of it that as many threads as there are now make full use of. With less, down to kLeastTileSums sums, tiles are smaller
// or fewer.
std::int64_t multiply_bytes_scratch(const Plan& plan, const MultiplyShape& shape);

// As cpu_multiply, whose scratch is of any size: the number of threads may have changed since it was asked for. Precondition:
// shape.inners <= kMostByteInner; planes of bytes, packed for their sides, with these extents.
void multiply_bytes(const ByteKernel& kernel, const Plan& plan, int count, const MultiplyShape& shape, const void* planes_a,
                    const void* planes_b, bool accumulate, void* output, const MultiplyScratch& scratch,
                    const std::function<void(double)>& progress = {});

}  // namespace ozfp4
