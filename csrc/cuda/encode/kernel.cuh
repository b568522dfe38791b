// The encode kernel: persistent blocks, each with one tile in work and the next on its way into shared memory.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/encode/block.cuh"

namespace ozfp4::cuda {

// Adds how many entries of a group of a tile the conversion to integers rounds to the records of their lines; all lanes of a warp
// call it. Lines without a rounded entry cost no memory access, and a warp adds once for each of the others: deep lines have half
// of their entries rounded.
template <class T>
__device__ __forceinline__ void count_group(const EncodeArguments& arguments, const TilePlace& place, const unsigned char* tile,
                                            std::uint32_t group) {
  const TileOrigin origin = *place.origin;
  const EncodeOperand& operand = arguments.operand[origin.is_b];
  if (operand.record == nullptr) return;
  const GroupPlace at = group_place<T>(operand, group);
  const TileLine line = place.line[at.line];
  std::uint32_t rounded = 0;
  if (line.source != nullptr && origin.k0 + at.k < operand.padded_inner) {
    with_entries<FloatsOf<T>>(operand, [&](auto entry) {
      decltype(entry) x[kGroup];
      read_group(tile, operand, at, x);
#pragma unroll
      for (int i = 0; i < kGroup; ++i) rounded += is_rounded(x[i], line.shift) ? 1u : 0u;
    });
  }
  constexpr std::uint32_t all = 0xFFFFFFFFu;
  std::uint32_t left = __ballot_sync(all, rounded != 0);
  while (left != 0) {
    const int first = __ffs(static_cast<int>(left)) - 1;
    const bool shares_line = __shfl_sync(all, at.line, first) == at.line;
    const std::uint32_t sum = __reduce_add_sync(all, shares_line ? rounded : 0u);
    if (static_cast<int>(threadIdx.x % 32) == first) {
      LineRecord& record = operand.record[line.shift_source - operand.shift];
      atomicAdd(reinterpret_cast<unsigned long long*>(&record.rounded), static_cast<unsigned long long>(sum));
      if (operand.twin_records != 0) {
        LineRecord& twin = (&record)[operand.twin_records];
        atomicAdd(reinterpret_cast<unsigned long long*>(&twin.rounded), static_cast<unsigned long long>(sum));
      }
    }
    left &= ~__ballot_sync(all, shares_line);
  }
}

// The tiles, the units, the lines of three tiles, the table.
template <EncodeKind Kind, int Words>
__host__ __device__ inline int encode_shared_bytes(const EncodeArguments& arguments) {
  return kStages * static_cast<int>(arguments.most_tile_bytes) +
         shared_units<Kind>(arguments.units) * static_cast<int>(sizeof(UnitsOf<Kind, Words>)) +
         kPlaces * static_cast<int>(arguments.most_tile_lines * sizeof(TileLine)) +
         4 * shared_table_entries<Kind>(arguments.table_entries);
}

// T: the type of the entries, AnyFloat or AnyEntry. Counts: for operands with rounded entries that may be counted; and others.
template <class T, EncodeKind Kind, int Words, bool Counts>
__global__ void __launch_bounds__(kEncodeThreads, kEncodeBlocks<Kind, Words, Counts>)
    encode_kernel(const __grid_constant__ EncodeParameters<Kind> arguments, const __grid_constant__ TableOf<Kind> limb_table) {
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  __shared__ TileOrigin origins[kPlaces];
  EncodeShared<Kind, Words> shared;
  shared.units = reinterpret_cast<UnitsOf<Kind, Words>*>(shared_bytes + kStages * arguments.most_tile_bytes);
  auto* lines = reinterpret_cast<TileLine*>(shared.units + shared_units<Kind>(arguments.units));
  shared.table = reinterpret_cast<std::uint32_t*>(lines + kPlaces * arguments.most_tile_lines);
  const auto place_at = [&](std::uint32_t i) { return TilePlace{origins + i, lines + i * arguments.most_tile_lines}; };
  fill_units(shared.units, arguments);
  fill_table<Kind>(shared.table, limb_table, shared_table_entries<Kind>(arguments.table_entries));

  // Nothing that the previous kernel may still be writing is read before this wait: everything, or what scale leaves.
  if (!arguments.reads_early) wait_for_previous_kernel();
  std::uint32_t next = blockIdx.x;
  find_tile(arguments, next, place_at(0));

  // Every round starts to load the next tile and encodes the current one (the first round has none). One barrier ends the
  // encoding of the previous tile and publishes the next one's addresses, the other publishes the current tile's entries.
  // There are three places, so that none is written while a slower thread may still read it.
  int units = arguments.units;
  std::uint32_t place = kPlaces - 1, stage = 1;
  for (bool is_first = true;; is_first = false) {
    const bool has_next = next < arguments.tiles;
    const std::uint32_t next_place = place == kPlaces - 1 ? 0 : place + 1;
    __syncthreads();
    if (has_next) {
      const TilePlace coming = place_at(next_place);
      with_entries<FloatsOf<T>>(arguments.operand[coming.origin->is_b], [&](auto entry) {
        load_tile<decltype(entry)>(arguments, coming, shared_bytes + (stage ^ 1) * arguments.most_tile_bytes);
      });
    }
    if (is_first) {
      wait_for_previous_kernel();
      if (arguments.moduli_used != nullptr) units = min(units, kUnitsPerModulus<Kind> * __ldcg(arguments.moduli_used));
    }
    if (has_next) load_shifts(arguments, place_at(next_place));
    commit_copies();
    wait_copies<1>();
    __syncthreads();
    next += gridDim.x;
    if (next < arguments.tiles) find_tile(arguments, next, place_at(kPlaces - place - next_place));
    if (!is_first) {
      const TilePlace current = place_at(place);
      const std::uint32_t groups = tile_groups(arguments.operand[current.origin->is_b]);
#pragma unroll 1
      for (std::uint32_t group = threadIdx.x; group < groups; group += kEncodeThreads) {
        const unsigned char* tile = shared_bytes + stage * arguments.most_tile_bytes;
        if constexpr (Counts) count_group<T>(arguments, current, tile, group);
        encode_group<T, Kind, Words>(arguments, current, tile, shared, units, group);
      }
    }
    if (!has_next) return;
    place = next_place;
    stage ^= 1;
  }
}

}  // namespace ozfp4::cuda
