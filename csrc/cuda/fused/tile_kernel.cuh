// The kernel: scale, encode, multiply and reconstruct of a tile of a product whose K is short, without anything in memory but the
// operands and the result.
#pragma once

#include <cstdint>

#include "cuda/dependent_launch.cuh"
#include "cuda/fused/tile_finish.cuh"

namespace ozfp4::cuda::fused {

// What is kept of sixteen entries of a line until all of it is known: where nothing is certified the largest upper word decides
// nearly always.
template <bool Certifies>
struct UnitState {
  using State = ShortRecordedState;
  static constexpr int words = 2 * kStateWords<State>;
  __device__ __forceinline__ static void store(std::uint32_t* states, int at, const double (&x)[kChunk]) {
    State state;
    add_batch(state, x);
    cuda::store_words(reinterpret_cast<std::uint64_t*>(states), static_cast<std::uint64_t>(at), pack(state));
  }
  __device__ __forceinline__ static State line(const std::uint32_t* states, int line, int lines, int chunks, const Source&, int,
                                               int) {
    State state;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const auto at = static_cast<std::uint64_t>(chunk * lines + line);
      state = combine(state, unpack(cuda::load_words<State>(reinterpret_cast<const std::uint64_t*>(states), at)));
    }
    return state;
  }
};
template <>
struct UnitState<false> {
  static constexpr int words = 1;
  __device__ __forceinline__ static void store(std::uint32_t* states, int at, const double (&x)[kChunk]) {
    std::uint32_t largest = 0;
#pragma unroll
    for (const double entry : x) largest = max(largest, upper_word(entry));
    states[at] = largest;
  }
  // `number`: of the line in its operand.
  __device__ __forceinline__ static LineState line(const std::uint32_t* states, int line, int lines, int chunks,
                                                   const Source& from, int number, int inner) {
    std::uint32_t largest = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) largest = max(largest, states[chunk * lines + line]);
    LineState state;
    if (is_plain<double>(largest)) {
      state.sum.exponent = static_cast<int>(largest >> UpperWord<double>::fraction_bits) - UpperWord<double>::bias;
      return state;
    }
    if (number >= from.lines) return state;
    const char* at = from.data + number * from.outer_stride;
#pragma unroll 1
    for (int k = 0; k < inner; ++k, at += from.inner_stride) {
      const double entry[1] = {*reinterpret_cast<const double*>(at)};
      add_batch(state, entry);
    }
    return state;
  }
};

template <bool Certifies>
__device__ __forceinline__ void share_state(TileShared<Certifies>& shared, const double (&x)[kChunk], int line, int chunk) {
  UnitState<Certifies>::store(reinterpret_cast<std::uint32_t*>(shared.planes), chunk * kTileLines + line, x);
}

__device__ __forceinline__ void settle_norm(TileShared<false>&, const LineState&, int, int) {}
template <class Sum>
__device__ __forceinline__ void settle_norm(TileShared<true>& shared, const RecordedStateOf<Sum>& state, int at, int inner) {
  const int capacity = shared.line[at].capacity;
  const double bound = norm_squared_bound(state.line.sum.sum, inner, capacity);
  constexpr std::int32_t none = 1 << 20;  // more than all moduli hold; what a line of zeros has below nothing
  shared.log_square[at] = bound == 0.0                  ? -none
                          : capacity > kTileIntegerBits ? none  // its residues are not those of its integers
                                                        : exponent_of_magnitude<double>(magnitude_bits(bound)) + 1;
}

// What scale finds of the block's lines, from the states of their units. All threads call it.
template <bool Certifies>
__device__ __forceinline__ void settle_lines(TileShared<Certifies>& shared, const TileParameters& p, const Source& a,
                                             const Source& b) {
  static_assert(kTileLines * kChunks * UnitState<Certifies>::words * 4 <= sizeof shared.planes, "states lie where planes will");
  const int inner = p.job.a.view.inner, at = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (at < kTileLines) {
    const auto state = UnitState<Certifies>::line(reinterpret_cast<const std::uint32_t*>(shared.planes), at, kTileLines, kChunks,
                                                  choose(at >= kTile, a, b), at < kTile ? at : at - kTile, inner);
    direct::settle(shared, p, state, at);
    settle_norm(shared, state, at, inner);
  }
  __syncthreads();
}

