// Decides of every listed entry whether it is kept, by the sums of the products of magnitude bytes, tile by tile on the matrix
// unit. Kept entries leave the list.
#pragma once

#include "cuda/multiply/ptx/warp.cuh"
#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/standard/planes.cuh"

namespace ozfp4::cuda::chaining {

// The sums of a warp: 16 rows and 8 columns each, as multiply_bytes has them.
using MagnitudeSums = std::uint32_t[kWarpRows / 16][kWarpColumns / 8][4];

// Chunks of 16 bytes of a line change places, so that eight lines' chunks of one number lie on all banks.
__device__ __forceinline__ int place_of_chunk(int line, int chunk) { return 16 * (chunk ^ ((line >> 1) & 3)); }

// All threads: the bytes of a step from `first_k` on of `count` lines, from the operand itself.
template <int Lines>
__device__ __noinline__ void make_lines(std::uint8_t (&to)[kLines][kByteStep], int first, const RepairLines& lines,
                                        std::int32_t count, std::int64_t first_k, std::int64_t inner) {
  const bool is_along_k = runs_along_k(lines.outer_stride, lines.inner_stride);
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x); i < Lines * kByteStep; i += kThreads) {
    const int line = is_along_k ? i / kByteStep : i % Lines, k = is_along_k ? i % kByteStep : i / Lines;
    std::uint8_t byte = 0;
    if (line < count && first_k + k < inner) {
      const double x = lines.entry(lines.data + line * lines.outer_stride, first_k + k);
      byte = static_cast<std::uint8_t>(magnitude_byte(x, lines.record[line].exponent));
    }
    to[first + line][place_of_chunk(first + line, k / 16) + k % 16] = byte;
  }
}

// One tile's bytes, step by step.
struct ByteSource {
  const Parameters& p;
  RepairLines a, b;                       // from the tile's first line on
  const std::uint8_t *plane_a, *plane_b;  // likewise; null: there are none
  std::int32_t rows, columns;

  __device__ __forceinline__ ByteSource(const Parameters& p, const RepairMatrix& matrix, const Tile& tile)
      : p(p),
        a(matrix.a.from(tile.first_row)),
        b(matrix.b.from(tile.first_column)),
        plane_a(nullptr),
        plane_b(nullptr),
        rows(tile.rows(p)),
        columns(tile.columns(p)) {
    if (p.job.magnitudes == nullptr) return;
    const std::int64_t pitch = magnitude_pitch(p.job.a.view.inner);
    plane_a = plane_of(p, false, matrix.a_matrix) + tile.first_row * pitch;
    plane_b = plane_of(p, true, matrix.b_matrix) + tile.first_column * pitch;
  }

  // All threads: begins to bring the step from `first_k` on to shared memory.
  __device__ __forceinline__ void fetch(std::uint8_t (&to)[kLines][kByteStep], std::int64_t first_k) const {
    const int thread = static_cast<int>(threadIdx.x);
    if (plane_a == nullptr) {
      make_lines<kRows>(to, 0, a, rows, first_k, p.job.a.view.inner);
      make_lines<kColumns>(to, kRows, b, columns, first_k, p.job.a.view.inner);
      return;
    }
    constexpr int chunks = kByteStep / 16;
    const std::int64_t pitch = magnitude_pitch(p.job.a.view.inner);
#pragma unroll
    for (int i = 0; i < kLines * chunks / kThreads; ++i) {
      const int line = (thread + i * kThreads) / chunks, chunk = thread % chunks;
      const bool is_b = line >= kRows;
      const int own = is_b ? line - kRows : line;
      const bool exists = own < (is_b ? columns : rows) && first_k < pitch;
      const std::uint8_t* from = (is_b ? plane_b : plane_a) + (exists ? own * pitch + first_k : 0) + 16 * chunk;
      copy_async<16>(&to[line][place_of_chunk(line, chunk)], from, exists ? 16 : 0);
    }
  }
};

