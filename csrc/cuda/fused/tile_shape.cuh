// How the kernel of whole tiles lays things out.
//
// A block makes Rows x 64 entries of a product. Its lines, rows of A and then columns of B, are encoded for some moduli at a time:
// planes of bytes [modulus][line][chunk of 16] in shared memory. Entries along K stand in an order of their own, the same in both
// operands: byte i of chunk c is entry c + Chunks i. So lanes with neighbouring chunks read neighbouring entries. Chunks of a line
// change places by the line's number: eight lines' chunks of one number lie on all banks, and so do all chunks of a line.
#pragma once

#include <cstdint>

#include "cuda/direct/own_lines.cuh"
#include "cuda/fused/finish.cuh"
#include "cuda/fused/tile_tables.hpp"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda::fused {

using direct::OwnLine;
using direct::Place;
using direct::Source;

inline constexpr int kTileColumns = 64;
inline constexpr int kWarpRows = 16, kWarpColumns = 32;  // of a warp's entries

template <int Chunks_, int Rows_, int Moduli_>
struct PlaneShape {
  static constexpr int Chunks = Chunks_, inner = 16 * Chunks, pitch = inner;
  static constexpr int rows = Rows_, lines = rows + kTileColumns;
  static constexpr int warps_y = rows / kWarpRows, warps = warps_y * kTileColumns / kWarpColumns, threads = 32 * warps;
  static constexpr int moduli = Moduli_, passes = kMostTileModuli / moduli;  // moduli of a pass
  static constexpr int plane_bytes = lines * pitch, residue_bytes = warps * kWarpRows * kWarpColumns * kMostTileModuli;
  static constexpr int bytes = moduli * plane_bytes > residue_bytes ? moduli * plane_bytes : residue_bytes;
  static constexpr int units_a = rows * Chunks / threads, units_b = kTileColumns * Chunks / threads;  // of a thread
  static constexpr int blocks = bytes > 100 * 1024 ? 1 : 2;  // of a multiprocessor
  static_assert(Chunks == 4 || Chunks == 8, "lines change their chunks for these");

  // Where chunk `chunk` of a line lies in its line.
  __device__ __forceinline__ static std::uint32_t place_of(std::uint32_t line, std::uint32_t chunk) {
    return 16 * (chunk ^ (Chunks == 4 ? (line >> 1) & 3u : line & 7u));
  }
};

struct TileParameters {
  ReconstructJob job;  // without residues
  CapacityRule capacity;
  Certification certification;  // of the kernel that certifies
  std::int32_t tiles_x;
  bool runs_along_k[2];  // whether neighbours along K are closer than lines
  TileTables tables;
};

// What certifying takes more.
template <class S>
struct CertifyingLines {
  LineRecord record[S::lines];
  std::int32_t log_square[S::lines];  // the integers' sum of squares is below 2^log_square
  std::int32_t test[S::rows];         // of the rows, see certify/segment.cuh
  __device__ CertifyingLines() {}     // never initialised
};
struct NoLines {};

template <class S, bool Certifies>
struct alignas(128) TileShared : std::conditional_t<Certifies, CertifyingLines<S>, NoLines> {
  alignas(128) std::uint8_t planes[S::bytes];  // before: the states of lines; behind: residues of the result
  FinishFragments finish;
  uint2 weight[kMostTileModuli / 2][32];  // of a pair of moduli, as lanes take them
  Quotient encode[kMostTileModuli], fold[kMostTileModuli];
  // Presets as accumulators start: one load is less than moving them there.
  alignas(16) std::uint32_t encode_start[kMostTileModuli / 2][4], fold_start[kMostTileModuli][4];
  ColumnConstants<kFinishWords> columns;
  OwnLine line[S::lines];
  __device__ TileShared() {}
};

}  // namespace ozfp4::cuda::fused
