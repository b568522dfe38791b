// Of every listed entry whether it is kept: the sums of the products of magnitude bytes, tile by tile on the matrix unit. What is
// kept leaves the list.
#pragma once

#include "cuda/multiply/ptx/byte_mma.cuh"
#include "cuda/multiply/ptx/ldmatrix.cuh"
#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/standard/planes.cuh"

namespace ozfp4::cuda::settling {

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
      : p(p), a(matrix.a), b(matrix.b), plane_a(nullptr), plane_b(nullptr), rows(tile.rows(p)), columns(tile.columns(p)) {
    a.data += tile.first_row * a.outer_stride;
    a.record += tile.first_row;
    b.data += tile.first_column * b.outer_stride;
    b.record += tile.first_column;
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
      const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(&to[line][place_of_chunk(line, chunk)]));
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(exists ? 16 : 0) : "memory");
    }
  }
};

// One warp: the products of a step.
__device__ __forceinline__ void add_step(MagnitudeSums& sum, const std::uint8_t (&bytes)[kLines][kByteStep], int row,
                                         int column) {
  const int lane = static_cast<int>(threadIdx.x % 32), matrix = lane / 8, own = lane % 8;
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(&bytes[0][0]));
  const auto address = [&](int line, int chunk) {
    return base + static_cast<std::uint32_t>(line * kByteStep + place_of_chunk(line, chunk));
  };
#pragma unroll
  for (int half = 0; half < kByteStep / 32; ++half) {
    std::uint32_t a[kWarpRows / 16][4], b[kWarpColumns / 16][4];
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i) {
      load_matrices(a[i], address(row + 16 * i + 8 * (matrix % 2) + own, 2 * half + matrix / 2));
    }
#pragma unroll
    for (int j = 0; j < kWarpColumns / 16; ++j) {
      load_matrices(b[j], address(kRows + column + 16 * j + 8 * (matrix / 2) + own, 2 * half + matrix % 2));
    }
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i) {
#pragma unroll
      for (int j = 0; j < kWarpColumns / 8; ++j) {
        add_bytes_up_to_most(sum[i][j], a[i][0], a[i][1], a[i][2], a[i][3], b[j / 2][2 * (j % 2)], b[j / 2][2 * (j % 2) + 1]);
      }
    }
  }
}

