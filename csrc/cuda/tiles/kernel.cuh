// The kernel: scale, encode, multiply and reconstruct of a tile of a product of short K, without anything in memory but the
// operands and the result.
#pragma once

#include <cstdint>

#include "cuda/code.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/tiles/finish.cuh"

namespace ozfp4::cuda::tiles {

// The part that is kept of sixteen entries of a line until all of it is known: where nothing is certified the largest upper
// word decides nearly always.
template <bool Certifies>
struct UnitState {
  using Kept = Found;
  __device__ __forceinline__ static Kept of(const double (&x)[kChunk]) {
    ShortRecordedState state;
    add_batch(state, x);
    return found_of(state);
  }
  template <class K>
  __device__ __forceinline__ static Found line(const Kept* states, int line, const TileParameters&) {
    Found found;
#pragma unroll 1
    for (int chunk = 0; chunk < K::Chunks; ++chunk) found = combine<true>(found, states[chunk * K::Lines + line]);
    return found;
  }
};
template <>
struct UnitState<false> {
  using Kept = std::uint32_t;
  __device__ __forceinline__ static Kept of(const double (&x)[kChunk]) {
    std::uint32_t largest = 0;
#pragma unroll
    for (const double entry : x) largest = max(largest, upper_word(entry));
    return largest;
  }
  template <class K>
  __device__ __forceinline__ static Found line(const Kept* states, int line, const TileParameters& p) {
    std::uint32_t largest = 0;
    for (int chunk = 0; chunk < K::Chunks; ++chunk) largest = max(largest, states[chunk * K::Lines + line]);
    LineState state;
    if (is_plain<double>(largest)) {
      state.sum.exponent = static_cast<int>(largest >> UpperWord<double>::fraction_bits) - UpperWord<double>::bias;
      return found_of(state);
    }
    const bool is_b = line >= K::Rows;
    const Source from = choose(is_b, own_sources<K>(p));
    const int number = is_b ? line - K::Rows : line, inner = p.job.a.view.inner;  // in its operand
    if (number >= from.lines) return Found();
    const char* at = from.data + number * from.outer_stride;
#pragma unroll 1
    for (int k = 0; k < inner; ++k, at += from.inner_stride) {
      const double entry[1] = {*reinterpret_cast<const double*>(at)};
      add_batch(state, entry);
    }
    return found_of(state);
  }
};

// The states of units lie where planes will.
template <class K>
__device__ __forceinline__ auto* states_of(TileShared<K>& shared) {
  using Kept = typename UnitState<K::Certifies>::Kept;
  static_assert(K::Lines * K::Chunks * sizeof(Kept) <= sizeof shared.planes, "there is room for them");
  return reinterpret_cast<Kept*>(shared.planes);
}

template <class K>
__device__ __forceinline__ void share_state(TileShared<K>& shared, const double (&x)[kChunk], const Unit& unit, bool exists) {
  using State = UnitState<K::Certifies>;
  states_of(shared)[unit.chunk * K::Lines + unit.line] = exists ? State::of(x) : typename State::Kept();
}

// Does for the block's lines what scale does, from the states of their units. All threads call it.
template <class K>
__device__ __forceinline__ void finish_lines(TileShared<K>& shared, const TileParameters& p) {
  const int at = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (at < K::Lines) {
    const Found found = UnitState<K::Certifies>::template line<K>(states_of(shared), at, p);
    direct::finish_line<K::Certifies>(shared, p.capacity, found, at);
  }
  __syncthreads();
}

// From the operands' entries to limbs. All threads call it.
template <class K>
__device__ __forceinline__ void encode_lines(TileShared<K>& shared, const TileParameters& p) {
  const Sources sources = own_sources<K>(p);
  const auto load = [&](double (&x)[kChunk], int u) {
    const bool is_b = u >= K::UnitsOfA;
    return load_unit(x, choose(is_b, sources), own_unit<K>(u, is_b, p.runs_along_k[is_b]), p.job.a.view.inner, p.has_pairs[is_b]);
  };
  // A unit among the block's lines; worked out anew wherever it is asked for, so that nothing is kept in registers for it.
  const auto unit_of = [&](int u) {
    const bool is_b = u >= K::UnitsOfA;
    const Unit unit = own_unit<K>(u, is_b, p.runs_along_k[is_b]);
    return Unit{unit.line + (is_b ? K::Rows : 0), unit.chunk};
  };
  if constexpr (K::HoldsUnits) {
    double x[K::Units][kChunk];
    bool exists[K::Units];
#pragma unroll
    for (int u = 0; u < K::Units; ++u) exists[u] = load(x[u], u);
#pragma unroll
    for (int u = 0; u < K::Units; ++u) share_state(shared, x[u], unit_of(u), exists[u]);
    finish_lines(shared, p);
#pragma unroll
    for (int u = 0; u < K::Units; ++u) encode_unit(shared, x[u], unit_of(u));
  } else {
    double x[kChunk];
#pragma unroll 2
    for (int u = 0; u < K::Units; ++u) {
      const bool exists = load(x, u);
      share_state(shared, x, unit_of(u), exists);
    }
    finish_lines(shared, p);
#pragma unroll 2
    for (int u = 0; u < K::Units; ++u) {
      load(x, u);
      encode_unit(shared, x, unit_of(u));
    }
  }
}

// Lists the finite entries of rows that the lines do not certify with all `columns` of them.
template <class K>
__device__ __forceinline__ void open_list(TileShared<K>& shared, const TileParameters& p, int columns) {
  if constexpr (K::Certifies) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    if (thread / 32 * 32 >= K::Rows) return;  // whole warps
    short_form::SegmentRecord segment;
    std::uint32_t finite[K::Columns / 32];
#pragma unroll
    for (int i = 0; i < K::Columns / 32; ++i) {
      const int column = min(lane + 32 * i, columns - 1);
      segment.add(shared.record[K::Rows + column]);
      finite[i] = __ballot_sync(0xFFFFFFFFu, lane + 32 * i < columns && shared.line[K::Rows + column].special == kFinite);
    }
    segment.combine();
    if (thread >= K::Rows) return;
    const bool lists = shared.line[thread].special == kFinite &&
                       short_form::standard_test(shared.record[thread], segment, p.job.a.view.inner) != short_form::kNoTest;
#pragma unroll
    for (int i = 0; i < K::Columns / 32; ++i) shared.listed[thread][i] = lists ? finite[i] : 0;
  }
}

