// The calls of csrc/cuda/launch.cpp to CUDA: the functions of the runtime are played here, with kernels that have code of any
// version.
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "cuda/launch.hpp"

using namespace ozfp4::cuda;

// ---- The runtime --------------------------------------------------------------------------------------------------------

namespace {

struct Launched {
  dim3 grid;
  std::size_t shared_bytes = 0;
  unsigned cluster_blocks = 0;
  bool overlaps = false;
  std::vector<int> arguments;
};

int device = 0, attribute_queries = 0, device_queries = 0, occupancy_queries = 0;
CodeVersion code;                                   // of every kernel, when it is asked about
std::map<std::pair<int, const void*>, int> limits;  // as set, by device and kernel
std::vector<int> limits_set;                        // in order
cudaError_t next_launch = cudaSuccess, last_error = cudaSuccess, query = cudaSuccess, cluster_query = cudaSuccess;
unsigned most_blocks = 256;  // of a device, in clusters
Launched launched;

}  // namespace

extern "C" {
cudaError_t cudaGetDevice(int* current) {
  *current = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  ++device_queries;
  *value = which == cudaDevAttrMultiProcessorCount                ? 132 - device
           : which == cudaDevAttrSingleToDoublePrecisionPerfRatio ? (device % 2 == 0 ? 2 : 64)
                                                                  : 100000 + device;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  ++attribute_queries;
  *attributes = {};
  attributes->ptxVersion = code.ptx;
  attributes->binaryVersion = code.binary;
  attributes->maxDynamicSharedSizeBytes = 48 * 1024;
  return last_error = query;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int bytes) {
  limits[{device, kernel}] = bytes;
  limits_set.push_back(bytes);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, std::size_t) {
  ++occupancy_queries;
  *blocks = 1024 / threads;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t* config) {
  ++occupancy_queries;
  const bool asks_clusters = config->numAttrs == 1 && config->attrs[0].id == cudaLaunchAttributeClusterDimension;
  *clusters = asks_clusters ? static_cast<int>(most_blocks / config->attrs[0].val.clusterDim.x) : 0;
  return last_error = cluster_query;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void** arguments) {
  launched = {};
  launched.grid = config->gridDim;
  launched.shared_bytes = config->dynamicSmemBytes;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension) launched.cluster_blocks = attribute.val.clusterDim.x;
    if (attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization) launched.overlaps = true;
  }
  for (int i = 0; i < 2; ++i) launched.arguments.push_back(*static_cast<int*>(arguments[i]));
  return last_error = std::exchange(next_launch, cudaSuccess);
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidValue ? "invalid argument" : error == cudaErrorNotSupported ? "not supported" : "an error";
}
}

