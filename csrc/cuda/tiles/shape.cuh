// How the kernels of whole tiles lay things out.
//
// A block makes Rows x Columns entries of a product. Its lines, rows of A and then columns of B, are scaled and cut into limbs of
// eight bits: planes of bytes [limb][line][chunk of 16] in shared memory. Entries along K stand in an order of their own, the
// same in both operands: see entry_of. So threads with neighbouring chunks read neighbouring pairs of entries. Chunks of a line
// change places by the line's number: eight lines' chunks of one number lie on all banks.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/limbs/signed_bytes.hpp"
#include "cuda/direct/place.cuh"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda::tiles {

using direct::Place;
using direct::Source;

inline constexpr int kChunk = 16;
inline constexpr int kWarpRows = 16, kStepColumns = 8;  // of a warp's entries, and of those it makes at a time

// A tile, the longest K, and the threads that make it.
template <int Rows_, int Columns_, int Inner_, int Threads_>
struct Shape {
  static constexpr int Rows = Rows_, Columns = Columns_, Inner = Inner_, Threads = Threads_;
  static constexpr int Lines = Rows + Columns, Chunks = Inner / kChunk, PlaneBytes = Lines * Inner;
  static constexpr int Warps = Threads / 32, WarpsAlongRows = Rows / kWarpRows;
  static constexpr int MostWarps = Rows * Columns / (kWarpRows * kStepColumns);  // that have entries to make
  static constexpr int WarpColumns = Warps < MostWarps ? Columns * WarpsAlongRows / Warps : kStepColumns;
  // Chunks of a thread, of A and of both. Few are held in registers until their lines are known.
  static constexpr int UnitsOfA = Rows * Chunks / Threads, Units = Lines * Chunks / Threads;
  static constexpr bool HoldsUnits = Units <= 3 && Threads < 512;  // where each has more than 128
  static_assert(UnitsOfA * Threads == Rows * Chunks && Units * Threads == Lines * Chunks, "every chunk has its thread");
  static_assert(Lines <= Threads && (WarpColumns <= 32 || WarpColumns % 32 == 0) && Columns % 32 == 0,
                "a thread for each line, a word for columns");
  static_assert(Chunks == 4 || Chunks % 8 == 0, "place_of_chunk");
};

// A kernel: its shape, and whether it certifies where that is asked. One that does cuts into one limb more, and is for all
// products with integers that need it.
template <bool Certifies_, class Shape_>
struct Kind : Shape_ {
  static constexpr bool Certifies = Certifies_;
  static constexpr int Limbs = Certifies ? 8 : 7;
  static constexpr int MovedBy = 8 * kLead<Limbs>;  // bits, of integer_of_diagonals
};

// Where chunk `chunk` of a line lies in its line.
template <class K>
__device__ __forceinline__ std::uint32_t place_of_chunk(std::uint32_t line, std::uint32_t chunk) {
  return kChunk * (chunk ^ (K::Chunks == 4 ? (line >> 1) & 3u : line & 7u));
}

struct TileParameters {
  ReconstructJob job;  // without residues
  CapacityRule capacity;
  Certification certification;  // of the kernel that certifies; without a list where that is not asked
  std::int32_t tiles_x;
  bool runs_along_k[2];  // whether neighbours along K are closer than lines
  // Whether entries 2 j and 2 j + 1 along K lie in 16 aligned bytes, in an operand and in a row of the result.
  bool has_pairs[2], stores_pairs;
};

// A line as the block keeps it: two blocks of 112 KiB of planes have 1 KiB more each. Shifts are those that move the largest
// entry of a line, a subnormal number at least, to its capacity.
struct TileLine {
  std::int16_t shift;
  std::uint8_t capacity, special;
  static_assert(accuracy_bits(Accuracy::standard, 53) + 1074 <= INT16_MAX && accuracy_bits(Accuracy::standard, 53) <= UINT8_MAX,
                "every line's fit");

  TileLine() = default;
  __device__ __forceinline__ TileLine(const OwnLine& line)  // NOLINT: finish_line assigns it
      : shift(static_cast<std::int16_t>(line.shift)),
        capacity(static_cast<std::uint8_t>(line.capacity)),
        special(static_cast<std::uint8_t>(line.special)) {}
};

// The bytes that certifying takes more.
template <class K>
struct CertifyingLines {
  LineRecord record[K::Lines];
  std::uint32_t listed[K::Rows][K::Columns / 32];  // entries of rows that the lines do not certify
};
struct NoLines {};

template <class K>
struct alignas(128) TileShared : std::conditional_t<K::Certifies, CertifyingLines<K>, NoLines> {
  alignas(128) std::uint8_t planes[K::Limbs * K::PlaneBytes];  // before: the states of lines
  TileLine line[K::Lines];
};

}  // namespace ozfp4::cuda::tiles
