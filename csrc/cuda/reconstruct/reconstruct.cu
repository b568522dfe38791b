#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "arith/multiples.hpp"
#include "arith/wide/column_crt.hpp"
#include "arith/wide/round_fast.hpp"
#include "arith/wide/round_wide.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/launch.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/reconstruct/columns.cuh"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/reconstruct/long_reconstruct.hpp"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda {
namespace {

constexpr int kLogWarps = 2;
constexpr int kWarps = 1 << kLogWarps;
constexpr int kThreads = 32 * kWarps;
constexpr int kMostRows = 32;           // of one warp; its lanes hold the scale exponents of one row each
constexpr int kStartRows = 2;           // what the start of a warp costs, in rows
constexpr int kMostGridBlocks = 65535;  // along y and z
// Places beyond the result, in the last blocks, fit 32 bits as well.
static_assert(kLongestExtent <= INT32_MAX - kMostRows * kWarps && kLongestExtent <= INT32_MAX - 128 * kWarps);

// Words of the integers, steps of 16 residues, sums over splits.
template <int Words_, int Steps_, bool Split_>
struct Shape {
  static constexpr int Words = Words_, Steps = Steps_;
  static constexpr bool Split = Split_;
  static constexpr bool positional = Steps == kMaxRowSteps;  // residues need at most two steps
  static constexpr int prefixes = positional ? 1 : kMaxPrefixes;
  static constexpr int units = Split ? 2 * Steps : Steps;
  static constexpr int tiles = Words / 2;
  static constexpr int vec = units <= 2 && Words <= 4 ? 4 : 2;
  static constexpr int segment = 32 * vec;   // entries of a warp
  static constexpr int pitch = segment + 4;  // words of one column in shared memory: stores and loads without conflicts
  static constexpr int table_words = static_cast<int>(sizeof(ColumnConstants<Words>)) / 4 + units * tiles * 32;
  // The bytes of the next row are read while a row is worked on, where registers allow: that beats more warps.
  static constexpr bool reads_ahead = !Split && !positional;
  static constexpr int resident = reads_ahead && units == 1 ? 5 : units <= 3 ? 4 : units == 4 ? 3 : 2;  // blocks of one processor
};

// How the grid covers the result. A block holds 2^log_warps_x warps along columns, the others along rows; the rows of one
// warp are as far apart as a block has warps along rows.
struct Cover {
  std::int32_t log_warps_x, rows_per_warp;
  std::int32_t blocks_x, blocks_y;
};

template <class S>
struct Parameters {
  ReconstructJob job;
  Cover cover;
  std::int64_t source_step, target_step;  // bytes from one row of a warp to the next
  std::int32_t first_block_y, first_matrix;
  std::int32_t least, all;
  bool has_pairs;                                    // two neighbours of the result may be stored at once
  std::uint32_t table[S::prefixes][S::table_words];  // ColumnConstants<S::Words>, then fragments [unit][tile][lane]
};

template <class S>
struct WarpShared {
  alignas(16) std::uint32_t column[2 * S::Words][S::pitch];
  std::int32_t exponent[S::vec / 2][32][2];  // per column, where its lane looks for it
  std::int32_t row_shift[32];                // of the i-th last row
};

template <class S>
struct Shared {
  alignas(16) std::uint32_t table[S::table_words];
  WarpShared<S> warp[kWarps];
};

template <class T>
struct PairOf;
template <>
struct PairOf<double> {
  using type = double2;
};
template <>
struct PairOf<float> {
  using type = float2;
};

// Where a warp works: `rows` rows, step_y apart, of `entries` columns. Entry j of a lane is entry_of(j) of those columns.
template <class S>
struct Place {
  std::int32_t matrix, step_y, first_row, first_column, rows, entries;

