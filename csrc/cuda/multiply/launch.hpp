// The kernels of multiply as multiply/registry.cpp starts them: what the hopper and mma_sync kernels receive, how their variants
// are launched, and the functions that do so.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "cuda/launch.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/registry.hpp"
#include "cuda/multiply/walk/tile_order.cuh"

namespace ozfp4::cuda {

// A problem, made ready for whatever way they load and store it.
struct MultiplyParams {
  CUtensorMap a_map, b_map, out_map;  // for kernels that load, and that store bytes, by TMA
  PlaneArray a, b;                    // for those that load by cp.async
  TileOrder order;
  Divisor batches;
  BatchMap batch;
  std::int32_t m, n;
  std::int32_t k_bytes;           // of a row
  std::int32_t blocks_per_split;  // of K, 128 bytes each
  std::int32_t wave_slot;         // negative: blocks are not kept together, see hopper/producer.cuh
  std::uint8_t* out_bytes;        // one of the two is null
  std::int32_t* out_int32;
  std::int64_t out_pitch, out_matrix_stride;
  std::uint32_t out_matrices;  // splits * batches: matrices per out plane
  std::int32_t unit_count, units_per_modulus;
  const int* moduli_used;
  const GemmStep* device_steps;
  std::int32_t unit_begin[kMaxUnits + 1];
  GemmStep steps[kMaxInlineSteps];
};
static_assert(sizeof(MultiplyParams) < 32764, "the limit of a kernel's parameters");

// Launches the variant of a kernel for a tile and an element; `how` has all but the threads and the shared memory of a block.
using Start = void (*)(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);

// Throws LaunchError. Precondition: as launch_gemm.
void launch_params(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream, Start start);

// The same as a Launch.
template <Start start>
void launch_with(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream) {
  launch_params(row, problem, choice, stream, start);
}

// Launches the kernel of one configuration.
template <class Config>
void start_config(void (*kernel)(MultiplyParams), const MultiplyParams& params, LaunchConfig how) {
  how.block = dim3(Config::kThreads);
  how.shared_bytes = Config::kSharedBytes;
  launch(kernel, how, params);
}

// Calls start(number) with the number of the shape as a constant: one of those of the sequence.
template <int... kShapes, class Start>
void with_shape(std::integer_sequence<int, kShapes...>, TileShape shape, const Start& start) {
  ((static_cast<int>(shape) == kShapes ? start(std::integral_constant<int, kShapes>()) : void()), ...);
}

}  // namespace ozfp4::cuda

// ---- What the sources of the kernels define ------------------------------------------------------------------------------

namespace ozfp4::cuda::hopper {
void start(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
}

namespace ozfp4::cuda::mma_sync {
void start_mma_copy(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
void start_mma_bulk(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
void start_mma_fp4(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
void start_stand_in_copy(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
void start_stand_in_bulk(const MultiplyParams& params, TileShape shape, Element element, const LaunchConfig& how);
}  // namespace ozfp4::cuda::mma_sync

// Through CUTLASS, not run on hardware. Only splits and overlap_previous of the choice count. One launch per fold of the longest
// chain, more beyond kMaxLaunchMatrices. Precondition: also what find_pass_error has nothing against.
namespace ozfp4::cuda::tcgen05 {
void launch_fp4(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);
void launch_fp4_96(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);
void launch_bytes(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);
}  // namespace ozfp4::cuda::tcgen05
