// Stage 3, multiply: for every output group the sum of its terms over K, exact in the accumulator, folded on the way. Tiles of
// the output in turn, each of one group: packed planes by a kernel for bytes, others in floating point.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/bytes/kernels/kernel.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// The kernel that has its tiles packed with the planes of a plan, nullptr where they are multiplied in floating point.
const ByteKernel* byte_kernel_of(const Plan& plan);

struct MultiplyShape {
  std::int64_t rows, columns, inners;
};

// Memory for sums and panels, aligned to 64.
struct MultiplyScratch {
  void* memory;
  std::int64_t bytes;
};

// Scratch in bytes that as many threads as there are now make full use of. With less, down to that of a tile of the least
// extents, tiles are smaller or fewer. A workspace for a shape is enough for smaller ones. Precondition: extents >= 1.
std::int64_t multiply_scratch(const Plan& plan, const ByteKernel* kernel, const MultiplyShape& shape);

// output[g][row][column] for the groups of the first `count` moduli (or the first groups) from planes as cpu_encode writes them
// for the kernel. With `accumulate` the output already holds the residues (sums) of an earlier piece of K, to which this piece is
// added. `progress`, if any, is called after every few tiles with the fraction of the products done; it may throw to stop.
// Precondition: extents >= 1, with a kernel inners at most kMostByteInner; room for a tile of the least extents.
void cpu_multiply(const Plan& plan, const ByteKernel* kernel, int count, const MultiplyShape& shape, const void* planes_a,
                  const void* planes_b, bool accumulate, void* output, const MultiplyScratch& scratch,
                  const std::function<void(double)>& progress = {});

// The same for whole planes as cpu_encode leaves them without a kernel, by the kernel for the plan. With one for bytes K is taken
// in pieces, and planes are packed. Precondition: shape.inners >= 1.
void multiply_planes(const Plan& plan, int count, const MultiplyShape& shape, const void* a, const void* b, void* output);

}  // namespace ozfp4