  __device__ __forceinline__ explicit Place(const Parameters<S>& p) {
    std::int32_t block_x = static_cast<std::int32_t>(blockIdx.x), block_y = static_cast<std::int32_t>(blockIdx.y);
    std::int32_t warp = static_cast<std::int32_t>(threadIdx.x / 32);
    hold(block_x);  // a second Place is worked out anew: nothing is kept in registers for it
    hold(block_y);
    hold(warp);
    const std::int32_t log_x = p.cover.log_warps_x, log_y = kLogWarps - log_x;
    step_y = 1 << log_y;
    matrix = p.first_matrix + static_cast<std::int32_t>(blockIdx.z);
    first_column = ((block_x << log_x) + (warp & ((1 << log_x) - 1))) * S::segment;
    first_row = (((p.first_block_y + block_y) * p.cover.rows_per_warp) << log_y) + (warp >> log_x);
    rows = max(0, min(p.cover.rows_per_warp, (p.job.result.rows - first_row + step_y - 1) >> log_y));
    entries = max(0, min(S::segment, p.job.result.columns - first_column));
  }

  __device__ __forceinline__ static int entry_of(int j) { return 64 * (j / 2) + 2 * static_cast<int>(threadIdx.x % 32) + j % 2; }
};

// What seldom happens to a row: results that the fast functions are not sure of, and special entries. `target` is the
// lane's first entry. All lanes of the warp call it.
template <class T, class S>
__device__ __forceinline__ void correct_row(const Parameters<S>& p, const std::uint32_t (&column)[2 * S::Words][S::pitch],
                                            const ColumnConstants<S::Words>& constants, std::int32_t row, char* target) {
  const ReconstructJob& job = p.job;
  const Place<S> place(p);
  const Lines lines(job, place);
  const std::int64_t line_of_row = lines.a + row * place.step_y;
  const auto store = [&](int e, T value) {
    *reinterpret_cast<T*>(target + (e - place.entry_of(0)) * job.result.column_stride) = value;
  };
  const std::int32_t row_shift = job.a.shift[line_of_row];
  const std::uint32_t row_flags = flags_of(job.a, line_of_row);
  const auto column_flags = [&](int e) { return flags_of(job.b, lines.b + e); };
  bool is_special = row_flags != kFinite;
#pragma unroll 1
  for (int j = 0; j < S::vec; ++j) {
    const int e = place.entry_of(j);
    if (e >= place.entries) continue;
    std::uint32_t own[2 * S::Words];
#pragma unroll
    for (int s = 0; s < 2 * S::Words; ++s) own[s] = column[s][e];
    const WideInt<S::Words> x = S::positional ? column_integer(own, static_cast<std::uint32_t>(job.residues.splits), constants)
                                              : exact_column_integer(own, constants);
    store(e, round_scaled<T>(x, -constants.shift - job.b.shift[lines.b + e] - row_shift));
    is_special = is_special || column_flags(e) != kFinite;
  }
  if (!__any_sync(0xffffffffu, is_special)) return;
  patch_row<S::vec>(job, place, lines, row * place.step_y, row_flags, column_flags, place.entries, place.entry_of,
                    [&](int e, double value) { store(e, static_cast<T>(value)); });
}

// ---- The parts of the kernel -------------------------------------------------------------------------------------------

// What a lane knows of the scale exponents and flags: those of its entries' columns, and lane i those of the i-th last row.
template <int Vec>
struct LaneScales {
  std::int32_t row_shift = 0, column_shift[Vec] = {};
  std::uint32_t row_flags = 0, column_flags = 0;

  // Range: the place holds entries and rows.
  template <class Place>
  __device__ __forceinline__ void load(const ReconstructJob& job, const Place& place, const Lines& lines) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const std::int64_t own_row = lines.a + max(place.rows - 1 - lane, 0) * place.step_y;
    row_shift = job.a.shift[own_row];
    row_flags = flags_of(job.a, own_row);
#pragma unroll
    for (int j = 0; j < Vec; ++j) {
      const std::int64_t line = lines.b + min(place.entry_of(j), place.entries - 1);
      column_shift[j] = job.b.shift[line];
      column_flags |= flags_of(job.b, line);
    }
  }
};