// The bytes of a warp's lines in half a step.
struct ByteFragments {
  std::uint32_t a[kWarpRows / 16][4], b[kWarpColumns / 16][4];

  __device__ __forceinline__ void load(const StepBytes& bytes, int half, int row, int column) {
    const int lane = static_cast<int>(threadIdx.x % 32), matrix = lane / 8, own = lane % 8;
    const std::uint32_t base = shared_address(&bytes[0][0]);
    const auto address = [&](int line, int chunk) {
      return base + static_cast<std::uint32_t>(line * kByteStep + place_of_chunk(line, chunk));
    };
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i) {
      load_matrices(a[i], address(row + 16 * i + 8 * (matrix % 2) + own, 2 * half + matrix / 2));
    }
#pragma unroll
    for (int j = 0; j < kWarpColumns / 16; ++j) {
      load_matrices(b[j], address(kRows + column + 16 * j + 8 * (matrix / 2) + own, 2 * half + matrix % 2));
    }
  }

  __device__ __forceinline__ void multiply(MagnitudeSums& sum) const {
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i) {
#pragma unroll
      for (int j = 0; j < kWarpColumns / 8; ++j) {
        add_bytes_up_to_most(sum[i][j], a[i][0], a[i][1], a[i][2], a[i][3], b[j / 2][2 * (j % 2)], b[j / 2][2 * (j % 2) + 1]);
      }
    }
  }
};
static_assert(kByteStep == 2 * 32);

// A thread's sums are of the rows row_of_sum(i) and the columns column_of_sum(j) of the warp's part, sum_of(sum, i, j) each.
inline constexpr int kSumRows = kWarpRows / 8, kSumColumns = kWarpColumns / 4;
__device__ __forceinline__ int row_of_sum(int i) { return 8 * i + static_cast<int>(threadIdx.x % 32) / 4; }
__device__ __forceinline__ int column_of_sum(int j) { return 8 * (j / 2) + 2 * static_cast<int>(threadIdx.x % 4) + j % 2; }
__device__ __forceinline__ std::uint32_t sum_of(const MagnitudeSums& sum, int i, int j) {
  return sum[i / 2][j / 2][2 * (i % 2) + j % 2];
}

// Bit kSumColumns i + j: whether an entry waits for its sum. `columns`: those of the warp's part with several nonzero entries; of
// lines with one the sum does not count.
__device__ __forceinline__ std::uint64_t waiting_sums(const Shared& shared, std::uint32_t columns, int row, int column) {
  std::uint64_t waiting = 0;
#pragma unroll
  for (int i = 0; i < kSumRows; ++i) {
    const int own = row + row_of_sum(i);
    const std::uint32_t word = shared.record[own].nonzeros > 1 ? shared.word[own][column / 32] & columns : 0;
#pragma unroll
    for (int j = 0; j < kSumColumns; ++j) {
      waiting |= std::uint64_t(word >> column_of_sum(j) & 1u) << (kSumColumns * i + j);
    }
  }
  return waiting;
}

__device__ __forceinline__ bool are_certain(const MagnitudeSums& sum, std::uint64_t waiting) {
  bool all = true;
#pragma unroll
  for (int i = 0; i < kSumRows; ++i) {
#pragma unroll
    for (int j = 0; j < kSumColumns; ++j) {
      all = all && (sum_of(sum, i, j) >= kCertainMagnitude || (waiting >> (kSumColumns * i + j) & 1u) == 0);
    }
  }
  return all;
}

