// The encode kernel: persistent blocks, each with one tile in work and the next on its way into shared memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/e2m1.hpp"
#include "encode/encode_limbs.cuh"
#include "scale/dependent_launch.cuh"

namespace ozfp4::cuda {

// ---- Shared memory: the tiles, the lines of three tiles, the units, the table -------------------------------------------

template <EncodeKind Kind>
inline constexpr bool kHasLimbTable = Kind == EncodeKind::limb_tables || Kind == EncodeKind::int8_limbs;
template <EncodeKind Kind>
using TableOf = std::conditional_t<kHasLimbTable<Kind>, LimbTable, NoTable>;

// Words of the table, three limbs each.
template <EncodeKind Kind>
__host__ __device__ inline int shared_table_entries(int table_entries) {
  return kHasLimbTable<Kind> ? table_entries : Kind == EncodeKind::digits13 ? kTripleEntries : 0;
}

template <EncodeKind Kind>
__host__ __device__ inline int encode_shared_bytes(const EncodeArguments& arguments) {
  return kStages * static_cast<int>(arguments.most_tile_bytes) + arguments.units * static_cast<int>(sizeof(SharedUnit)) +
         kPlaces * static_cast<int>(arguments.most_tile_lines * sizeof(TileLine)) +
         4 * shared_table_entries<Kind>(arguments.table_entries);
}

__device__ __forceinline__ void fill_units(SharedUnit* units, const EncodeArguments& arguments) {
  const auto u = static_cast<int>(threadIdx.x);
  if (u < arguments.units) units[u] = {arguments.unit[u].modulus, arguments.unit[u].table, arguments.unit[u].planes};
}

template <EncodeKind Kind>
__device__ __forceinline__ void fill_table(std::uint32_t* table, const TableOf<Kind>& source, int entries) {
  for (int i = static_cast<int>(threadIdx.x); i < entries; i += kEncodeThreads) {
    if constexpr (kHasLimbTable<Kind>) {
      const unsigned codes = source.entry[i];
      std::uint32_t word = 0;
#pragma unroll
      for (int p = 0; p < 3; ++p) word |= static_cast<std::uint32_t>(e2m1_decode((codes >> (4 * p)) & 15u) & 255) << (8 * p);
      table[i] = word;
    } else if constexpr (Kind == EncodeKind::digits13) {
      table[i] = triple_word(i);
    }
  }
}

// ---- The kernel ------------------------------------------------------------------------------------------------------------

struct EncodeShared {
  unsigned char* tiles;
  SharedUnit* units;
  std::uint32_t* table;
};

template <class T, EncodeKind Kind, int Words>
__device__ __forceinline__ void encode_tile(const EncodeArguments& arguments, const TilePlace& place, const unsigned char* tile,
                                            const EncodeShared& shared, int units) {
  const TileOrigin origin = *place.origin;
  const EncodeOperand& operand = arguments.operand[origin.is_b];
#pragma unroll 1
  for (std::uint32_t group = threadIdx.x; group < operand.steps * (kStepEntries<T> / kGroup); group += kEncodeThreads) {
    const GroupPlace at = group_place<T>(operand, group);
    const TileLine line = place.line[at.line];
    if (line.source == nullptr || origin.k0 + at.k >= operand.padded_inner) continue;
    const PlaneWriter writer(operand.planes.data + (line.target + at.k), operand.planes.plane_stride);
    T x[kGroup];
    read_group(tile, operand, at, x);
    if constexpr (Kind == EncodeKind::int8_limbs) {
      encode_int8(x, writer, shared.units, units, shared.table);
    } else {
      std::conditional_t<Words == 2, std::int64_t, std::int32_t> v[kGroup];
      scale_group(x, line.shift, v);
      if constexpr (Kind == EncodeKind::digits13) {
        encode_digits13(v, writer, arguments.planes, shared.table);
      } else if constexpr (Kind == EncodeKind::digits256) {
        encode_digits256(v, writer, arguments.planes);
      } else {
        encode_residues<Kind, Words>(v, writer, shared.units, units, shared.table);
      }
    }
  }
}

// Blocks a multiprocessor that leave the compiler enough registers.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900)
template <EncodeKind Kind>
inline constexpr int kEncodeBlocks = 4;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030)
template <EncodeKind Kind>
inline constexpr int kEncodeBlocks = Kind == EncodeKind::int8_limbs ? 2 : 3;
#else
template <EncodeKind Kind>
inline constexpr int kEncodeBlocks = 2;  // consumer cards: their 100 KiB of shared memory admit no more
#endif

template <class T, EncodeKind Kind, int Words>
__global__ void __launch_bounds__(kEncodeThreads, kEncodeBlocks<Kind>)
    encode_kernel(const __grid_constant__ EncodeArguments arguments, const __grid_constant__ TableOf<Kind> limb_table) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  __shared__ TileOrigin origins[kPlaces];
  EncodeShared shared;
  shared.tiles = shared_bytes;
  shared.units = reinterpret_cast<SharedUnit*>(shared_bytes + kStages * arguments.most_tile_bytes);
  auto* lines = reinterpret_cast<TileLine*>(shared.units + arguments.units);
  shared.table = reinterpret_cast<std::uint32_t*>(lines + kPlaces * arguments.most_tile_lines);
  const auto place_at = [&](std::uint32_t i) { return TilePlace{origins + i, lines + i * arguments.most_tile_lines}; };
  fill_units(shared.units, arguments);
  fill_table<Kind>(shared.table, limb_table, shared_table_entries<Kind>(arguments.table_entries));
  let_next_kernel_start();

  // What the previous kernel may still be writing is not read before this wait: everything, or what scale leaves.
  if (!arguments.reads_early) wait_for_previous_kernel();
  std::uint32_t next = blockIdx.x;
  find_tile(arguments, next, place_at(0));

  // Every round starts to load the next tile and encodes the current one (the first round has none). One barrier ends the
  // encoding of the previous tile and publishes the next one's addresses, the other publishes the current tile's entries.
  // Of three places none is written while a slower thread may still read it.
  int units = arguments.units;
  std::uint32_t place = kPlaces - 1, stage = 1;
  for (bool is_first = true;; is_first = false) {
    const bool has_next = next < arguments.tiles;
    const std::uint32_t next_place = place == kPlaces - 1 ? 0 : place + 1;
    __syncthreads();
    if (has_next) load_tile<T>(arguments, place_at(next_place), shared.tiles + (stage ^ 1) * arguments.most_tile_bytes);
    if (is_first) {
      wait_for_previous_kernel();
      if (arguments.units_used != nullptr) units = min(units, __ldg(arguments.units_used));
    }
    if (has_next) load_shifts(arguments, place_at(next_place));
    commit_copies();
    wait_for_copies<1>();
    __syncthreads();
    next += gridDim.x;
    if (next < arguments.tiles) find_tile(arguments, next, place_at(kPlaces - place - next_place));
    if (!is_first)
      encode_tile<T, Kind, Words>(arguments, place_at(place), shared.tiles + stage * arguments.most_tile_bytes, shared, units);
    if (!has_next) return;
    place = next_place;
    stage ^= 1;
  }
}

}  // namespace ozfp4::cuda