namespace {

// Kernels: never called, told apart by their addresses.
template <int kNumber>
void kernel(int, const int) {
  std::printf("%d", kNumber);
}

// ---- Checks ---------------------------------------------------------------------------------------------------------------

void check_versions() {
  struct Row {
    CodeVersion code;
    bool expected;
    const char* name;
  };
  const Row rows[] = {{{80, 90}, false, "PTX of sm_80 on an H200"},
                      {{80, 80}, false, "sm_80"},
                      {{89, 120}, false, "PTX of sm_89 on an RTX 50"},
                      {{86, 86}, false, "sm_86"},
                      {{90, 90}, true, "sm_90a"},
                      {{90, 100}, true, "PTX of sm_90 on a B200"},
                      {{100, 103}, true, "sm_100f on a B300"},
                      {{120, 120}, true, "sm_120f"},
                      {{0, 0}, false, "unknown"}};
  for (const Row& row : rows) {
    report(std::string("clusters in code of ") + row.name, code_has(row.code, CodeFeature::clusters) == row.expected);
    report(std::string("overlap in code of ") + row.name, code_has(row.code, CodeFeature::dependent_launch) == row.expected);
  }
  static_assert(OZFP4_IS_SM90_CODE == 0, "host code is no device code");
}

LaunchConfig config_of(Stage stage) {
  LaunchConfig config;
  config.stage = stage;
  config.grid = dim3(7, 2, 3);
  config.block = dim3(256);
  return config;
}

std::string error_of(const LaunchConfig& config) {
  try {
    launch(kernel<9>, config, 1, 2);
  } catch (const LaunchError& error) {
    report("the stage of an error", error.stage() == config.stage);
    return error.what();
  }
  return "";
}

void check_code_decides() {
  LaunchConfig config = config_of(Stage::scale_encode);
  config.overlap_previous = true;
  code = {90, 90};
  config.cluster_blocks = 4;
  launch(kernel<0>, config, 5, 6);
  report("new code", launched.overlaps && launched.cluster_blocks == 4 && code_has(kernel<0>, CodeFeature::clusters));
  report("grid and arguments", launched.grid.x == 7 && launched.grid.z == 3 && launched.arguments == std::vector<int>{5, 6});
  code = {80, 90};  // on the same device
  config.cluster_blocks = 0;
  launch(kernel<1>, config, 1, 2);
  report("old code overlaps nothing", !launched.overlaps && launched.cluster_blocks == 0);
  report("old code has no clusters", !code_has(kernel<1>, CodeFeature::clusters));
  config.cluster_blocks = 1;
  report("clusters of old code are refused", [&] {
    try {
      launch(kernel<1>, config, 1, 2);
    } catch (const LaunchError& error) {
      return error.error() == cudaErrorNotSupported;
    }
    return false;
  }());
  device = 1;  // of another kind, with other code of the same kernel
  code = {90, 90};
  report("code by device", code_has(kernel<1>, CodeFeature::clusters));
  device = 0;
  query = cudaErrorNoKernelImageForDevice;
  report("no code has nothing", !code_has(kernel<2>, CodeFeature::clusters) && last_error == cudaSuccess);
  query = cudaSuccess;
}

// Clusters of a device, of code that has them; blocks for a launch without clusters.
void check_clusters(LaunchConfig config) {
  device = 3;
  config.cluster_blocks = 0;
  report("blocks of a device", resident_clusters(kernel<3>, config) == 4 * (132 - device));
  device = 1;
  code = {90, 90};
  const int occupancies = occupancy_queries;
  for (const unsigned blocks : {8u, 4u, 8u, 4u}) {
    config.cluster_blocks = blocks;
    report("clusters of a device", resident_clusters(kernel<4>, config) == static_cast<int>(256 / blocks));
  }
  report("they are asked for once", occupancy_queries == occupancies + 2);
  device = 2;
  code = {80, 90};
  bool is_refused = false;
  try {
    resident_clusters(kernel<4>, config);
  } catch (const LaunchError& error) {
    is_refused = error.error() == cudaErrorNotSupported;
  }
  report("no clusters in older code", is_refused);
  const int queries = occupancy_queries;
  report("older code holds none", !holds_cluster(kernel<4>, config) && occupancy_queries == queries);
  device = 4;
  code = {90, 90};
  most_blocks = 6;
  config.cluster_blocks = 8;
  report("a device that holds no such cluster", !holds_cluster(kernel<4>, config) && last_error == cudaSuccess);
  config.cluster_blocks = 4;
  report("a device that holds a smaller one", holds_cluster(kernel<4>, config));
  cluster_query = cudaErrorInvalidClusterSize;
  config.cluster_blocks = 2;
  report("a cluster that CUDA refuses", !holds_cluster(kernel<4>, config) && last_error == cudaSuccess);
  cluster_query = cudaSuccess;
  most_blocks = 256;
  device = 0;
}

void check_shared_memory() {
  LaunchConfig config = config_of(Stage::encode);
  limits_set.clear();
  const int queries = attribute_queries, occupancies = occupancy_queries;
  for (const int kib : {40, 48, 64, 20, 96, 64, 96, 48}) {
    config.shared_bytes = 1024 * kib;
    report("blocks of a multiprocessor", blocks_per_multiprocessor(kernel<3>, config) == 4);
    launch(kernel<3>, config, 1, 2);
    report("shared memory of the launch", launched.shared_bytes == static_cast<std::size_t>(config.shared_bytes));
  }
  report("the limit is only raised", limits_set == std::vector<int>{64 * 1024, 96 * 1024});
  report("a kernel is asked about once", attribute_queries == queries + 1);
  report("its blocks of each size once", occupancy_queries == occupancies + 5);
  check_clusters(config);
  config.block = dim3(512);
  report("blocks of another number of threads", blocks_per_multiprocessor(kernel<3>, config) == 2);
  config.block = config_of(Stage::encode).block;
  device = 1;
  config.shared_bytes = 50 * 1024;
  launch(kernel<3>, config, 1, 2);
  report("a limit for each device", limits[{1, reinterpret_cast<const void*>(kernel<3>)}] == 50 * 1024);
  device = 0;
  launch(kernel<4>, config, 1, 2);
  report("a limit for each kernel", limits[{0, reinterpret_cast<const void*>(kernel<4>)}] == 50 * 1024);
}

void check_devices() {
  const int queries = device_queries;
  for (const int each : {0, 1, 0, 1, 100, 100}) {  // of devices beyond those that are kept each time
    device = each;
    const LaunchDevice found = current_device(Stage::multiply);
    report("multiprocessors of a device", found.index == each && found.multiprocessors == 132 - each);
    report("shared memory of a device", found.shared_bytes == 100000 + each);
    report("the rate of FP64 of a device", found.has_fast_fp64 == (each % 2 == 0));
  }
  report("a device is asked once", device_queries == queries + 3 * 4);
  device = 0;
}

void check_errors() {
  LaunchConfig config = config_of(Stage::multiply);
  config.detail = "wgmma s8 sm_90a";
  next_launch = cudaErrorInvalidValue;
  report("an error names stage and kernel", error_of(config) == "ozfp4: launching multiply (wgmma s8 sm_90a): invalid argument");
  report("CUDA's note of it is cleared", last_error == cudaSuccess);
  const std::pair<Stage, const char*> names[] = {{Stage::scale, "scale"},
                                                 {Stage::encode, "encode"},
                                                 {Stage::scale_encode, "scale and encode"},
                                                 {Stage::multiply, "multiply"},
                                                 {Stage::reconstruct, "reconstruct"}};
  for (const auto& [stage, name] : names) {
    next_launch = cudaErrorInvalidValue;
    report(name, error_of(config_of(stage)) == std::string("ozfp4: launching ") + name + ": invalid argument");
  }
  report("no error", error_of(config_of(Stage::scale)).empty());
  config.block = dim3(2048);
  try {
    blocks_per_multiprocessor(kernel<3>, config);
    report("a block that no multiprocessor holds", false);
  } catch (const LaunchError& error) {
    report("a block that no multiprocessor holds", error.error() == cudaErrorInvalidConfiguration);
  }
}

}  // namespace

int main() {
  check_versions();
  check_code_decides();
  check_shared_memory();
  check_devices();
  check_errors();
  return finish();
}