// All threads: the sums, which may end where none that is waited for can change its entry's answer: sums only grow.
template <class Unit>
__device__ __forceinline__ void sum_magnitudes(Shared& shared, const ByteSource& source, MagnitudeSums& sum,
                                               std::uint64_t waiting, int row, int column) {
  const Steps<kByteStep> steps(shared, source.p.job.a.view.inner);
  constexpr int stages = Unit::kAreaBytes / static_cast<int>(sizeof(StepBytes));
  static_assert((stages & (stages - 1)) == 0);
  StepBytes* const bytes = shared.area<StepBytes>();
  const auto fetch = [&](std::int32_t step) {
    if (step < steps.count) source.fetch(bytes[step % stages], steps.first_k(step));
    commit_copies();
  };
#pragma unroll 1
  for (std::int32_t step = 0; step < stages; ++step) fetch(step);
  wait_copies<stages - 1>();
  __syncthreads();  // the first stage is there
  ByteFragments even, odd;
  even.load(bytes[0], 0, row, column);
  std::int32_t question = 0;  // the step before which the sums are looked at
#pragma unroll 1
  for (std::int32_t step = 0; step < steps.count; ++step) {
    if (step == question) {
      if (__syncthreads_and(are_certain(sum, waiting)) != 0) break;
      question = max(2, 4 * question);
    }
    odd.load(bytes[step % stages], 1, row, column);
    even.multiply(sum);
    wait_copies<stages - 2>();
    __syncthreads();  // the next stage is there, and all have read this one
    fetch(step + stages);
    even.load(bytes[(step + 1) % stages], 0, row, column);
    odd.multiply(sum);
  }
  wait_all_copies();
}

// Whether a listed entry is kept after all. L may be cut as certifies_magnitude says, and is, at 2^31 - 1.
__device__ __noinline__ bool keeps(const LineRecord& a, const LineRecord& b, std::uint32_t magnitude, std::int64_t inner) {
  return keeps_entry(a, b, magnitude, inner);
}

// The columns of a warp's part, a lane each.
struct ColumnFacts {
  std::uint32_t nonzero, several, rounded;   // which have nonzero entries, several of them, rounded ones
  std::int64_t most_nonzeros, depth, inner;  // of a column; the least depth

  __device__ __forceinline__ ColumnFacts(const LineRecord& own, std::int64_t inner)
      : nonzero(__ballot_sync(0xFFFFFFFFu, own.nonzeros != 0)),
        several(__ballot_sync(0xFFFFFFFFu, own.nonzeros > 1)),
        rounded(__ballot_sync(0xFFFFFFFFu, own.rounded != 0)),
        most_nonzeros(own.nonzeros),
        depth(own.nonzeros != 0 ? own.depth : std::int64_t(1) << 43),
        inner(inner) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
      most_nonzeros = max(most_nonzeros, std::int64_t(__shfl_xor_sync(0xFFFFFFFFu, most_nonzeros, apart)));
      depth = min(depth, std::int64_t(__shfl_xor_sync(0xFFFFFFFFu, depth, apart)));
    }
  }

  // The columns with entries in a row that are not kept for any L below kHopelessMagnitude: neither exact nor certified by depth.
  __device__ __forceinline__ std::uint32_t hopeless(const LineRecord& row) const {
    const bool may_be_certified = certifies_depth(row.depth + depth, row.nonzeros + most_nonzeros - inner, 1);
    return row.nonzeros == 0 || may_be_certified ? 0 : row.rounded != 0 ? nonzero : rounded;
  }
};

// An entry of an update that is kept goes where it belongs.
template <class T>
__device__ __noinline__ void place_kept(const ChainJob& job, const RepairMatrix& matrix, std::int32_t matrix_index,
                                        std::int64_t row, std::int64_t column) {
  const KeptValues& kept = job.kept;
  matrix.entry<T>(job, row, column) =
      reinterpret_cast<const T*>(kept.data)[matrix_index * kept.matrix_stride + row * kept.pitch + column];
}

// Entries that a thread leaves on the list: all of them, and those with chains that are still to be made.
struct LeftEntries {
  std::uint32_t chains = 0, open = 0;
};