// Brings the constants of the prefix that the data needs to shared memory; returns its count. All threads call it.
template <class S>
__device__ __forceinline__ int load_table(std::uint32_t (&table)[S::table_words], const Parameters<S>& p) {
  const int count = S::positional ? p.all : residues_used(p.job, p.least, p.all);
  const int prefix = S::positional ? 0 : count - p.least;
#pragma unroll
  for (int i = 0; i < S::table_words; i += kThreads) {
    const int at = i + static_cast<int>(threadIdx.x);
    if (at < S::table_words) table[at] = p.table[prefix][at];
  }
  __syncthreads();
  return count;
}

// This lane's words of the weights, from a table of load_table.
template <class S>
__device__ __forceinline__ void load_weights(std::uint32_t (&weight)[S::units][S::tiles],
                                             const std::uint32_t (&table)[S::table_words]) {
  constexpr int first = static_cast<int>(sizeof(ColumnConstants<S::Words>)) / 4;
#pragma unroll
  for (int unit = 0; unit < S::units; ++unit) {
#pragma unroll
    for (int tile = 0; tile < S::tiles; ++tile) {
      weight[unit][tile] = table[first + (unit * S::tiles + tile) * 32 + static_cast<int>(threadIdx.x % 32)];
    }
  }
}

// Leaves the exponents in shared memory and returns the rows to take care of: with special entries, or with exponents that
// could make a result neither normal nor 0 (float32 is asked entry by entry). Bit i stands for the i-th last row.
template <class T, class S>
__device__ __forceinline__ std::uint32_t share_exponents(WarpShared<S>& shared, const LaneScales<S::vec>& scales,
                                                         std::int32_t constant_shift) {
  constexpr std::uint32_t all_lanes = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::int32_t least_shift = INT32_MIN, most_shift = INT32_MAX;
#pragma unroll
  for (int j = 0; j < S::vec; ++j) {
    const std::int32_t exponent = -constant_shift - scales.column_shift[j];
    shared.exponent[j / 2][lane][j % 2] = exponent;
    least_shift = max(least_shift, exponent - kMostSafeExponent<T, S::Words>);
    most_shift = min(most_shift, exponent - kLeastSafeExponent<T, S::Words>);
  }
  bool needs_care = scales.row_flags != kFinite;
  if constexpr (std::is_same_v<T, double>) {
    least_shift = __reduce_max_sync(all_lanes, least_shift);
    most_shift = __reduce_min_sync(all_lanes, most_shift);
    needs_care = needs_care || scales.row_shift < least_shift || scales.row_shift > most_shift;
  }
  shared.row_shift[lane] = scales.row_shift;
  const std::uint32_t care = __ballot_sync(all_lanes, needs_care);
  return __any_sync(all_lanes, scales.column_flags != kFinite) ? ~0u : care;
}

// Two neighbours of a row, whose columns start at the shared address `from`, with their exponents; sets is_rare where
// correct_row has to be asked.
template <class T, class S>
__device__ __forceinline__ void round_pair(T (&value)[2], bool& is_rare, std::uint32_t from, std::int32_t shift, int splits,
                                           const ColumnConstants<S::Words>& constants) {
  constexpr int Words = S::Words;
  constexpr std::uint32_t exponent_from = offsetof(WarpShared<S>, exponent);  // from the columns
  std::uint32_t own[2][2 * Words];
#pragma unroll
  for (int s = 0; s < 2 * Words; ++s) {
    const uint2 both = load_shared(from + s * S::pitch * 4);
    own[0][s] = both.x, own[1][s] = both.y;
  }
  const uint2 exponent = load_shared(from + exponent_from);
  WideInt<Words> x[2];
  std::int32_t scale[2] = {static_cast<std::int32_t>(exponent.x) - shift, static_cast<std::int32_t>(exponent.y) - shift};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    std::uint32_t quotient = static_cast<std::uint32_t>(splits);
    if constexpr (!S::positional) {
      const std::uint32_t estimate = column_estimate(own[i], constants);
      quotient = column_quotient(estimate);
      is_rare = is_rare || is_uncertain(estimate);
    }
    x[i] = column_integer(own[i], quotient, constants);
  }
  if constexpr (Words > 2) {  // small numbers: one branch for both
    if (has_redundant_word(x[0]) || has_redundant_word(x[1])) {
      scale[0] -= drop_redundant_words(x[0]);
      scale[1] -= drop_redundant_words(x[1]);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    bool is_unusual = false;
    value[i] = round_leading<T>(x[i], scale[i], is_unusual);
    if constexpr (!std::is_same_v<T, double>) is_rare = is_rare || is_unusual;
  }
}

