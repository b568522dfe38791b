// The operands' entries of a tile: from memory to limbs in shared memory.
#pragma once

#include <cstdint>

#include "arith/limbs/limbs.hpp"
#include "arith/scale_entry.hpp"
#include "cuda/reconstruct/columns.cuh"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/tiles/shape.cuh"
#include "cuda/tiles/split_integer.hpp"

namespace ozfp4::cuda::tiles {

// Where the block works. Worked out anew wherever it is asked for, so that nothing is kept in registers for it: the compiler does
// not see that it is the same.
template <class K>
struct OwnPlace {
  Place place;
  Lines lines;
  int rows, columns;  // that there are

  __device__ __forceinline__ explicit OwnPlace(const TileParameters& p) : place(find(p)), lines(p.job, place) {
    rows = min(K::Rows, p.job.result.rows - place.first_row);
    columns = min(K::Columns, p.job.result.columns - place.first_column);
  }
  static __device__ __forceinline__ Place find(const TileParameters& p) {
    std::int32_t tile, matrix;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(tile));
    asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(matrix));
    const std::int32_t tile_y = tile / p.tiles_x;
    return {matrix, tile_y * K::Rows, (tile - tile_y * p.tiles_x) * K::Columns};
  }
};

// Its lines.
struct Sources {
  Source a, b;
};
template <class K>
__device__ __forceinline__ Sources own_sources(const TileParameters& p) {
  const OwnPlace<K> own(p);
  return {direct::source_of(p.job.a.view, own.lines.a_matrix, own.place.first_row, p.job.result.rows, K::Rows),
          direct::source_of(p.job.b.view, own.lines.b_matrix, own.place.first_column, p.job.result.columns, K::Columns)};
}

// One of them by its values: by its address both would lie in local memory.
__device__ __forceinline__ Source choose(bool is_b, const Sources& sources) {
  const auto &a = sources.a, &b = sources.b;
  return {is_b ? b.data : a.data, is_b ? b.outer_stride : a.outer_stride, is_b ? b.inner_stride : a.inner_stride,
          is_b ? b.lines : a.lines};
}

// A chunk of a line of an operand.
struct Unit {
  int line, chunk;
};

// Unit number `unit` of this thread: neighbouring threads read what are neighbours in memory.
template <class K>
__device__ __forceinline__ Unit own_unit(int unit, bool is_b, bool runs_along_k) {
  const int number = static_cast<int>(threadIdx.x) + (is_b ? unit - K::UnitsOfA : unit) * K::Threads;
  const int lines = is_b ? K::Columns : K::Rows;
  return runs_along_k ? Unit{number / K::Chunks, number % K::Chunks} : Unit{number % lines, number / lines};
}

// Chunks of a line that have entries; the others are zeros.
__device__ __forceinline__ int chunks_used(int inner) { return (inner + kChunk - 1) / kChunk; }

// Entry i of chunk c of a line, of `used` chunks.
__device__ __forceinline__ int entry_of(int chunk, int i, int used) { return 2 * (chunk + used * (i / 2)) + i % 2; }

// Zeros beyond K and where the line or the chunk does not exist. `has_pairs`: whether entries 2 j and 2 j + 1 lie in 16 bytes
// that start at a multiple of them. Returns whether it exists.
__device__ __forceinline__ bool load_unit(double (&x)[kChunk], const Source& from, const Unit& unit, int inner, bool has_pairs) {
  const int used = chunks_used(inner);
  const bool exists = unit.line < from.lines && unit.chunk < used;
  const char* at = from.data + unit.line * from.outer_stride + 2 * unit.chunk * from.inner_stride;
  const std::int64_t step = 2 * used * from.inner_stride;
  if (exists && has_pairs && inner % kChunk == 0) {
#pragma unroll
    for (int i = 0; i < kChunk; i += 2) {
      const auto pair = *reinterpret_cast<const double2*>(at + i / 2 * step);
      x[i] = pair.x, x[i + 1] = pair.y;
    }
    return true;
  }
  const int end = exists ? inner : 0;
#pragma unroll
  for (int i = 0; i < kChunk; i += 2) {
    const char* pair = at + i / 2 * step;
    const int entry = entry_of(unit.chunk, i, used);
    x[i] = entry < end ? *reinterpret_cast<const double*>(pair) : 0.0;
    x[i + 1] = entry + 1 < end ? *reinterpret_cast<const double*>(pair + from.inner_stride) : 0.0;
  }
  return exists;
}

// Limbs First .. First + 3, those that there are, of a unit: word `word` of its integers.
template <class K, int First>
__device__ __forceinline__ void store_limbs(const std::uint32_t (&word)[kChunk], std::uint32_t target) {
  std::uint32_t limb[4][kChunk / 4];
#pragma unroll
  for (int i = 0; i < kChunk / 4; ++i) {
    std::uint32_t byte[4];
    transpose_bytes({word[4 * i], word[4 * i + 1], word[4 * i + 2], word[4 * i + 3]}, byte);
#pragma unroll
    for (int l = 0; l < 4; ++l) limb[l][i] = byte[l] ^ kSplitOffset;  // the digit that is 128 less
  }
#pragma unroll
  for (int l = 0; l < 4 && First + l < K::Limbs; ++l) {
    store_shared(target + static_cast<std::uint32_t>((First + l) * K::PlaneBytes),
                 {limb[l][0], limb[l][1], limb[l][2], limb[l][3]});
  }
}

// Cuts a unit of the block's lines into limbs. All lanes of the warp call it.
template <class K>
__device__ __forceinline__ void encode_unit(TileShared<K>& shared, double (&x)[kChunk], const Unit& unit) {
  const int shift = shared.line[unit.line].shift;
  [[maybe_unused]] const SplitScale scale = split_scale(shift);
  const std::uint32_t target = shared_address(shared.planes) + static_cast<std::uint32_t>(unit.line * K::Inner) +
                               place_of_chunk<K>(static_cast<std::uint32_t>(unit.line), static_cast<std::uint32_t>(unit.chunk));
  std::uint32_t low[kChunk], high[kChunk];
#if OZFP4_HAS_FEW_FP64_UNITS || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 860)
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const std::uint64_t integer = static_cast<std::uint64_t>(scaled_integer(x[i], shift)) + kByteHalves;
    low[i] = static_cast<std::uint32_t>(integer), high[i] = static_cast<std::uint32_t>(integer >> 32);
  }
#else
  if (__any_sync(0xFFFFFFFFu, scale.rest != 1.0)) {
#pragma unroll
    for (double& entry : x) entry *= scale.rest;
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const SplitInteger integer = split_integer(x[i], scale.factor);
    low[i] = integer.low, high[i] = integer.high;
  }
#endif
  store_limbs<K, 0>(low, target);
  store_limbs<K, 4>(high, target);
}

}  // namespace ozfp4::cuda::tiles
