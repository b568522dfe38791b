// Scale and encode in one kernel, for lines that fit into the shared memory of a cluster: every operand is read once.
//
// A cluster holds a panel of whole lines, each of its blocks a tile of them, one after the other along K. A block loads its tile
// and sums it, hands its sums to all blocks of the cluster, and with all sums of the cluster it computes the shifts and encodes.
#pragma once

#include <cstdint>

#include "cuda/dependent_launch.cuh"
#include "cuda/encode/block.cuh"
#include "cuda/encode/launch.cuh"
#include "cuda/scale/block_cluster.cuh"
#include "cuda/scale/finish.cuh"
#include "cuda/scale/slots.cuh"

namespace ozfp4::cuda {

static_assert(kScaleThreads == kEncodeThreads, "the same threads sum and encode");

struct ScaleEncodeArguments {
  EncodeParameters<EncodeKind::residues> encode;  // of operands with tiles that are walked in bands of one
  std::int32_t* shift[2];
  std::uint8_t* special[2];
  NormReport norms;
  std::uint32_t cluster_blocks;
  LineRule lines;
};

// The tile, the packed states [block of the cluster][line], the units, the lines, the table.
template <EncodeKind Kind, int Words, class State>
__host__ __device__ inline int scale_encode_shared_bytes(const ScaleEncodeArguments& arguments) {
  const EncodeArguments& encode = arguments.encode;
  return static_cast<int>(encode.most_tile_bytes) +
         shared_units<Kind>(encode.units) * static_cast<int>(sizeof(UnitsOf<Kind, Words>)) +
         static_cast<int>(encode.most_tile_lines * (sizeof(TileLine) + arguments.cluster_blocks * sizeof(PackedState<State>))) +
         4 * shared_table_entries<Kind>(encode.table_entries);
}

// The state of this thread's line over the tile, in the threads of slot 0.
template <class State, class T>
__device__ __forceinline__ State sum_tile(const EncodeOperand& operand, const unsigned char* tile, const LineSlots& slots,
                                          const ScaleRole& role) {
  State state;
  for (std::uint32_t k = role.slot << kLogGroup; k < 1u << operand.log_tile_k; k += 1u << (kLogGroup + slots.log_count)) {
    T x[kGroup];
    read_group(tile, operand, GroupPlace{role.line, k}, x);
    add_batch(state, x);
  }
  return combine_slots(state, slots, role);
}

// From the states of a line in all blocks of the cluster to that of the whole line, in the threads of slot 0.
template <class State>
__device__ __forceinline__ State combine_blocks(State state, const Inbox& inbox, std::uint64_t* states, std::uint32_t block,
                                                std::uint32_t blocks, std::uint32_t lines, const ScaleRole& role) {
  inbox.expect(blocks * lines * static_cast<std::uint32_t>(sizeof(PackedState<State>)));
  if (role.slot != 0) return state;
  const PackedState<State> packed = pack(state);
  const std::uint64_t* at = states + (block * lines + role.line) * packed.words;
  for (std::uint32_t other = 0; other < blocks; ++other) {
#pragma unroll
    for (int i = 0; i < packed.words; ++i) inbox.send(at + i, other, packed.word[i]);
  }
  inbox.wait();
  state = State();
  for (std::uint32_t other = 0; other < blocks; ++other) {
    state = combine(state, unpack(load_words<State>(states, other * lines + role.line)));
  }
  return state;
}

// The number of the first of 32 groups that is not taken yet. All lanes of a warp call it.
__device__ __forceinline__ std::uint32_t take_groups(std::uint32_t& next) {
  std::uint32_t taken = 0;
  if (threadIdx.x % 32 == 0) taken = atomicAdd(&next, 32u);
  return __shfl_sync(0xFFFFFFFFu, taken, 0);
}

template <class T, EncodeKind Kind, int Words, class State>
__global__ void __launch_bounds__(kEncodeThreads, kEncodeBlocks<Kind, Words>)
    scale_encode_kernel(const __grid_constant__ ScaleEncodeArguments arguments,
                        const __grid_constant__ TableOf<Kind> limb_table) {
  const auto& encode = arguments.encode;
  extern __shared__ __align__(128) unsigned char tile[];
  __shared__ TileOrigin origin;
  __shared__ std::uint64_t inbox_barrier;
  __shared__ std::uint32_t next_groups;
  __shared__ BlockReport<State> report;
  const Inbox inbox(&inbox_barrier);
  auto* states = reinterpret_cast<std::uint64_t*>(tile + encode.most_tile_bytes);
  EncodeShared<Kind, Words> shared;
  shared.units =
      reinterpret_cast<UnitsOf<Kind, Words>*>(states + kStateWords<State> * arguments.cluster_blocks * encode.most_tile_lines);
  const TilePlace place{&origin, reinterpret_cast<TileLine*>(shared.units + shared_units<Kind>(encode.units))};
  shared.table = reinterpret_cast<std::uint32_t*>(place.line + encode.most_tile_lines);

  const std::uint32_t blocks = arguments.cluster_blocks;
  if (blocks > 1) inbox.open();
  find_tile(encode, blockIdx.x, place);
  if (threadIdx.x == 0) {
    next_groups = 0;
    report.open();
  }
  wait_for_previous_kernel();
  __syncthreads();
  load_tile<T>(encode, place, tile);
  commit_copies();
  fill_units(shared.units, encode);
  fill_table<Kind>(shared.table, limb_table, shared_table_entries<Kind>(encode.table_entries));
  wait_copies<0>();
  __syncthreads();

  // ---- Scale
  const bool is_b = origin.is_b != 0;
  const EncodeOperand& operand = encode.operand[is_b];
  const LineSlots slots{static_cast<std::uint8_t>(kLog<kEncodeThreads> - operand.log_tile_lines), !operand.order.has_columns};
  const ScaleRole role = role_of(slots);
  const std::uint32_t block = blockIdx.x % blocks, lines = 1u << operand.log_tile_lines;
  State state = sum_tile<State, T>(operand, tile, slots, role);
  if (blocks > 1) state = combine_blocks(state, inbox, states, block, blocks, lines, role);
  LineOutcome outcome{};
  if (role.slot == 0) {
    outcome = finish_line(state, arguments.lines, arguments.norms);
    place.line[role.line].shift = outcome.shift;
  }
  __syncthreads();
  if (block == 0) {  // the others encode already
    const std::uint32_t panel = (is_b ? blockIdx.x - encode.tiles_a : blockIdx.x) / blocks;
    const std::uint32_t stacked_line = panel * lines + role.line;
    const bool is_done = role.slot == 0 && role.line < origin.lines;
    if (is_done) {
      arguments.shift[is_b][stacked_line] = outcome.shift;
      arguments.special[is_b][stacked_line] = static_cast<std::uint8_t>(outcome.special);
      record_line(report.extremes, state, outcome, arguments.lines, arguments.norms.inner, is_b, stacked_line);
    }
    report_line(arguments.norms, arguments.lines, is_b, is_done, outcome.sum, origin.lines, report);
  }

  // ---- Encode: whoever is free takes the next groups, as reporting keeps a warp busy for a while
  const std::uint32_t groups = tile_groups(operand), lane = threadIdx.x % 32;
#pragma unroll 1
  for (std::uint32_t first = take_groups(next_groups); first < groups; first = take_groups(next_groups)) {
    encode_group<T, Kind, Words>(encode, place, tile, shared, encode.units, first + lane);
  }
}

// ---- The launch ------------------------------------------------------------------------------------------------------------

// A launch for operands that are cut.
struct ScaleEncodeLaunch {
  const EncodePlan& plan;
  ScaleEncodeArguments& arguments;
  ElementType type;
  bool has_records, overlap_previous;
  cudaStream_t stream;
  bool only_asks;  // whether the device holds a cluster: nothing is launched
};

template <class T, EncodeKind Kind, int Words, class State>
bool launch_kernel(const ScaleEncodeLaunch& how) {
  ScaleEncodeArguments& arguments = how.arguments;
  set_plan(arguments.encode, how.plan);
  LaunchConfig config(Stage::scale_encode, nullptr, kEncodeThreads, how.stream, how.overlap_previous);
  config.grid = dim3(arguments.encode.tiles);
  config.shared_bytes = scale_encode_shared_bytes<Kind, Words, State>(arguments);
  config.cluster_blocks = arguments.cluster_blocks;
  const auto kernel = scale_encode_kernel<T, Kind, Words, State>;
  if (how.only_asks) return holds_cluster(kernel, config);
  arguments.encode.has_fast_fp64 = current_device(config.stage).has_fast_fp64;
  launch(kernel, config, arguments, table_of<Kind>(how.plan));
  return true;
}

// By the kernels of the words that FP64 entries of 53 bits and FP32 ones of 24 take; false where the plan has others, or the
// device holds no cluster. None counts rounded entries: integers of which those count are longer.
template <EncodeKind Kind>
bool scale_and_encode(const ScaleEncodeLaunch& how) {
  const bool is_double = how.type == ElementType::float64;
  if (how.plan.words != (is_double ? 2 : 1)) return false;
  if (is_double) {
    return how.has_records ? launch_kernel<double, Kind, 2, ShortRecordedState>(how)
                           : launch_kernel<double, Kind, 2, LineState>(how);
  }
  return how.has_records ? launch_kernel<float, Kind, 1, ShortRecordedState>(how) : launch_kernel<float, Kind, 1, LineState>(how);
}

}  // namespace ozfp4::cuda
