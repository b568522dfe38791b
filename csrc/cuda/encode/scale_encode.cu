#include <algorithm>
#include <type_traits>

#include "cuda/encode/cut.cuh"
#include "cuda/encode/scale_encode.hpp"
#include "cuda/encode/scale_encode_kernel.cuh"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

constexpr int kMostLogTileK = 10;

// Tiles of 32 KiB for short lines, so that there are enough of them; of 64 KiB for long ones, so that a cluster holds them.
// Measured on an H200, A by rows and B by columns, K from 256 to 8192.
TileCut cut_of(int inner) {
  // A last tile of 1024 would be mostly empty: 1152 x 1152 takes 31 us in place of 39, 1536 x 1536 43 in place of 46.
  if (inner > 1024 && inner <= 7 * 256) return {8, 1};
  TileCut cut{kMinLogTileK, inner <= 1024 ? 1 : 2};
  const int most = inner <= 1024 ? 9 : kMostLogTileK;
  while (cut.log_tile_k < most && (1 << cut.log_tile_k) < inner) ++cut.log_tile_k;
  return cut;
}

std::int64_t cluster_blocks(int inner, const TileCut& cut) { return ceil_div(inner, std::int64_t(1) << cut.log_tile_k); }

// Of operands that are cut.
template <EncodeKind Kind, int Words, class State>
LaunchConfig config_of(const EncodePlan& plan, ScaleEncodeArguments& arguments) {
  set_plan(arguments.encode, plan);
  LaunchConfig config;
  config.stage = Stage::scale_encode;
  config.grid = dim3(arguments.encode.tiles);
  config.block = dim3(kEncodeThreads);
  config.shared_bytes = scale_encode_shared_bytes<Kind, Words, State>(arguments);
  config.cluster_blocks = arguments.cluster_blocks;
  return config;
}

