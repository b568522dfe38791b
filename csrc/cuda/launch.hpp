// The only place that launches kernels: shared memory, clusters, overlap with the kernel before, and errors that name the stage.
// A launch may use what the kernel's code has (cuda/code.hpp), whatever the device could do.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "cuda/code.hpp"

namespace ozfp4::cuda {

enum class Stage : std::uint8_t { scale, encode, scale_encode, multiply, accumulate, reconstruct, direct, repair };
const char* stage_name(Stage stage);

// "ozfp4: launching multiply (wgmma s8 sm_90a): invalid argument". CUDA's own note of the error is cleared: else the caller's
// next look for errors, in work that has nothing to do with it, would find this one.
class LaunchError : public std::runtime_error {
 public:
  LaunchError(Stage stage, cudaError_t error, const char* detail = nullptr);
  Stage stage() const { return stage_; }
  cudaError_t error() const { return error_; }

 private:
  Stage stage_;
  cudaError_t error_;
};

// Throws LaunchError unless the call of CUDA went well. `detail`: which kernel of the stage, or what for; may be null.
inline void require_launched(cudaError_t error, Stage stage, const char* detail = nullptr) {
  if (error != cudaSuccess) throw LaunchError(stage, error, detail);
}

// The current device.
struct LaunchDevice {
  int index = 0, multiprocessors = 0;
  int shared_bytes = 0;        // that a block may have
  bool has_fast_fp64 = false;  // at half the rate of FP32, which B300 has not, though it runs code for B200
};
LaunchDevice current_device(Stage stage);

inline constexpr int kMostGridExtent = 65535;  // of a grid along y and z

struct LaunchConfig {
  LaunchConfig() = default;
  LaunchConfig(Stage of, const char* named, int threads, cudaStream_t on, bool overlaps = false)
      : stage(of), detail(named), block(static_cast<unsigned>(threads)), overlap_previous(overlaps), stream(on) {}

  Stage stage = Stage::scale;
  const char* detail = nullptr;  // see require_launched
  dim3 grid, block;
  int shared_bytes = 0;           // dynamic; the kernel's limit is raised where it is below
  unsigned cluster_blocks = 0;    // along x; 0: the kernel does not ask for clusters
  bool overlap_previous = false;  // programmatic dependent launch: start while the previous kernel of the stream ends, where
                                  // the kernel's code can wait for it; behind it like any other elsewhere
  cudaStream_t stream = nullptr;
};

// The address of a kernel of any parameters.
struct AnyKernel {
  template <class... Parameters>
  AnyKernel(void (*kernel)(Parameters...)) : address(reinterpret_cast<const void*>(kernel)) {}
  const void* address;
};

// Enqueues the kernel; neither synchronises nor allocates on the device; may be captured. Throws LaunchError, with
// cudaErrorNotSupported where clusters are asked of code that has none.
void launch(AnyKernel kernel, const LaunchConfig& config, void** arguments);
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchConfig& config, const Arguments&... arguments) {
  static_assert((std::is_same_v<std::remove_const_t<Parameters>, Arguments> && ...), "arguments are passed by their address");
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  launch(AnyKernel(kernel), config, addresses);
}

// How many blocks of the launch a multiprocessor holds at a time, at least 1. Throws LaunchError.
int blocks_per_multiprocessor(AnyKernel kernel, const LaunchConfig& config);

// How many clusters of the launch the current device holds at a time, blocks for a launch without clusters, at least 1. Throws
// LaunchError.
int resident_clusters(AnyKernel kernel, const LaunchConfig& config);

// Whether a launch in clusters can run: the kernel's code has them, and the current device holds one of the launch.
bool holds_cluster(AnyKernel kernel, const LaunchConfig& config);

// The version of the kernel's code that runs on the current device; unknown where there is none.
CodeVersion code_version(AnyKernel kernel);
inline bool code_has(AnyKernel kernel, CodeFeature feature) { return code_has(code_version(kernel), feature); }

}  // namespace ozfp4::cuda