// Stores pair `pair` of a lane's entries; `target` is its first.
template <class T, class S>
__device__ __forceinline__ void store_pair(const Parameters<S>& p, char* target, int pair, const T (&value)[2], bool is_plain) {
  if (is_plain) {
    __stcs(reinterpret_cast<typename PairOf<T>::type*>(target) + 32 * pair, {value[0], value[1]});
    return;
  }
  const int entries = Place<S>(p).entries;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int e = Place<S>::entry_of(2 * pair + i);
    if (e < entries) *reinterpret_cast<T*>(target + (e - Place<S>::entry_of(0)) * p.job.result.column_stride) = value[i];
  }
}

// Every warp takes some rows of a segment of columns. Bytes -> columns, in the lanes that have the bytes -> shared memory
// -> integers -> results, in the lanes that store them.
template <class T, class S>
__global__ void __launch_bounds__(kThreads, S::resident) reconstruct_kernel(const __grid_constant__ Parameters<S> p) {
  constexpr int vec = S::vec;
  __shared__ Shared<S> shared;
  const int lane = static_cast<int>(threadIdx.x % 32), group = lane / 4, t = lane % 4;
  WarpShared<S>& own_shared = shared.warp[threadIdx.x / 32];
  const ReconstructJob& job = p.job;
  let_next_kernel_start();  // the next product's first one, say
  wait_for_previous_kernel();

  // The bytes of the first row do not wait for the number of moduli: planes beyond it have weight 0.
  const Place<S> place(p);
  const bool is_idle = place.entries == 0 || place.rows == 0;
  const std::uint8_t* source = job.residues.data + place.matrix * job.residues.matrix_stride +
                               place.first_row * job.residues.pitch + place.first_column +
                               (4 * vec * group < place.entries ? 4 * vec * group : 0);
  LanePlanes<S::Steps> planes{t, p.all - 1};
  EntryBytes<S::Steps, vec, S::Split> bytes, next;
  const auto fetch = [&] {
    next.template load<S::positional>(source, planes, job.residues.plane_stride, p.all - 1, job.residues.split_stride,
                                      job.residues.splits);
  };
  if (!is_idle) fetch();
  const Lines lines(job, place);
  LaneScales<vec> scales;
  if (!is_idle) scales.load(job, place, lines);
  const int count = load_table(shared.table, p);
  if (is_idle) return;
  const auto& constants = *reinterpret_cast<const ColumnConstants<S::Words>*>(shared.table);
  std::uint32_t weight[S::units][S::tiles];
  load_weights<S>(weight, shared.table);
  planes.last = count - 1;
  const std::uint32_t care = share_exponents<T>(own_shared, scales, constants.shift);

  char* target = job.result.data + lines.result_offset + place.first_row * job.result.row_stride +
                 (std::int64_t(place.first_column) + place.entry_of(0)) * job.result.column_stride;  // this lane's first entry
  std::int32_t is_plain = p.has_pairs && place.entry_of(vec - 1) < place.entries;  // all entries of this lane exist, in pairs
  std::uint32_t column_to = shared_address(&own_shared.column[t][4 * vec * group]);
  std::uint32_t column_from = shared_address(&own_shared.column[0][place.entry_of(0)]);
  std::int32_t left = place.rows - 1;
  hold(left);
  hold(is_plain);
  hold(column_to);
  hold(column_from);
  bytes.transpose(next);
  for (;;) {  // row by row
    if constexpr (S::reads_ahead) {
      source += left != 0 ? p.source_step : 0;  // the last row is read twice, which costs less than a branch
      fetch();
    }
#pragma unroll
    for (int v = 0; v < vec; ++v) {
#pragma unroll
      for (int tile = 0; tile < S::tiles; ++tile) {
        store_shared(column_to + (4 * tile * S::pitch + 4 * v) * 4, bytes.columns(v, tile, weight));
      }
    }
    __syncwarp();

    const std::int32_t shift = own_shared.row_shift[left];
    bool is_rare = ((care >> left) & 1u) != 0;
#pragma unroll(S::reads_ahead ? vec / 2 : 1)
    for (int pair = 0; pair < vec / 2; ++pair) {
      T value[2];
      round_pair<T, S>(value, is_rare, column_from + 256 * static_cast<std::uint32_t>(pair), shift, job.residues.splits,
                       constants);
      store_pair<T>(p, target, pair, value, is_plain != 0);
    }
    if (__any_sync(0xffffffffu, is_rare)) correct_row<T>(p, own_shared.column, constants, Place<S>(p).rows - 1 - left, target);
    if (left == 0) return;
    --left;
    target += p.target_step;
    if constexpr (!S::reads_ahead) {
      source += p.source_step;
      fetch();
    }
    bytes.transpose(next);
    __syncwarp();  // the columns of the next row come to the same place
  }
}

