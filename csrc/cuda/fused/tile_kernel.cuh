// The kernel: scale, encode, multiply and reconstruct of a tile of a product whose K is short, without anything in memory but the
// operands and the result.
#pragma once

#include <cstdint>

#include "cuda/dependent_launch.cuh"
#include "cuda/fused/tile_finish.cuh"

namespace ozfp4::cuda::fused {

// The states of an operand's units, to where the block's threads find those of a line.
template <class S, class State>
__device__ __forceinline__ void share_states(std::uint64_t* states, const Source& from, bool runs_along_k, int at, int inner) {
#pragma unroll 1
  for (int i = 0; i < S::units; ++i) {
    const Unit unit = unit_of<S>(i, runs_along_k);
    double x[16];
    load_unit<S>(x, from, unit, inner);
    State state;
    add_batch(state, x);
    store_words(states, static_cast<std::uint64_t>(unit.chunk * kTileLines + at + unit.line), pack(state));
  }
}

__device__ __forceinline__ void settle_norm(TileShared<false>&, const LineState&, int, int) {}
template <class Sum>
__device__ __forceinline__ void settle_norm(TileShared<true>& shared, const RecordedStateOf<Sum>& state, int at, int inner) {
  const double bound = norm_squared_bound(state.line.sum.sum, inner, shared.line[at].capacity);
  shared.log_square[at] = bound == 0.0 ? -(1 << 20) : exponent_of_magnitude<double>(magnitude_bits(bound)) + 1;
}

// What scale finds of the block's lines. All threads call it.
template <class S, bool Certifies>
__device__ __forceinline__ void scale(TileShared<Certifies>& shared, const TileParameters& p, const Source& a, const Source& b) {
  using State = direct::StateOf<Certifies>;
  static_assert(kTileLines * S::Chunks * kStateWords<State> * 8 <= sizeof shared.planes, "states lie where planes will");
  auto* states = reinterpret_cast<std::uint64_t*>(shared.planes);
  const int inner = p.job.a.view.inner, at = static_cast<int>(threadIdx.x);
  share_states<S, State>(states, a, p.runs_along_k[0], 0, inner);
  share_states<S, State>(states, b, p.runs_along_k[1], kTile, inner);
  __syncthreads();
  if (at < kTileLines) {
    State state;
#pragma unroll 1
    for (int chunk = 0; chunk < S::Chunks; ++chunk) {
      state = combine(state, unpack(load_words<State>(states, static_cast<std::uint64_t>(chunk * kTileLines + at))));
    }
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
  const std::int32_t test =
      short_form::fp64_test(shared.record[thread], segment, p.job.a.view.inner, p.certification.precision);
  shared.test[thread] = test == short_form::kNoTest ? test : test + shared.columns.shift;
}
__device__ __forceinline__ void share_tests(TileShared<false>&, const TileParameters&, int) {}

template <class S, bool Certifies>
__global__ void __launch_bounds__(kTileThreads, 2) tile_kernel(const __grid_constant__ TileParameters p) {
  extern __shared__ __align__(128) unsigned char memory[];
  auto& shared = *reinterpret_cast<TileShared<Certifies>*>(memory);
  let_next_kernel_start();
  fill_tables(shared, p.tables);
  wait_for_previous_kernel();
  const ReconstructJob& job = p.job;
  const std::int32_t tile = static_cast<std::int32_t>(blockIdx.x), tile_y = tile / p.tiles_x, tile_x = tile % p.tiles_x;
  const Place place{static_cast<std::int32_t>(blockIdx.y), tile_y * kTile, tile_x * kTile};
  const Lines lines(job, place);
  const Source a = direct::source_of(job.a.view, lines.a_matrix, place.first_row, job.result.rows, kTile);
  const Source b = direct::source_of(job.b.view, lines.b_matrix, place.first_column, job.result.columns, kTile);

  scale<S>(shared, p, a, b);
  if (tile_x == 0) direct::keep<Certifies>(shared, job.a, lines.a, 0, a.lines);
  if (tile_y == 0) direct::keep<Certifies>(shared, job.b, lines.b, kTile, b.lines);
  share_tests(shared, p, b.lines);

  const int inner = job.a.view.inner, steps = (inner + 31) / 32 > 0 ? S::inner / 32 : 0;
  std::uint32_t residue[kResidueWords][kOwnEntries] = {};
#pragma unroll
  for (int pass = 0; pass < S::passes; ++pass) {
    if (pass * S::moduli < p.tables.count) {
      if (pass > 0) __syncthreads();
      encode_operand<S>(shared, a, p.runs_along_k[0], 0, inner, pass * S::moduli, p.tables.count);
      encode_operand<S>(shared, b, p.runs_along_k[1], kTile, inner, pass * S::moduli, p.tables.count);
      __syncthreads();
      const Fragments<S> fragments(shared);
#pragma unroll
      for (int word = 0; word < S::moduli / 4; ++word) {
        multiply_word<S>(shared, fragments, word, pass * S::moduli, p.tables.count, steps,
                         residue[pass * S::moduli / 4 + word]);
      }
    }
  }
  __syncthreads();  // the planes were read
  const WarpPlace warp(p, lines, place, a.lines, b.lines);
  const std::uint32_t residues = shared_address(shared.planes) + threadIdx.x / 32 * (kWarpRows * kWarpColumns * 16);
  store_residues(residues, residue);
  __syncwarp();
  finish(shared, p, place, warp, residues, a, b);
  patch(shared, p, lines, place, warp);
}

}  // namespace ozfp4::cuda::fused
