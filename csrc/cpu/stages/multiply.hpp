// Stage 3, multiply: for every output group the sum of its terms over K, exact in the accumulator, folded on the way.
#pragma once

#include <cstdint>
#include <functional>

#include "plan/plan.hpp"

namespace ozfp4 {

// What multiply leaves for reconstruct: residues in [0, m), in one byte where every modulus fits, else in four bytes;
// 64-bit sums for digit groups and for INT8 products.
enum class OutputType { residue8, residue32, sum64 };

OutputType output_type(const Plan& plan);
std::int64_t output_entry_bytes(const Plan& plan);

struct MultiplyShape {
  std::int64_t rows, columns, inners;
};

// Memory for sums and panels, aligned to 64.
struct MultiplyScratch {
  void* memory;
  std::int64_t bytes;
};

// Scratch in bytes for as many threads as there are now: no less than for smaller extents.
std::int64_t cpu_multiply_scratch(const Plan& plan, const MultiplyShape& shape);

// output[g][row][column] for the groups of the first `count` moduli (or the first groups) from planes as cpu_encode writes them.
// With `accumulate` the output already holds the residues (sums) of an earlier piece of K, to which this piece is added.
// `scratch` has cpu_multiply_scratch bytes of any number of threads. `progress`, if any, is called after every
// few tiles of a group with the fraction of the products done; it may throw to stop.
void cpu_multiply(const Plan& plan, int count, const MultiplyShape& shape, const void* planes_a, const void* planes_b,
                  bool accumulate, void* output, const MultiplyScratch& scratch,
                  const std::function<void(double)>& progress = {});

}  // namespace ozfp4