// ---- Launch ------------------------------------------------------------------------------------------------------------

template <class S>
void set_tables(Parameters<S>& p, const ReconstructPlan& plan) {
  for (int prefix = 0; prefix < S::prefixes && prefix <= plan.all - plan.least; ++prefix) {
    const auto& from = plan.constants[prefix];
    ColumnConstants<S::Words> constants{from.shift, from.inverse, from.offset, {}, {}, {}};
    std::copy_n(from.negated, 2 * S::Words, constants.negated);
    std::copy_n(from.product, S::Words, constants.product);
    std::copy_n(from.lowest, S::Words, constants.lowest);
    std::memcpy(p.table[prefix], &constants, sizeof constants);
    std::uint32_t* fragment = p.table[prefix] + sizeof constants / 4;
    for (int unit = 0; unit < S::units; ++unit) {
      for (int tile = 0; tile < S::tiles; ++tile, fragment += 32) {
        std::copy_n(plan.fragment[prefix][unit / S::Steps][unit % S::Steps][tile], 32, fragment);
      }
    }
  }
}

bool is_multiple(std::int64_t x, std::int64_t of) { return x % of == 0; }
bool is_multiple(const void* x, std::int64_t of) {
  return reinterpret_cast<std::uintptr_t>(x) % static_cast<std::uintptr_t>(of) == 0;
}

bool has_pairs(const DeviceResult& result, std::int64_t entry) {
  bool aligned =
      result.column_stride == entry && is_multiple(result.data, 2 * entry) && is_multiple(result.row_stride, 2 * entry);
  for (int i = 0; i < result.stack.rank; ++i) aligned = aligned && is_multiple(result.stack.stride[i], 2 * entry);
  return aligned;
}

// Blocks as wide as the result, up to all warps side by side; as many rows a warp as make the fewest rows in a row, with
// `resident` blocks at a time.
Cover make_cover(const DeviceResult& result, int segment, std::int64_t resident) {
  Cover cover{};
  const std::int64_t segments = ceil_div(result.columns, segment);
  while ((1 << cover.log_warps_x) < kWarps && (std::int64_t(1) << cover.log_warps_x) < segments) ++cover.log_warps_x;
  const std::int64_t warps_y = kWarps >> cover.log_warps_x;
  cover.blocks_x = static_cast<std::int32_t>(ceil_div(segments, std::int64_t(1) << cover.log_warps_x));
  std::int64_t least_cost = INT64_MAX;
  for (int rows = 1; rows <= kMostRows; ++rows) {
    const std::int64_t blocks_y = ceil_div(result.rows, warps_y * rows);
    const std::int64_t cost = ceil_div(cover.blocks_x * blocks_y * result.stack.count(), resident) * (rows + kStartRows);
    if (cost > least_cost) continue;
    least_cost = cost;
    cover.rows_per_warp = rows;
    cover.blocks_y = static_cast<std::int32_t>(blocks_y);
  }
  return cover;
}

