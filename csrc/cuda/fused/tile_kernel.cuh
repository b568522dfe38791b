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
  __device__ __forceinline__ static void store(std::uint32_t* states, int at, const double (&x)[16]) {
    State state;
    add_batch(state, x);
    cuda::store_words(reinterpret_cast<std::uint64_t*>(states), static_cast<std::uint64_t>(at), pack(state));
  }
  __device__ __forceinline__ static State line(const std::uint32_t* states, int line, int lines, int chunks, const Source&, int, int) {
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
  __device__ __forceinline__ static void store(std::uint32_t* states, int at, const double (&x)[16]) {
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

template <class S, bool Certifies>
__device__ __forceinline__ void share_state(TileShared<S, Certifies>& shared, const double (&x)[16], int line, int chunk) {
  UnitState<Certifies>::store(reinterpret_cast<std::uint32_t*>(shared.planes), chunk * S::lines + line, x);
}

// Of all of an operand's units.
template <class S, int Units, bool Certifies>
__device__ __forceinline__ void share_states(TileShared<S, Certifies>& shared, const Source& from, bool runs_along_k, int at,
                                             int lines, int inner) {
#pragma unroll 1
  for (int i = 0; i < Units; ++i) {
    const Unit unit = unit_of<S>(i, runs_along_k, lines);
    double x[16];
    load_unit<S>(x, from, unit, inner, lines);
    share_state<S>(shared, x, at + unit.line, unit.chunk);
  }
}

template <class S>
__device__ __forceinline__ void settle_norm(TileShared<S, false>&, const LineState&, int, int) {}
template <class S, class Sum>
__device__ __forceinline__ void settle_norm(TileShared<S, true>& shared, const RecordedStateOf<Sum>& state, int at, int inner) {
  const double bound = norm_squared_bound(state.line.sum.sum, inner, shared.line[at].capacity);
  shared.log_square[at] = bound == 0.0 ? -(1 << 20) : exponent_of_magnitude<double>(magnitude_bits(bound)) + 1;
}

// What scale finds of the block's lines, from the states of their units. All threads call it.
template <class S, bool Certifies>
__device__ __forceinline__ void settle_lines(TileShared<S, Certifies>& shared, const TileParameters& p, const Source& a,
                                             const Source& b) {
  static_assert(S::lines * S::Chunks * UnitState<Certifies>::words * 4 <= sizeof shared.planes, "states lie where planes will");
  const int inner = p.job.a.view.inner, at = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (at < S::lines) {
    const auto state = UnitState<Certifies>::line(reinterpret_cast<const std::uint32_t*>(shared.planes), at, S::lines,
                                                  S::Chunks, at < S::rows ? a : b, at < S::rows ? at : at - S::rows, inner);
    direct::settle(shared, p, state, at);
    settle_norm(shared, state, at, inner);
  }
  __syncthreads();
}

// The tests of the rows, of the columns that there are.
template <class S>
__device__ __forceinline__ void share_tests(TileShared<S, true>& shared, const TileParameters& p, int columns) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  if (thread >= S::rows) return;
  short_form::SegmentRecord segment;
  for (int i = 0; i < kTileColumns; i += 32) segment.add(shared.record[S::rows + min(lane + i, columns - 1)]);
  segment.combine();
  const std::int32_t test =
      short_form::fp64_test(shared.record[thread], segment, p.job.a.view.inner, p.certification.precision);
  shared.test[thread] = test == short_form::kNoTest ? test : test + shared.columns.shift;
}
template <class S>
__device__ __forceinline__ void share_tests(TileShared<S, false>&, const TileParameters&, int) {}

template <class S, bool Certifies>
__global__ void __launch_bounds__(S::threads, S::blocks) tile_kernel(const __grid_constant__ TileParameters p) {
  extern __shared__ __align__(128) unsigned char memory[];
  auto& shared = *reinterpret_cast<TileShared<S, Certifies>*>(memory);
  let_next_kernel_start();
  fill_tables(shared, p.tables);
  wait_for_previous_kernel();
  const ReconstructJob& job = p.job;
  const std::int32_t tile = static_cast<std::int32_t>(blockIdx.x), tile_y = tile / p.tiles_x, tile_x = tile % p.tiles_x;
  const Place place{static_cast<std::int32_t>(blockIdx.y), tile_y * S::rows, tile_x * kTileColumns};
  const Lines lines(job, place);
  const Source a = direct::source_of(job.a.view, lines.a_matrix, place.first_row, job.result.rows, S::rows);
  const Source b = direct::source_of(job.b.view, lines.b_matrix, place.first_column, job.result.columns, kTileColumns);

  const int inner = job.a.view.inner, count = p.tables.count;
  constexpr bool holds = S::units_a == 1 && S::units_b == 1;  // both operands' entries, from scale to the first pass
  const Unit unit_a = unit_of<S>(0, p.runs_along_k[0], S::rows), unit_b = unit_of<S>(0, p.runs_along_k[1], kTileColumns);
  double held_a[16], held_b[16];
  if constexpr (holds) {
    load_unit<S>(held_a, a, unit_a, inner, S::rows);
    load_unit<S>(held_b, b, unit_b, inner, kTileColumns);
    share_state<S>(shared, held_a, unit_a.line, unit_a.chunk);
    share_state<S>(shared, held_b, S::rows + unit_b.line, unit_b.chunk);
  } else {
    share_states<S, S::units_a>(shared, a, p.runs_along_k[0], 0, S::rows, inner);
    share_states<S, S::units_b>(shared, b, p.runs_along_k[1], S::rows, kTileColumns, inner);
  }
  settle_lines<S>(shared, p, a, b);
  if (tile_x == 0) direct::keep<Certifies>(shared, job.a, lines.a, 0, a.lines);
  if (tile_y == 0) direct::keep<Certifies>(shared, job.b, lines.b, S::rows, b.lines);
  share_tests(shared, p, b.lines);

  std::uint32_t residue[kResidueWords][kOwnEntries] = {};
#pragma unroll
  for (int pass = 0; pass < S::passes; ++pass) {
    if (pass * S::moduli < count) {
      if (pass > 0) __syncthreads();
      if (holds && pass == 0) {
        encode_unit<S>(shared, held_a, unit_a.line, unit_a.chunk, 0, count);
        encode_unit<S>(shared, held_b, S::rows + unit_b.line, unit_b.chunk, 0, count);
      } else {
        encode_operand<S, S::units_a>(shared, a, p.runs_along_k[0], 0, S::rows, inner, pass * S::moduli, count);
        encode_operand<S, S::units_b>(shared, b, p.runs_along_k[1], S::rows, kTileColumns, inner, pass * S::moduli, count);
      }
      __syncthreads();
      const Fragments<S> fragments(shared);
#pragma unroll
      for (int word = 0; word < S::moduli / 4; ++word) {
        multiply_word<S>(shared, fragments, word, pass * S::moduli, count, residue[pass * S::moduli / 4 + word]);
      }
    }
  }
  __syncthreads();  // the planes were read
  const WarpPlace warp(p, lines, place, S::warps_y, a.lines, b.lines);
  const std::uint32_t residues = shared_address(shared.planes) + threadIdx.x / 32 * (kWarpRows * kWarpColumns * 16);
  store_residues(residues, residue);
  __syncwarp();
  const int column = S::rows + warp.column + static_cast<int>(threadIdx.x) % 32;
  finish(Finishing<S, Certifies>{shared, p, place, warp, residues, shared.line[column]}, a, b);
  patch<S>(shared, p, lines, place, warp);
}

}  // namespace ozfp4::cuda::fused