// All threads: takes off the list of a tile what is kept.
template <class Unit, bool Updates>
__device__ __forceinline__ LeftEntries ask_tile(Shared& shared, const Parameters& p, const Tile& tile) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  if (read_list(shared, p, tile).entries == 0) return {};
  const RepairMatrix matrix(p.job, tile.matrix);
  find_pieces(shared, p, matrix, tile, kHasMagnitudes);
  const ByteSource source(p, matrix, tile);
  static_assert(kLines == kThreads);
  const bool is_b = thread >= kRows;
  const int own_line = is_b ? thread - kRows : thread;
  const bool has_line = own_line < (is_b ? source.columns : source.rows);
  shared.record[thread] = has_line ? (is_b ? source.b : source.a).record[own_line] : LineRecord{};
  __syncthreads();
  const int first_row = warp % kWarpsAlongRows * kWarpRows, first_column = warp / kWarpsAlongRows * kWarpColumns;
  const std::int64_t inner = p.job.a.view.inner;
  const ColumnFacts facts(shared.record[kRows + first_column + lane], inner);
  const std::uint64_t waiting = waiting_sums(shared, facts.several, first_row, first_column);
  MagnitudeSums sum = {};
  sum_magnitudes<Unit>(shared, source, sum, waiting, first_row, first_column);
  // Where no index has nonzero entries of both, chains are the +0 that is stored.
  if (shared.pieces == 0) find_pieces(shared, p, matrix, tile, kHasEntries);
  const bool is_made = shared.pieces == 0 && !Updates && matrix.bound == nullptr;
  LeftEntries left;
#pragma unroll
  for (int i = 0; i < kSumRows; ++i) {
    const int row = first_row + row_of_sum(i);
    const std::uint32_t word = shared.word[row][first_column / 32], hopeless = facts.hopeless(shared.record[row]);
    std::uint32_t own = 0;
#pragma unroll
    for (int j = 0; j < kSumColumns; ++j) {
      const int column = column_of_sum(j);
      if ((word >> column & 1u) == 0) continue;
      const std::uint32_t magnitude = sum_of(sum, i, j);
      const bool is_certain = magnitude >= kCertainMagnitude && (waiting >> (kSumColumns * i + j) & 1u) != 0;
      const bool is_hopeless = magnitude < kHopelessMagnitude && (hopeless >> column & 1u) != 0;
      if (is_hopeless ||
          (!is_certain && !keeps(shared.record[row], shared.record[kRows + first_column + column], magnitude, inner))) {
        own |= 1u << column;
      } else if constexpr (Updates) {
        place_kept<typename Unit::Value>(p.job, matrix, tile.matrix, tile.first_row + row,
                                         tile.first_column + first_column + column);
      }
    }
    own |= __shfl_xor_sync(0xFFFFFFFFu, own, 1);
    own |= __shfl_xor_sync(0xFFFFFFFFu, own, 2);
    if (lane % 4 != 0 || word == 0) continue;
    const std::uint32_t open = is_made ? 0 : own;
    if (open != word) tile.words(p, row)[first_column / 32] = open;
    left.chains += static_cast<std::uint32_t>(__popc(own));
    left.open += static_cast<std::uint32_t>(__popc(open));
  }
  return left;
}

// All threads of all blocks: afterwards the list has the chains alone that are to be made.
template <class Unit, bool Updates>
__device__ __forceinline__ void ask_magnitudes(Shared& shared, const Parameters& p) {
  RepairCounts& counts = *p.job.listed.counts;
  unsigned long long chains = 0, open = 0;
  const std::int64_t made = for_taken(shared, counts.tiles_taken, p.tiles, [&](std::int64_t index) {
    const LeftEntries left = ask_tile<Unit, Updates>(shared, p, Tile(p, index));
    chains += left.chains;
    open += left.open;
  });
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    chains += __shfl_xor_sync(0xFFFFFFFFu, chains, apart);
    open += __shfl_xor_sync(0xFFFFFFFFu, open, apart);
  }
  if (threadIdx.x % 32 == 0) {
    if (chains != 0) atomicAdd(&counts.chains, chains);
    if (open != 0) atomicAdd(&counts.open, open);
  }
  wait_until_made(counts.tiles_made, made, p.tiles);
}

}  // namespace ozfp4::cuda::chaining