// Blocks a multiprocessor that leave the compiler enough registers.
template <class K>
constexpr int tile_blocks() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
  return K::Lines > 64 && sizeof(TileShared<K>) <= 115712 ? 2 : 1;
#else
  return 1;
#endif
}

// Whether a block may have the room on every device that the code is for. Kernels for which there is none are never launched.
// Code of 8.0 is also PTX for devices with more of it, which do without these kernels: see room_of_code.
inline constexpr std::size_t kRoomOfSm80Code = 163 * 1024;
template <class K>
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
constexpr bool kHasRoom = sizeof(TileShared<K>) <= 99 * 1024;
#elif defined(__CUDA_ARCH__) && !OZFP4_IS_SM90_CODE
constexpr bool kHasRoom = sizeof(TileShared<K>) <= kRoomOfSm80Code;
#else
constexpr bool kHasRoom = true;
#endif

// From limbs to results. All threads call it.
template <class K>
__device__ __forceinline__ void multiply_lines(TileShared<K>& shared, const TileParameters& p) {
  const WarpPlace<K> warp(p, OwnPlace<K>(p));
  Fragments<K> fragments(shared.planes, warp.row, warp.column);
  const std::uint32_t bias[4] = {kDiagonalBias, kDiagonalBias, kDiagonalBias, kDiagonalBias};
  const DeviceResult& result = p.job.result;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  char* target = warp.result + lane / 4 * result.row_stride + 2 * (lane % 4) * result.column_stride;
#pragma unroll 1
  for (int first = 0; first < warp.columns(); first += kStepColumns) {
    std::uint32_t sum[kDiagonals<K::Limbs>][4];
    multiply_limbs(fragments, p.job.a.view.inner, bias, sum);
    finish(Finishing<K>{shared, p, warp, first, target}, sum);
    fragments.next_columns();
    target += kStepColumns * result.column_stride;
  }
}

template <class K>
__device__ __forceinline__ void make_tile(TileShared<K>& shared, const TileParameters& p) {
  encode_lines(shared, p);
  {
    const OwnPlace<K> own(p);
    if (own.place.first_column == 0) direct::keep<K::Certifies>(shared, p.job.a, own.lines.a, 0, own.rows);
    if (own.place.first_row == 0) direct::keep<K::Certifies>(shared, p.job.b, own.lines.b, K::Rows, own.columns);
    open_list(shared, p, own.columns);
  }
  __syncthreads();
  multiply_lines(shared, p);
  const OwnPlace<K> own(p);
  leave_list(shared, p.certification.listed, own);
  patch(shared, p, own);
}

template <class K>
__global__ void __launch_bounds__(K::Threads, tile_blocks<K>()) tile_kernel(const __grid_constant__ TileParameters p) {
  extern __shared__ __align__(128) unsigned char memory[];
  if constexpr (kHasRoom<K>) {
    let_next_kernel_start();
    wait_for_previous_kernel();
    make_tile(*reinterpret_cast<TileShared<K>*>(memory), p);
  } else {
    __trap();
  }
}

}  // namespace ozfp4::cuda::tiles
