#include <algorithm>

#include "cuda/encode/encode.hpp"
#include "cuda/encode/scale_encode.cuh"

namespace ozfp4::cuda {
namespace {

constexpr int kMostLogTileK = 10;

// Tiles of 32 KiB for short lines, so that there are enough of them; of 64 KiB for long ones, so that a cluster holds them.
// Measured on an H200, A by rows and B by columns, K from 256 to 8192.
TileCut cut_of(int inner) {
  // A last tile of 1024 would be mostly empty: 1152 x 1152 takes 31 us instead of 39, 1536 x 1536 43 instead of 46.
  if (inner > 1024 && inner <= 7 * 256) return {8, 1};
  TileCut cut{kMinLogTileK, inner <= 1024 ? 1 : 2};
  const int most = inner <= 1024 ? 9 : kMostLogTileK;
  while (cut.log_tile_k < most && (1 << cut.log_tile_k) < inner) ++cut.log_tile_k;
  return cut;
}

std::int64_t cluster_blocks(int inner, const TileCut& cut) { return ceil_div(inner, std::int64_t(1) << cut.log_tile_k); }

// The tiles of an operand of lines of `inner` entries.
TileCut tile_of(int inner, ElementType type) {
  TileCut tile = cut_of(inner);
  // A thread for each line.
  tile.log_steps = std::min(tile.log_steps, tile.log_tile_k + log_of(kEncodeThreads) - log_step_entries(entry_bytes(type)));
  return tile;
}

static_assert(kMaxClusterBlocks << kMostLogTileK <= kMostShortEntries, "the longest lines of a cluster");

// Adds the tiles of all lines of an operand. Precondition: A before B.
void add_whole(const EncodePlan& plan, const EncodeJob& job, int i, ScaleEncodeArguments& arguments) {
  const DeviceOperand& view = job.operand.view;
  EncodeArguments& encode = arguments.encode;
  add_operand(encode, i, cut_tiles(job, plan.kind, tile_of(view.inner, view.type)));
  arguments.norms.blocks += encode.operand[i].line_tiles;
  arguments.cluster_blocks = encode.operand[0].k_tiles;
}

// False where there is no kernel: for complex products, of which scale sees more lines than encode, and for digits.
bool launch_kind(const ScaleEncodeLaunch& how) {
  switch (how.plan.kind) {
    case EncodeKind::residues: return scale_and_encode<EncodeKind::residues>(how);
    case EncodeKind::limb_tables: return scale_and_encode<EncodeKind::limb_tables>(how);
    case EncodeKind::limb_codes: return scale_and_encode_codes(how);
    default: return false;
  }
}

bool takes(const EncodePlan& plan, const Operands<DeviceOperand>& operands, bool has_records) {
  for (int i = 0; i < operands.count(); ++i) {
    const DeviceOperand& operand = operands[i];
    if (!is_float(operand.type) || operand.type != operands[0].type || operand.inner != operands[0].inner) return false;
  }
  const int inner = operands[0].inner;
  if (cluster_blocks(inner, cut_of(inner)) > static_cast<std::int64_t>(kMaxClusterBlocks)) return false;
  ScaleEncodeArguments arguments{};
  std::int64_t tiles = 0;
  for (int i = 0; i < operands.count(); ++i) {
    EncodeJob job;
    job.operand.view = operands[i];
    job.lines = operands[i].outer;
    add_whole(plan, job, i, arguments);
    tiles += tile_count(arguments.encode.operand[i]);
  }
  if (tiles >= std::int64_t(1) << 31) return false;
  return launch_kind({plan, arguments, operands[0].type, has_records, false, nullptr, true});
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
  for (int i = 0; i < jobs.count(); ++i) add_whole(plan, jobs[i], i, arguments);
  const bool has_records = first.record != nullptr;
  launch_kind({plan, arguments, first.view.type, has_records, is_clear, stream, false});
}

}  // namespace ozfp4::cuda