template <class T, EncodeKind Kind, int Words, class State>
void launch_kind(const EncodePlan& plan, ScaleEncodeArguments& arguments, cudaStream_t stream, bool overlap_previous) {
  LaunchConfig config = config_of<Kind, Words, State>(plan, arguments);
  arguments.encode.has_fast_fp64 = current_device(config.stage).has_fast_fp64;
  config.overlap_previous = overlap_previous;
  config.stream = stream;
  launch(scale_encode_kernel<T, Kind, Words, State>, config, arguments, table_of<Kind>(plan));
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

template <bool Recorded>
using StateOf = std::conditional_t<Recorded, ShortRecordedState, LineState>;
static_assert(kMaxClusterBlocks << kMostLogTileK <= kMostShortEntries, "the longest lines of a cluster");

// The kernels that there are: of integers of one and two words without records, as many as scale and encode apart have; with
// records those of "standard", residues of FP64 entries in two words and of FP32 ones in one.
// None counts rounded entries: integers of which those count are longer.
template <class T, EncodeKind Kind, int Words, bool Recorded>
constexpr bool has_kernel() {
  if (is_of_pairs(Kind)) return false;  // of complex products scale sees more lines than encode
  if (!Recorded) return Words <= 2;
  const bool is_residue = !kHasDigits13<Kind> && Kind != EncodeKind::digits256;
  return is_residue && Words == (sizeof(T) == 8 ? 2 : 1);
}

// Calls launch(kind, words, recorded) with std::integral_constants where there is a kernel.
template <class T, class Launch>
void with_kernel(const EncodePlan& plan, bool has_records, const Launch& launch) {
  with_kind<1, 2, 3, kMaxByteWords>(plan, [&](auto kind, auto words) {
    const auto try_kernel = [&](auto recorded) {
      if constexpr (has_kernel<T, kind.value, words.value, recorded.value>()) {
        if (has_records == recorded.value) launch(kind, words, recorded);
      }
    };
    try_kernel(std::false_type());
    try_kernel(std::true_type());
  });
}

// Adds the tiles of all lines of an operand. Range: A before B.
template <class T>
void add_whole(const EncodePlan& plan, const EncodeJob& job, int i, ScaleEncodeArguments& arguments) {
  EncodeArguments& encode = arguments.encode;
  add_operand<T>(encode, i, cut_tiles<T>(job, plan.kind, tile_of<T>(job.operand.view.inner)));
  arguments.norms.blocks += encode.operand[i].line_tiles;
  arguments.cluster_blocks = encode.operand[0].k_tiles;
}

template <class T>
bool takes_tiles(const EncodePlan& plan, const Operands<DeviceOperand>& operands, bool has_records) {
  ScaleEncodeArguments arguments{};
  std::int64_t tiles = 0;
  for (int i = 0; i < operands.count(); ++i) {
    EncodeJob job;
    job.operand.view = operands[i];
    job.lines = operands[i].outer;
    add_whole<T>(plan, job, i, arguments);
    tiles += tile_count(arguments.encode.operand[i]);
  }
  if (tiles >= std::int64_t(1) << 31) return false;
  bool takes = false;
  with_kernel<T>(plan, has_records, [&](auto kind, auto words, auto recorded) {
    using State = StateOf<recorded.value>;
    takes = holds_cluster(scale_encode_kernel<T, kind.value, words.value, State>,
                          config_of<kind.value, words.value, State>(plan, arguments));
  });
  return takes;
}

bool takes(const EncodePlan& plan, const Operands<DeviceOperand>& operands, bool has_records) {
  if (plan.kind == EncodeKind::int8_limbs || is_of_pairs(plan.kind)) return false;
  for (int i = 0; i < operands.count(); ++i) {
    const DeviceOperand& operand = operands[i];
    if (!is_float(operand.type) || operand.type != operands[0].type || operand.inner != operands[0].inner) return false;
  }
  const int inner = operands[0].inner;
  if (cluster_blocks(inner, cut_of(inner)) > static_cast<std::int64_t>(kMaxClusterBlocks)) return false;
  return operands[0].type == ElementType::float64 ? takes_tiles<double>(plan, operands, has_records)
                                                  : takes_tiles<float>(plan, operands, has_records);
}

template <class T>
void launch_type(const EncodePlan& plan, const Operands<EncodeJob>& jobs, ScaleEncodeArguments& arguments, cudaStream_t stream,
                 bool overlap_previous) {
  for (int i = 0; i < jobs.count(); ++i) add_whole<T>(plan, jobs[i], i, arguments);
  with_kernel<T>(plan, arguments.lines.record[0] != nullptr, [&](auto kind, auto words, auto recorded) {
    launch_kind<T, kind.value, words.value, StateOf<recorded.value>>(plan, arguments, stream, overlap_previous);
  });
}

}  // namespace

bool can_scale_and_encode(const EncodePlan& plan, const DeviceOperand& one, bool has_records) {
  return takes(plan, Operands<DeviceOperand>(one), has_records);
}
bool can_scale_and_encode(const EncodePlan& plan, const DeviceOperand& a, const DeviceOperand& b, bool has_records) {
  return takes(plan, Operands<DeviceOperand>(a, b), has_records);
}

void launch_scale_encode(const EncodePlan& plan, const Operands<EncodeJob>& jobs, const CapacityRule& capacity,
                         const PrefixChoice& choice, void* scratch, cudaStream_t stream, void* clear_counters) {
  const bool is_clear = clear_counters != nullptr;
  if (!is_clear) {
    require_launched(cudaMemsetAsync(scratch, 0, sizeof(ScaleTotals), stream), Stage::scale_encode, "its counters");
  }
  ScaleEncodeArguments arguments{};
  for (int i = 0; i < jobs.count(); ++i) {
    arguments.shift[i] = jobs[i].operand.shift;
    arguments.special[i] = jobs[i].operand.special;
  }
  const ScaledOperand& first = jobs[0].operand;
  const Operands<ScaledOperand> operands =
      jobs.count() == 1 ? Operands<ScaledOperand>(first) : Operands<ScaledOperand>(first, jobs[1].operand);
  arguments.norms = norm_report(operands, capacity, choice, is_clear ? clear_counters : scratch);
  arguments.lines = line_rule(operands, capacity);
  first.view.type == ElementType::float64 ? launch_type<double>(plan, jobs, arguments, stream, is_clear)
                                          : launch_type<float>(plan, jobs, arguments, stream, is_clear);
}

}  // namespace ozfp4::cuda
