#include "cuda/launch.hpp"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace ozfp4::cuda {
namespace {

// The facts of a kernel on a device.
struct KernelFacts {
  CodeVersion code;
  int shared_limit = 0;                         // on dynamic shared memory, in bytes; only ever raised
  std::map<std::pair<int, int>, int> resident;  // by threads and dynamic shared memory of a block: blocks of a multiprocessor
  std::map<std::tuple<int, int, unsigned>, int> clusters;  // by these and the blocks of a cluster: clusters of the device
};

// Guards the facts and the limit itself, so that a smaller limit never follows a larger one.
std::mutex facts_lock;
std::map<std::pair<int, const void*>, KernelFacts> known_facts;

// Precondition: the caller holds facts_lock.
cudaError_t find_facts(const void* kernel, KernelFacts** facts) {
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  const std::pair<int, const void*> key(device, kernel);
  auto found = known_facts.find(key);
  if (found == known_facts.end()) {
    cudaFuncAttributes attributes{};
    if (const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel); error != cudaSuccess) return error;
    const KernelFacts read{{attributes.ptxVersion, attributes.binaryVersion}, attributes.maxDynamicSharedSizeBytes, {}, {}};
    found = known_facts.emplace(key, read).first;
  }
  *facts = &found->second;
  return cudaSuccess;
}

// The facts of the kernel; raises the limit on dynamic shared memory to what the launch needs. Precondition: as find_facts.
KernelFacts& prepare(const void* kernel, const LaunchConfig& config) {
  KernelFacts* facts = nullptr;
  require_launched(find_facts(kernel, &facts), config.stage, config.detail);
  if (config.shared_bytes > facts->shared_limit) {
    require_launched(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, config.shared_bytes), config.stage,
                     config.detail);
    facts->shared_limit = config.shared_bytes;
  }
  return *facts;
}

CodeVersion prepared_code(const void* kernel, const LaunchConfig& config) {
  const std::lock_guard<std::mutex> lock(facts_lock);
  return prepare(kernel, config).code;
}

LaunchDevice ask_device(int index, Stage stage) {
  LaunchDevice device;
  device.index = index;
  int ratio = 0;  // FP32 operations for one of FP64
  require_launched(cudaDeviceGetAttribute(&device.multiprocessors, cudaDevAttrMultiProcessorCount, index), stage);
  require_launched(cudaDeviceGetAttribute(&device.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, index), stage);
  require_launched(cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, index), stage);
  device.has_fast_fp64 = ratio <= 2;
  return device;
}

std::string describe(Stage stage, cudaError_t error, const char* detail) {
  const std::string what = detail == nullptr ? std::string() : std::string(" (") + detail + ")";
  return std::string("ozfp4: launching ") + stage_name(stage) + what + ": " + cudaGetErrorString(error);
}

}  // namespace

const char* stage_name(Stage stage) {
  switch (stage) {
    case Stage::scale: return "scale";
    case Stage::encode: return "encode";
    case Stage::scale_encode: return "scale and encode";
    case Stage::multiply: return "multiply";
    case Stage::accumulate: return "the sum over pieces of K";
    case Stage::reconstruct: return "reconstruct";
    case Stage::direct: return "a product in machine words";
    case Stage::repair: return "repair";
  }
  return "an unknown stage";
}

LaunchError::LaunchError(Stage stage, cudaError_t error, const char* detail)
    : std::runtime_error(describe(stage, error, detail)), stage_(stage), error_(error) {
  cudaGetLastError();
}

LaunchDevice current_device(Stage stage) {
  constexpr int kKept = 64;  // devices that are asked once
  static std::once_flag is_asked[kKept];
  static LaunchDevice kept[kKept];
  int index = 0;
  require_launched(cudaGetDevice(&index), stage);
  if (index >= kKept) return ask_device(index, stage);
  std::call_once(is_asked[index], [&] { kept[index] = ask_device(index, stage); });
  return kept[index];
}

void launch(AnyKernel kernel, const LaunchConfig& config, void** arguments) {
  const CodeVersion code = prepared_code(kernel.address, config);
  cudaLaunchAttribute attribute[2] = {};
  cudaLaunchConfig_t launched{};
  launched.gridDim = config.grid;
  launched.blockDim = config.block;
  launched.dynamicSmemBytes = static_cast<std::size_t>(config.shared_bytes);
  launched.stream = config.stream;
  launched.attrs = attribute;
  if (config.cluster_blocks > 0) {
    if (!code_has(code, CodeFeature::clusters)) throw LaunchError(config.stage, cudaErrorNotSupported, config.detail);
    cudaLaunchAttribute& cluster = attribute[launched.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = config.cluster_blocks;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  }
  // Code that cannot wait would read what the previous kernel has not written yet.
  if (config.overlap_previous && code_has(code, CodeFeature::dependent_launch)) {
    cudaLaunchAttribute& overlap = attribute[launched.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  require_launched(cudaLaunchKernelExC(&launched, kernel.address, arguments), config.stage, config.detail);
}

int blocks_per_multiprocessor(AnyKernel kernel, const LaunchConfig& config) {
  const std::lock_guard<std::mutex> lock(facts_lock);
  KernelFacts& facts = prepare(kernel.address, config);
  const auto threads = static_cast<int>(config.block.x * config.block.y * config.block.z);
  int& known = facts.resident[{threads, config.shared_bytes}];
  if (known > 0) return known;
  int blocks = 0;
  require_launched(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.address, threads,
                                                                 static_cast<std::size_t>(config.shared_bytes)),
                   config.stage, config.detail);
  if (blocks < 1) throw LaunchError(config.stage, cudaErrorInvalidConfiguration, config.detail);
  return known = blocks;
}

int resident_clusters(AnyKernel kernel, const LaunchConfig& config) {
  if (config.cluster_blocks == 0) {
    return blocks_per_multiprocessor(kernel, config) * current_device(config.stage).multiprocessors;
  }
  const std::lock_guard<std::mutex> lock(facts_lock);
  KernelFacts& facts = prepare(kernel.address, config);
  if (!code_has(facts.code, CodeFeature::clusters)) throw LaunchError(config.stage, cudaErrorNotSupported, config.detail);
  int& known = facts.clusters[{static_cast<int>(config.block.x), config.shared_bytes, config.cluster_blocks}];
  if (known > 0) return known;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {config.cluster_blocks, 1, 1};
  cudaLaunchConfig_t asked{};
  asked.gridDim = dim3(config.cluster_blocks);
  asked.blockDim = config.block;
  asked.dynamicSmemBytes = static_cast<std::size_t>(config.shared_bytes);
  asked.attrs = &attribute;
  asked.numAttrs = 1;
  int clusters = 0;
  require_launched(cudaOccupancyMaxActiveClusters(&clusters, kernel.address, &asked), config.stage, config.detail);
  if (clusters < 1) throw LaunchError(config.stage, cudaErrorInvalidConfiguration, config.detail);
  return known = clusters;
}

bool holds_cluster(AnyKernel kernel, const LaunchConfig& config) {
  if (!code_has(code_version(kernel), CodeFeature::clusters)) return false;
  try {
    return resident_clusters(kernel, config) > 0;
  } catch (const LaunchError&) {  // CUDA finds no room for the block or for the cluster
    return false;
  }
}

CodeVersion code_version(AnyKernel kernel) {
  const std::lock_guard<std::mutex> lock(facts_lock);
  KernelFacts* facts = nullptr;
  if (find_facts(kernel.address, &facts) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  return facts->code;
}

}  // namespace ozfp4::cuda
