#include <algorithm>

#include "cuda/encode/cut.cuh"
#include "cuda/encode/scale_encode.hpp"
#include "cuda/encode/scale_encode_kernel.cuh"
#include "cuda/launch.hpp"

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

template <class T, EncodeKind Kind, int Words>
void launch_kind(const EncodePlan& plan, ScaleEncodeArguments& arguments, cudaStream_t stream, bool overlap_previous) {
  EncodeArguments& encode = arguments.encode;
  std::copy_n(plan.unit, plan.units, encode.unit);
  encode.units = plan.units;
  encode.planes = plan.planes;
  encode.table_entries = plan.table_entries;
  TableOf<Kind> table;
  if constexpr (kHasLimbTable<Kind>) std::copy_n(plan.table, kMaxTableEntries, table.entry);

  LaunchConfig config;
  config.stage = Stage::scale_encode;
  config.grid = dim3(encode.tiles);
  config.block = dim3(kEncodeThreads);
  config.shared_bytes = scale_encode_shared_bytes<Kind>(arguments);
  config.cluster_blocks = arguments.cluster_blocks;
  config.overlap_previous = overlap_previous;
  config.stream = stream;
  launch(scale_encode_kernel<T, Kind, Words>, config, arguments, table);
}

// The tiles of an operand of lines of `inner` entries.
template <class T>
TileCut tile_of(int inner) {
  TileCut tile = cut_of(inner);
  // A thread for each line.
  tile.log_steps = std::min(tile.log_steps,
                            tile.log_tile_k + static_cast<int>(kLog<kEncodeThreads>) - static_cast<int>(kLog<kStepEntries<T>>));
  return tile;
}

template <class T>
bool has_code(const EncodePlan& plan) {
  return with_kind(plan, [](auto kind, auto words) {
    return code_has(scale_encode_kernel<T, kind.value, words.value>, CodeFeature::clusters);
  });
}

template <class T>
void launch_type(const EncodePlan& plan, const EncodeJob (&job)[2], ScaleEncodeArguments& arguments, cudaStream_t stream,
                 bool overlap_previous) {
  EncodeArguments& encode = arguments.encode;
  const TileCut tile = tile_of<T>(job[0].operand.inner);
  std::int64_t tiles[2], panels = 0;
  for (int i = 0; i < 2; ++i) {
    const EncodeOperand& operand = encode.operand[i] = cut_tiles<T>(job[i], plan.kind, tile);
    tiles[i] = std::int64_t(operand.line_tiles) * operand.k_tiles;
    panels += operand.line_tiles;
    encode.most_tile_lines = 1u << operand.log_tile_lines;
    encode.most_tile_bytes = static_cast<std::uint32_t>(operand.steps * kStepEntries<T> * sizeof(T));
  }
  encode.tiles_a = static_cast<std::uint32_t>(tiles[0]);
  encode.tiles = static_cast<std::uint32_t>(tiles[0] + tiles[1]);
  arguments.cluster_blocks = encode.operand[0].k_tiles;
  arguments.norms.blocks = static_cast<std::uint32_t>(panels);
  with_kind(plan,
            [&](auto kind, auto words) { launch_kind<T, kind.value, words.value>(plan, arguments, stream, overlap_previous); });
}

}  // namespace

bool can_scale_and_encode(const EncodePlan& plan, const DeviceOperand& a, const DeviceOperand& b) {
  if (plan.kind == EncodeKind::int8_limbs || a.type != b.type || a.type == ElementType::int8 || a.inner != b.inner ||
      cluster_blocks(a.inner, cut_of(a.inner)) > static_cast<std::int64_t>(kMaxClusterBlocks)) {
    return false;
  }
  const bool is_double = a.type == ElementType::float64;
  std::int64_t tiles = 0;
  for (const DeviceOperand* operand : {&a, &b}) {
    const EncodeJob job{*operand, nullptr, 0, operand->outer, {}};
    const EncodeOperand cut = is_double ? cut_tiles<double>(job, plan.kind, tile_of<double>(a.inner))
                                        : cut_tiles<float>(job, plan.kind, tile_of<float>(a.inner));
    tiles += std::int64_t(cut.line_tiles) * cut.k_tiles;
  }
  return tiles < (std::int64_t(1) << 31) && (is_double ? has_code<double>(plan) : has_code<float>(plan));
}

void launch_scale_encode(const EncodePlan& plan, const DeviceOperand& a, const DevicePlanes& planes_a, const DeviceOperand& b,
                         const DevicePlanes& planes_b, int capacity, const PrefixRule& rule, const DeviceScales& scales,
                         void* scratch, cudaStream_t stream, void* clear_counters) {
  const EncodeJob job[2] = {{a, scales.shift_a, 0, a.outer, planes_a}, {b, scales.shift_b, 0, b.outer, planes_b}};
  const bool is_clear = clear_counters != nullptr;
  if (!is_clear) {
    require_launched(cudaMemsetAsync(scratch, 0, sizeof(ScaleTotals), stream), Stage::scale_encode, "its counters");
  }
  ScaleEncodeArguments arguments{};
  arguments.shift[0] = scales.shift_a, arguments.shift[1] = scales.shift_b;
  arguments.special[0] = scales.special_a, arguments.special[1] = scales.special_b;
  arguments.norms.rule = rule;
  arguments.norms.totals = static_cast<ScaleTotals*>(is_clear ? clear_counters : scratch);
  arguments.norms.units_used = scales.units_used;
  arguments.norms.inner = static_cast<std::uint32_t>(a.inner);
  arguments.norms.capacity = capacity;
  a.type == ElementType::float64 ? launch_type<double>(plan, job, arguments, stream, is_clear)
                                 : launch_type<float>(plan, job, arguments, stream, is_clear);
}

}  // namespace ozfp4::cuda
