// Instantiates and launches the variants of one atom and one loader.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

#include "multiply/warp_kernel.cuh"
#include "multiply/warp_shapes.hpp"
#include "multiply/warp_variants.hpp"

namespace ozfp4::cuda::warp {

template <class Atom, class Loader, int kShape>
using Variant = Config<Atom, Loader, kShapes[kShape].m, kShapes[kShape].n, kShapes[kShape].warps_m, kShapes[kShape].warps_n,
                       kShapes[kShape].row_bytes, stage_count(kShapes[kShape], Loader::kExtraStages), kShapes[kShape].blocks>;

// The limit on dynamic shared memory is raised once per variant and device.
template <class C>
cudaError_t raise_shared_limit(int device) {
  static std::atomic<std::uint64_t> done{0};
  const std::uint64_t bit = std::uint64_t(1) << (device % 64);
  if (device < 64 && (done.load(std::memory_order_relaxed) & bit) != 0) return cudaSuccess;
  const cudaError_t error =
      cudaFuncSetAttribute(warp_gemm_kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes);
  if (error == cudaSuccess) done.fetch_or(bit, std::memory_order_relaxed);
  return error;
}

template <class C>
cudaError_t launch_variant(const WarpParams& params, const Launch& launch) {
  if (const cudaError_t error = raise_shared_limit<C>(launch.device)) return error;
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(launch.blocks));
  config.blockDim = dim3(C::kThreads);
  config.dynamicSmemBytes = C::kSharedBytes;
  config.stream = launch.stream;
  config.attrs = &overlap;
  config.numAttrs = launch.overlap_previous ? 1 : 0;
  return cudaLaunchKernelEx(&config, warp_gemm_kernel<C>, params);
}

template <class Atom, class Loader>
cudaError_t launch_family(const WarpParams& params, const Launch& launch) {
  using Launcher = cudaError_t (*)(const WarpParams&, const Launch&);
  static constexpr Launcher launchers[kTileShapes] = {
      launch_variant<Variant<Atom, Loader, 0>>, launch_variant<Variant<Atom, Loader, 1>>,
      launch_variant<Variant<Atom, Loader, 2>>, launch_variant<Variant<Atom, Loader, 3>>,
      launch_variant<Variant<Atom, Loader, 4>>, launch_variant<Variant<Atom, Loader, 5>>};
  return launchers[static_cast<int>(launch.shape)](params, launch);
}

}  // namespace ozfp4::cuda::warp
