#include <algorithm>
#include <atomic>

#include "encode/cuda_scale_encode.hpp"
#include "encode/encode_cut.cuh"
#include "encode/scale_encode_kernel.cuh"

namespace ozfp4::cuda {
namespace {

// Tiles of 32 KiB for short lines, so that there are enough of them; of 64 KiB for long ones, so that a cluster holds them.
// Measured on an H200, A by rows and B by columns, K from 1024 to 8192.
TileCut cut_of(int inner) {
  TileCut cut{kMinLogTileK, inner <= 1024 ? 1 : 2};
  const int most = inner <= 1024 ? 9 : 10;
  while (cut.log_tile_k < most && (1 << cut.log_tile_k) < inner) ++cut.log_tile_k;
  return cut;
}

std::int64_t cluster_blocks(int inner, const TileCut& cut) { return ceil_div(inner, std::int64_t(1) << cut.log_tile_k); }

// The limit on dynamic shared memory is raised once per kernel and device.
template <class T, EncodeKind Kind, int Words>
cudaError_t raise_shared_limit() {
  static std::atomic<std::uint64_t> done{0};
  // More than any tile, its sums and the longest table need, and what every device with clusters has.
  constexpr int most_bytes = 96 * 1024;
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  const std::uint64_t bit = std::uint64_t(1) << (device % 64);
  if (device < 64 && (done.load(std::memory_order_relaxed) & bit) != 0) return cudaSuccess;
  const cudaError_t error =
      cudaFuncSetAttribute(scale_encode_kernel<T, Kind, Words>, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes);
  if (error == cudaSuccess) done.fetch_or(bit, std::memory_order_relaxed);
  return error;
}

template <class T, EncodeKind Kind, int Words>
cudaError_t launch(const EncodePlan& plan, ScaleEncodeArguments& arguments, cudaStream_t stream, bool overlap_previous) {
  EncodeArguments& encode = arguments.encode;
  std::copy_n(plan.unit, plan.units, encode.unit);
  encode.units = plan.units;
  encode.planes = plan.planes;
  encode.table_entries = plan.table_entries;
  TableOf<Kind> table;
  if constexpr (kHasLimbTable<Kind>) std::copy_n(plan.table, kMaxTableEntries, table.entry);

  const auto kernel = scale_encode_kernel<T, Kind, Words>;
  const int shared_bytes = scale_encode_shared_bytes<Kind>(arguments);
  if (const cudaError_t error = raise_shared_limit<T, Kind, Words>(); error != cudaSuccess) return error;
  cudaLaunchAttribute attribute[2] = {};
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = arguments.cluster_blocks;
  attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
  attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(encode.tiles);
  config.blockDim = dim3(kEncodeThreads);
  config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = overlap_previous ? 2 : 1;
  return cudaLaunchKernelEx(&config, kernel, arguments, table);
}

template <class T>
cudaError_t launch_type(const EncodePlan& plan, const EncodeJob (&job)[2], ScaleEncodeArguments& arguments, cudaStream_t stream,
                        bool overlap_previous) {
  EncodeArguments& encode = arguments.encode;
  TileCut tile = cut_of(job[0].operand.inner);
  // A thread for each line.
  tile.log_steps = std::min(tile.log_steps,
                            tile.log_tile_k + static_cast<int>(kLog<kEncodeThreads>) - static_cast<int>(kLog<kStepEntries<T>>));
  std::int64_t tiles[2], panels = 0;
  for (int i = 0; i < 2; ++i) {
    const EncodeOperand& operand = encode.operand[i] = cut_tiles<T>(job[i], plan.kind, tile);
    tiles[i] = std::int64_t(operand.line_tiles) * operand.k_tiles;
    panels += operand.line_tiles;
    encode.most_tile_lines = 1u << operand.log_tile_lines;
    encode.most_tile_bytes = static_cast<std::uint32_t>(operand.steps * kStepEntries<T> * sizeof(T));
  }
  if (tiles[0] + tiles[1] >= (std::int64_t(1) << 31)) return cudaErrorInvalidValue;
  encode.tiles_a = static_cast<std::uint32_t>(tiles[0]);
  encode.tiles = static_cast<std::uint32_t>(tiles[0] + tiles[1]);
  arguments.cluster_blocks = encode.operand[0].k_tiles;
  arguments.norms.blocks = static_cast<std::uint32_t>(panels);
  return with_kind(
      plan, [&](auto kind, auto words) { return launch<T, kind.value, words.value>(plan, arguments, stream, overlap_previous); });
}

}  // namespace

bool can_scale_and_encode(const EncodePlan& plan, const DeviceOperand& a, const DeviceOperand& b) {
  return plan.kind != EncodeKind::int8_limbs && a.type == b.type && a.type != ElementType::int8 &&
         cluster_blocks(a.inner, cut_of(a.inner)) <= static_cast<std::int64_t>(kMaxClusterBlocks);
}

bool has_clusters() {
  int device = 0, major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major >= 9;
}

cudaError_t launch_scale_encode(const EncodePlan& plan, const DeviceOperand& a, const DevicePlanes& planes_a,
                                const DeviceOperand& b, const DevicePlanes& planes_b, int capacity, const PrefixRule& rule,
                                const DeviceScales& scales, void* scratch, cudaStream_t stream, void* clear_counters) {
  const EncodeJob job[2] = {{a, scales.shift_a, 0, a.outer, planes_a}, {b, scales.shift_b, 0, b.outer, planes_b}};
  if (!is_in_range(job[0], plan.kind) || !is_in_range(job[1], plan.kind) || !can_scale_and_encode(plan, a, b) ||
      a.inner != b.inner || a.outer < 1 || b.outer < 1 || rule.all > kMaxModuli || capacity < 2 || capacity > 53) {
    return cudaErrorInvalidValue;
  }
  const bool is_clear = clear_counters != nullptr;
  if (!is_clear) {
    const cudaError_t error = cudaMemsetAsync(scratch, 0, sizeof(ScaleTotals), stream);
    if (error != cudaSuccess) return error;
  }
  ScaleEncodeArguments arguments{};
  arguments.shift[0] = scales.shift_a, arguments.shift[1] = scales.shift_b;
  arguments.special[0] = scales.special_a, arguments.special[1] = scales.special_b;
  arguments.norms.rule = rule;
  arguments.norms.totals = static_cast<ScaleTotals*>(is_clear ? clear_counters : scratch);
  arguments.norms.units_used = scales.units_used;
  arguments.norms.inner = static_cast<std::uint32_t>(a.inner);
  arguments.norms.capacity = capacity;
  return a.type == ElementType::float64 ? launch_type<double>(plan, job, arguments, stream, is_clear)
                                        : launch_type<float>(plan, job, arguments, stream, is_clear);
}

}  // namespace ozfp4::cuda