template <class Unit>
__device__ __forceinline__ void sum_magnitudes(Shared& shared, const ByteSource& source, MagnitudeSums& sum, int row,
                                               int column) {
  const Steps<kByteStep> steps(shared, source.p.job.a.view.inner);
  constexpr int stages = Unit::kAreaBytes / static_cast<int>(sizeof(StepBytes));
  StepBytes* const bytes = shared.area<StepBytes>();
#pragma unroll 1
  for (int step = 0; step < stages - 1; ++step) {
    if (step < steps.count) source.fetch(bytes[step], steps.first_k(step));
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  int stage = 0, next = stages - 1;
#pragma unroll 1
  for (int step = 0; step < steps.count; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
    __syncthreads();
    if (step + stages - 1 < steps.count) source.fetch(bytes[next], steps.first_k(step + stages - 1));
    asm volatile("cp.async.commit_group;" ::: "memory");
    add_step(sum, bytes[stage], row, column);
    stage = stage + 1 == stages ? 0 : stage + 1;
    next = next + 1 == stages ? 0 : next + 1;
  }
}

// Whether a listed entry is kept after all. L may be cut as certifies_magnitude says, and is, at 2^31 - 1.
__device__ __noinline__ bool keeps(const LineRecord& a, const LineRecord& b, std::uint32_t magnitude, std::int64_t inner) {
  return keeps_entry(a, b, magnitude, inner);
}

// An entry of an update that is kept goes where it belongs.
template <class T>
__device__ __noinline__ void place_kept(const SettleJob& job, const RepairMatrix& matrix, std::int32_t matrix_index,
                                        std::int64_t row, std::int64_t column) {
  const KeptValues& kept = job.kept;
  *reinterpret_cast<T*>(matrix.result + row * job.result.row_stride + column * job.result.column_stride) =
      reinterpret_cast<const T*>(kept.data)[matrix_index * kept.matrix_stride + row * kept.pitch + column];
}

// All threads: takes off the list of a tile what is kept; returns what this thread has left on it.
template <class Unit, bool Updates>
__device__ __forceinline__ std::uint32_t ask_tile(Shared& shared, const Parameters& p, const Tile& tile) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  bool is_listed = false;
#pragma unroll
  for (int i = thread; i < kRows * kWords; i += kThreads) {
    const std::uint32_t word = tile.word(p, i / kWords, i % kWords);
    shared.word[0][i / kWords][i % kWords] = word;
    is_listed = is_listed || word != 0;
  }
  if (__syncthreads_or(is_listed) == 0) return 0;
  const RepairMatrix matrix(p.job, tile.matrix);
  find_pieces(shared, p, matrix, tile);
  const ByteSource source(p, matrix, tile);
  static_assert(kLines == kThreads);
  const bool is_b = thread >= kRows;
  const int own_line = is_b ? thread - kRows : thread;
  if (own_line < (is_b ? source.columns : source.rows)) shared.record[thread] = (is_b ? source.b : source.a).record[own_line];
  const int first_row = warp % kWarpsAlongRows * kWarpRows, first_column = warp / kWarpsAlongRows * kWarpColumns;
  MagnitudeSums sum = {};
  sum_magnitudes<Unit>(shared, source, sum, first_row, first_column);
  __syncthreads();  // the records are there
  const std::uint32_t columns = __ballot_sync(0xFFFFFFFFu, shared.record[kRows + first_column + lane].nonzeros > 1);
  std::uint32_t left = 0;
#pragma unroll
  for (int i = 0; i < kWarpRows / 8; ++i) {
    const int row = first_row + 8 * i + lane / 4;
    const std::uint32_t word = shared.word[0][row][first_column / 32];
    const std::uint32_t several = shared.record[row].nonzeros > 1 ? columns : 0;
    std::uint32_t own = 0;
#pragma unroll
    for (int j = 0; j < kWarpColumns / 4; ++j) {
      const int column = 8 * (j / 2) + 2 * (lane % 4) + j % 2;
      if ((word >> column & 1u) == 0) continue;
      const std::uint32_t magnitude = sum[i / 2][j / 2][2 * (i % 2) + j % 2];
      const bool is_certain = magnitude >= kCertainMagnitude && (several >> column & 1u) != 0;
      if (!is_certain &&
          !keeps(shared.record[row], shared.record[kRows + first_column + column], magnitude, p.job.a.view.inner)) {
        own |= 1u << column;
      } else if constexpr (Updates) {
        place_kept<typename Unit::Value>(p.job, matrix, tile.matrix, tile.first_row + row,
                                         tile.first_column + first_column + column);
      }
    }
    own |= __shfl_xor_sync(0xFFFFFFFFu, own, 1);
    own |= __shfl_xor_sync(0xFFFFFFFFu, own, 2);
    if (lane % 4 != 0 || word == 0) continue;
    if (own != word) tile.words(p, row)[first_column / 32] = own;
    left += static_cast<std::uint32_t>(__popc(own));
  }
  return left;
}

// All threads of all blocks: afterwards the list has the chains alone.
template <class Unit, bool Updates>
__device__ __forceinline__ void ask_magnitudes(Shared& shared, const Parameters& p) {
  RepairCounts& counts = *p.job.listed.counts;
  std::int64_t made = 0;
  unsigned long long left = 0;
#pragma unroll 1
  for (;; ++made) {
    const std::int64_t index = take(shared, counts.tiles_taken);
    if (index >= p.tiles) break;
    left += ask_tile<Unit, Updates>(shared, p, Tile(p, index));
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) left += __shfl_xor_sync(0xFFFFFFFFu, left, apart);
  if (left != 0 && threadIdx.x % 32 == 0) atomicAdd(&counts.chains, left);
  wait_until_made(counts.tiles_made, made, p.tiles);
}

}  // namespace ozfp4::cuda::settling