template <class T, class S>
void launch_shape(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream) {
  const std::int64_t processors = current_device(Stage::reconstruct).multiprocessors;
  Parameters<S> p;
  p.job = job;
  p.cover = make_cover(job.result, S::segment, processors * S::resident);
  p.least = plan.least;
  p.all = plan.all;
  p.source_step = job.residues.pitch << (kLogWarps - p.cover.log_warps_x);
  p.target_step = job.result.row_stride * (std::int64_t(1) << (kLogWarps - p.cover.log_warps_x));
  p.has_pairs = has_pairs(job.result, sizeof(T));
  set_tables(p, plan);

  LaunchConfig config;
  config.stage = Stage::reconstruct;
  config.block = dim3(kThreads);
  config.overlap_previous = job.overlap_previous;
  config.stream = stream;
  // One launch, but for stacks and rows beyond the limits of a grid.
  const auto matrices = static_cast<std::int32_t>(job.result.stack.count());
  for (p.first_matrix = 0; p.first_matrix < matrices; p.first_matrix += kMostGridBlocks) {
    for (p.first_block_y = 0; p.first_block_y < p.cover.blocks_y; p.first_block_y += kMostGridBlocks) {
      config.grid = dim3(static_cast<unsigned>(p.cover.blocks_x),
                         static_cast<unsigned>(std::min(kMostGridBlocks, p.cover.blocks_y - p.first_block_y)),
                         static_cast<unsigned>(std::min(kMostGridBlocks, matrices - p.first_matrix)));
      launch(reconstruct_kernel<T, S>, config, p);
    }
  }
}

// One row for each kernel: what plans it serves, and its launches by the result's type and whether there are splits.
using Launch = void (*)(const ReconstructPlan&, const ReconstructJob&, cudaStream_t);
struct Kind {
  int words, row_steps;
  Launch float64, float64_splits, float32, float32_splits;
};

template <int Words, int Steps>
constexpr Kind kind() {
  using Whole = Shape<Words, Steps, false>;
  using Split = Shape<Words, Steps, true>;
  return {Words,
          Steps,
          launch_shape<double, Whole>,
          launch_shape<double, Split>,
          launch_shape<float, Whole>,
          launch_shape<float, Split>};
}

constexpr Kind kKinds[] = {kind<2, 1>(), kind<2, 2>(), kind<4, 1>(), kind<4, 2>(), kind<6, 2>(), kind<4, 3>(), kind<6, 3>()};

Launch launch_of(const ReconstructPlan& plan, const ReconstructJob& job) {
  if (plan.is_long()) return launch_long_reconstruct;
  for (const Kind& k : kKinds) {
    if (k.words != plan.words || k.row_steps != plan.row_steps) continue;
    const bool splits = job.residues.splits > 1;
    if (job.result.type == ElementType::float64) return splits ? k.float64_splits : k.float64;
    return splits ? k.float32_splits : k.float32;
  }
  throw std::logic_error("no reconstruct kernel for integers of " + std::to_string(plan.words) + " words");
}

}  // namespace

const char* find_reconstruct_error(const ReconstructJob& job) {
  const Residues& residues = job.residues;
  if (job.result.type == ElementType::int8) return "the result must be float64 or float32";
  if (job.result.rows < 1 || job.result.columns < 1) return "every extent of the result must be at least 1";
  if (std::max(job.result.rows, job.result.columns) > kLongestExtent) {
    return "an extent of the result is above 2^31 - 4096, up to which positions fit 32 bits";
  }
  if (!is_multiple(residues.data, 16) || !is_multiple(residues.pitch, 16) || !is_multiple(residues.matrix_stride, 16) ||
      !is_multiple(residues.split_stride, 16) || !is_multiple(residues.plane_stride, 16)) {
    return "the bytes of multiply, their pitch and their strides must be multiples of 16 bytes";
  }
  if (residues.pitch < job.result.columns) return "the pitch of the bytes of multiply is below the columns of the result";
  if (residues.splits < 1 || residues.splits > kMaxSplits) return "K must be cut into 1 to 64 splits";
  return nullptr;
}

void launch_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream) {
  launch_of(plan, job)(plan, job, stream);
}

}  // namespace ozfp4::cuda
