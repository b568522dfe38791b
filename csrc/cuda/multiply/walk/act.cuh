// The action of a step on the accumulators behind its K loop, for the kernels that fold in registers. A family's `Pass` says
// which accumulators a thread holds, and how bytes leave the chip:
//
//   kSigned, kStoredSigned    whether accumulators may be negative; whether what store_bytes and a carry take may be
//   begin(), shift(f)         before everything; before bytes are stored
//   change(f, function)       x = function(x) for every accumulator
//   store_bytes(f)            stores acc mod m, one byte an entry
//   kRowGroups, kPairs, row_of(i), pin(), at(i, j, e)
//                             of store_words: a thread's rows, the pairs of neighbours that it holds of one, eight columns apart
//   end(is_stored)            behind everything
#pragma once

#include <cstdint>

#include "cuda/multiply/launch.hpp"
#include "cuda/multiply/walk/fold.cuh"

namespace ozfp4::cuda {

// Where a pass stores: rows from `row` on, columns from `column` on, of out matrix `matrix`.
struct OutPlace {
  int row, column, matrix;
};

// The accumulators times the multiplier. Four lanes write a 32-byte sector.
template <class Pass>
__device__ __forceinline__ void store_words(const Pass& pass, std::int32_t multiplier) {
  const MultiplyParams& p = pass.p;
  std::int32_t* const base = p.out_int32 + pass.to.matrix * p.out_matrix_stride;
  pass.pin();
#pragma unroll
  for (int i = 0; i < Pass::kRowGroups; ++i) {
    const int row = pass.row_of(i);
    if (row >= p.m) continue;
    std::int32_t* const line = base + row * p.out_pitch;
#pragma unroll
    for (int j = 0; j < Pass::kPairs; ++j) {
      const int column = pass.to.column + 8 * j + 2 * (threadIdx.x % 4);
      const int2 pair = {wrapping_product(pass.at(i, j, 0), multiplier), wrapping_product(pass.at(i, j, 1), multiplier)};
      if (column + 1 < p.n) {
        *reinterpret_cast<int2*>(line + column) = pair;
      } else if (column < p.n) {
        line[column] = pair.x;
      }
    }
  }
}

// One copy of each change in the code: a store of a multiplied residue is a fold and a store.
template <class Pass>
__device__ __forceinline__ void act(const Pass& pass, const GemmStep& step) {
  const Fold f(step);
  const bool is_residue = step.action == Action::store_residue, is_digit = step.action == Action::store_digit;
  pass.begin();
  if (step.action == Action::fold || (is_residue && step.multiplier != 1)) {
    const MultipliedResidue residue(f, step);
    pass.change(f, [&](std::int32_t x) { return residue.template of<Pass::kSigned>(x, f); });
  }
  if (is_residue || is_digit) {
    pass.shift(f);
    pass.store_bytes(f);
  }
  if (is_digit) {
    const Carry carried(f, step);
    pass.change(f, [&](std::int32_t x) { return carried.template of<Pass::kStoredSigned>(x); });
  }
  if (step.action == Action::multiply) {
    pass.change(f, [&](std::int32_t x) { return wrapping_product(x, step.multiplier); });
  }
  if (step.action == Action::store_int32) store_words(pass, step.multiplier);
  pass.end(is_residue || step.action == Action::store_int32);
}

}  // namespace ozfp4::cuda
