// How the sm_100 kernels walk a schedule. CUTLASS's collectives end an output tile with their epilogue. So a chain that
// folds between its terms takes one launch, a *pass*, per fold. Pass p covers every unit with more than p folds: it sums the
// terms before fold p + 1 that no earlier pass has summed, and stores
//     out = ((sum + out * multiplier) * weight) mod m,
// where `out` on the right is the byte that the previous pass stored. Terms of equal weight continue along K within a pass.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/fold.hpp"
#include "arith/host_device.hpp"
#include "arith/multiples.hpp"
#include "cuda/launch.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/walk/tile_order.cuh"

namespace ozfp4::cuda::tcgen05 {

// Terms of all units in one pass; a plan has at most so many products.
inline constexpr int kMaxPassTerms = 256;
// Rows and columns of a tile of the output, which two multiprocessors compute.
inline constexpr int kTile = 256;
// Codes that the kernel of K = 96 instructions multiplies at a time: eight instructions, and three blocks. Zeros fill the last
// ones of a sum.
inline constexpr int kInstructionEntries96 = 96, kTileEntries96 = 768;
static_assert(kTileEntries96 % kInstructionEntries96 == 0 && kTileEntries96 % block_entries(Element::e2m1) == 0);
// Output matrices of one launch: CUTLASS's grid has one block along z for each.
inline constexpr int kMaxLaunchMatrices = kMostGridExtent;

// The grid of CUTLASS's scheduler has the longer side of a tall output along x, and of a wide one along y, which ends at
// kMostGridExtent tiles. Wider ones have it along x as well.
template <class Arguments>
void lay_out_grid(std::int32_t n, Arguments& scheduler) {
  using Order = decltype(scheduler.raster_order);
  if (ceil_div(n, kTile) > kMostGridExtent) scheduler.raster_order = Order::AlongN;
}

// One plane product over a range of K.
struct PassTerm {
  std::uint16_t a_plane, b_plane;
  std::int32_t k_begin, k_end;
};

// The loading and scheduling warps read this. Matrices are numbered as the output has them, plane * matrices + split * batches +
// batch. Each unit stores to one plane, so the plane identifies the unit.
struct Pass {
  Divisor matrices;  // of a plane
  Divisor batches;
  BatchMap batch;
  std::int32_t blocks_per_split;
  std::int32_t a_plane_step, b_plane_step;     // how many matrices of the operand lie between its planes
  std::int32_t plane_count;                    // of units that have this pass
  std::int32_t first_matrix, matrix_count;     // of this launch, of the plane_count * matrices that the pass computes
  std::int32_t unit_count, units_per_modulus;  // of the schedule, for walk/steps.cuh
  const int* moduli_used;                      // device, may be null
  std::uint8_t plane[kMaxUnits];               // which, in the order of their units
  std::uint8_t unit_of_plane[kMaxUnits];
  std::uint16_t first_term[kMaxUnits];  // by plane, as is term_end
  std::uint16_t term_end[kMaxUnits];
  PassTerm terms[kMaxPassTerms];
};

// ---- The epilogue's arithmetic on one accumulator --------------------------------------------------------------------------

// Constants of one unit in one pass. Precondition: 2 <= m <= 256, multiplier and weight in [0, m),
// bound + offset + (m - 1)^2 < 2^31, where bound is the one that `constants` were made for. For unsigned sums, bound and offset
// are 0, and the precondition is that the largest sum + (m - 1)^2 < 2^31.
struct PassFold {
  fold_constants constants = {};
  std::uint32_t multiplier = 0;  // of the residue that the previous pass left; 0 in the first pass
  std::uint32_t weight = 1;      // of the result
};

// Accumulators are 32-bit integers, or FP32 numbers that hold one. Precondition: |x| <= 2^24.
OZFP4_HD std::int32_t accumulated_integer(float x) { return static_cast<std::int32_t>(x); }
OZFP4_HD std::int32_t accumulated_integer(std::int32_t x) { return x; }

// (acc + previous * multiplier) mod m, in [0, m). Precondition: acc as the constants were made for, previous <= 255; any
// previous where the multiplier is 0.
OZFP4_HD std::uint32_t fold_sum(std::int32_t acc, std::uint32_t previous, const PassFold& f) {
  const std::uint32_t sum = static_cast<std::uint32_t>(acc) + f.constants.offset + previous * f.multiplier;
  return fold_unsigned(sum, f.constants);
}

// The same times the weight, in [0, m).
OZFP4_HD std::uint32_t fold_weighted_sum(std::int32_t acc, std::uint32_t previous, const PassFold& f) {
  return fold_unsigned(fold_sum(acc, previous, f) * f.weight, f.constants);
}

// The epilogue reads this.
struct PassFolds {
  Divisor matrices;
  PassFold fold[kMaxUnits];  // by plane
};

// ---- On the host ---------------------------------------------------------------------------------------------------------

// Passes of the longest chain.
int count_passes(const GemmProblem& problem);

// Precondition: a problem without an error (find_problem_error, find_pass_error), 0 <= index < count_passes(problem). One launch
// for all matrices: see launch_passes for where there are too many.
void make_pass(const GemmProblem& problem, int splits, int index, Pass* pass, PassFolds* folds);

// nullptr where these kernels take a problem that find_problem_error has nothing against, else the reason.
const char* find_pass_error(const GemmProblem& problem, const TileChoice& choice);

}  // namespace ozfp4::cuda::tcgen05
