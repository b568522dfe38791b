// How the kernel of whole tiles lays things out.
//
// A block makes 64 x 64 entries of a product. Its 128 lines, rows of A and then columns of B, are encoded for eight moduli at a
// time: planes of bytes [modulus][line][chunk of 16] in 64 KiB of shared memory, so that two blocks share a multiprocessor. Every
// thread has one chunk of each operand. Entries along K stand in an order of their own, the same in both operands: byte i of
// chunk c is entry c + 4 i. So threads with neighbouring chunks read neighbouring entries. Chunks of a line change places by the
// line's number: eight lines' chunks of one number lie on all banks, and so do all chunks of two neighbouring lines.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/direct/own_lines.cuh"
#include "cuda/fused/finish.cuh"
#include "cuda/fused/tile_tables.hpp"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda::fused {

using direct::OwnLine;
using direct::Place;
using direct::Source;

inline constexpr int kTile = 64, kTileLines = 2 * kTile;
inline constexpr int kChunk = 16, kChunks = kMostTileInner / kChunk;  // of a line
inline constexpr int kTileThreads = kTile * kChunks, kTileWarps = kTileThreads / 32;
inline constexpr int kWarpRows = 16, kWarpColumns = 32, kWarpsAlongRows = kTile / kWarpRows;  // of a warp's entries
inline constexpr int kPassModuli = 8, kPasses = kMostTileModuli / kPassModuli;
inline constexpr int kPlaneBytes = kTileLines * kMostTileInner;
static_assert(kWarpsAlongRows * (kTile / kWarpColumns) == kTileWarps, "every entry has its warp");
static_assert(kTile * kTile * kMostTileModuli <= kPassModuli * kPlaneBytes, "residues of the result fit where planes were");

// Where chunk `chunk` of a line lies in its line.
__device__ __forceinline__ std::uint32_t place_of_chunk(std::uint32_t line, std::uint32_t chunk) {
  static_assert(kChunks == 4, "two lines are 128 bytes");
  return kChunk * (chunk ^ ((line >> 1) & 3u));
}

struct TileParameters {
  ReconstructJob job;  // without residues
  CapacityRule capacity;
  Certification certification;  // of the kernel that certifies
  std::int32_t tiles_x;
  bool runs_along_k[2];  // whether neighbours along K are closer than lines
  TileTables tables;
};

// What certifying takes more.
struct CertifyingLines {
  LineRecord record[kTileLines];
  std::int32_t log_square[kTileLines];  // the integers' sum of squares is below 2^log_square
  std::int32_t test[kTile];             // of the rows, see certify/segment.cuh
  __device__ CertifyingLines() {}       // never initialised
};
struct NoLines {};

template <bool Certifies>
struct alignas(128) TileShared : std::conditional_t<Certifies, CertifyingLines, NoLines> {
  alignas(128) std::uint8_t planes[kPassModuli * kPlaneBytes];  // before: the states of lines; behind: residues of the result
  FinishFragments finish;
  uint2 weight[kMostTileModuli / 2][32];  // of a pair of moduli, as lanes take them
  Quotient encode[kMostTileModuli], fold[kMostTileModuli];
  // Presets as accumulators start: one load is less than moving them there.
  alignas(16) std::uint32_t encode_start[kMostTileModuli / 2][4], fold_start[kMostTileModuli][4];
  ColumnConstants<kFinishWords> columns;
  OwnLine line[kTileLines];
  __device__ TileShared() {}
};

}  // namespace ozfp4::cuda::fused