// The tests of the rows, of the columns that there are.
__device__ __forceinline__ void share_tests(TileShared<true>& shared, const TileParameters& p, int columns) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  if (thread >= kTile) return;
  short_form::SegmentRecord segment;
  for (int i = 0; i < kTile; i += 32) segment.add(shared.record[kTile + min(lane + i, columns - 1)]);
  segment.combine();
  const std::int32_t test = short_form::fp64_test(shared.record[thread], segment, p.job.a.view.inner, p.certification.precision);
  shared.test[thread] = test == short_form::kNoTest ? test : test + shared.columns.shift;
}
__device__ __forceinline__ void share_tests(TileShared<false>&, const TileParameters&, int) {}

// Blocks a multiprocessor that leave the compiler enough registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
inline constexpr int kTileBlocks = 2;
#else
inline constexpr int kTileBlocks = 1;
#endif

// Where the block works; worked out anew wherever it is asked for, so that nothing is kept in registers for it.
__device__ __forceinline__ Place own_place(const TileParameters& p) {
  std::int32_t tile, matrix;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(tile));
  asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(matrix));
  const std::int32_t tile_y = tile / p.tiles_x;
  return {matrix, tile_y * kTile, (tile - tile_y * p.tiles_x) * kTile};
}

template <bool Certifies>
__global__ void __launch_bounds__(kTileThreads, kTileBlocks) tile_kernel(const __grid_constant__ TileParameters p) {
  extern __shared__ __align__(128) unsigned char memory[];
  auto& shared = *reinterpret_cast<TileShared<Certifies>*>(memory);
  let_next_kernel_start();
  fill_tables(shared, p.tables);
  wait_for_previous_kernel();
  const ReconstructJob& job = p.job;
  const Place place = own_place(p);
  const Lines lines(job, place);
  const Source a = direct::source_of(job.a.view, lines.a_matrix, place.first_row, job.result.rows, kTile);
  const Source b = direct::source_of(job.b.view, lines.b_matrix, place.first_column, job.result.columns, kTile);

  const int inner = job.a.view.inner, count = p.tables.count;
  const Unit unit_a = own_unit(p.runs_along_k[0]), unit_b = own_unit(p.runs_along_k[1]);
  constexpr bool holds = !Certifies;  // the entries, for the first pass: where more is found of them, registers are too few
  double x_a[kChunk], x_b[kChunk];
  load_unit(x_a, a, unit_a, inner);
  if constexpr (holds) load_unit(x_b, b, unit_b, inner);
  share_state(shared, x_a, unit_a.line, unit_a.chunk);
  if constexpr (!holds) load_unit(x_b, b, unit_b, inner);
  share_state(shared, x_b, kTile + unit_b.line, unit_b.chunk);
  settle_lines(shared, p, a, b);
  if (place.first_column == 0) direct::keep<Certifies>(shared, job.a, lines.a, 0, a.lines);
  if (place.first_row == 0) direct::keep<Certifies>(shared, job.b, lines.b, kTile, b.lines);
  share_tests(shared, p, b.lines);

  std::uint32_t residue[kResidueWords][kOwnEntries] = {};
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    if (pass * kPassModuli < count) {
      if (pass > 0) __syncthreads();
      if (holds && pass == 0) {
        encode_unit(shared, x_a, unit_a.line, unit_a.chunk, 0, count);
        encode_unit(shared, x_b, kTile + unit_b.line, unit_b.chunk, 0, count);
      } else {  // read again: registers hold residues of the result
#pragma unroll 1
        for (int is_b = 0; is_b < 2; ++is_b) {
          const Unit unit = own_unit(p.runs_along_k[is_b]);
          double x[kChunk];
          load_unit(x, choose(is_b != 0, a, b), unit, inner);
          encode_unit(shared, x, is_b * kTile + unit.line, unit.chunk, pass * kPassModuli, count);
        }
      }
      __syncthreads();
      const Fragments fragments(shared);
#pragma unroll
      for (int word = 0; word < kPassModuli / 4; ++word) {
        multiply_word(shared, fragments, word, pass * kPassModuli, count, residue[pass * kPassModuli / 4 + word]);
      }
    }
  }
  __syncthreads();  // the planes were read
  const Place place_again = own_place(p);
  const Lines lines_again(job, place_again);
  const WarpPlace warp(p, lines_again, place_again, kWarpsAlongRows, a.lines, b.lines);
  const std::uint32_t residues = shared_address(shared.planes) + threadIdx.x / 32 * (kWarpRows * kWarpColumns * 16);
  store_residues(residues, residue);
  __syncwarp();
  const int column = kTile + warp.column + static_cast<int>(threadIdx.x) % 32;
  finish(Finishing<Certifies>{shared, p, place_again, warp, residues, shared.line[column]}, a, b);
  patch(shared, p, lines_again, place_again, warp);
}

}  // namespace ozfp4::cuda::fused
