// Data and counters that the threads of a block share in a launch of chains. A block takes work as it comes, and waits for no
// block that has not started.
#pragma once

#include <cstdint>

#include "arith/accuracy/certificate.hpp"
#include "cuda/repair/counts.cuh"
#include "cuda/repair/operands.cuh"
#include "cuda/standard/standard.hpp"

namespace ozfp4::cuda::chaining {

inline constexpr int kWarps = 8, kThreads = 32 * kWarps;
inline constexpr int kRows = 128, kColumns = 128, kLines = kRows + kColumns;  // of a tile
inline constexpr int kWords = kColumns / 32;
// Chains of a tile that are made one by one, and in how many words of the list; more are made with all others. The columns of a
// word's entries lie side by side, and are read for little more than one of them, unless each lies along K.
inline constexpr int kMostAlone = 256, kMostWordsAlone = 128, kMostAloneAlongK = 96;
// A warp's part of a tile, in magnitudes and on tensor cores: 2 x 4 warps make a tile.
inline constexpr int kWarpRows = 64, kWarpColumns = 32, kWarpsAlongRows = kRows / kWarpRows;
static_assert(kWarpsAlongRows * (kColumns / kWarpColumns) == kWarps && kWarpColumns == 32);

inline constexpr int kByteStep = 64;  // bytes along K of a stage of magnitudes
inline constexpr int kStep = 16;      // entries along K of a stage of chains
// A block makes the magnitudes of so many lines, and of so many pieces of K one after the other.
inline constexpr int kPartLines = kPieceLines, kPartPieces = 8, kPartPitch = kPieceInner + 16;
inline constexpr int kMostPieces = 1024;  // of K, of which a tile leaves out those without products

// How the magnitudes of an operand's lines are cut into parts, a block's each.
struct PlaneParts {
  std::int32_t lines = 0, groups = 0, pieces = 0;         // of a matrix; of lines and of K
  std::int64_t all_lines = 0, all_groups = 0, parts = 0;  // of all matrices

  __host__ __device__ std::int32_t along() const { return (pieces + kPartPieces - 1) / kPartPieces; }
};

struct Parameters : TileCover<kRows, kColumns> {
  ChainJob job;
  PlaneParts a_parts, b_parts;
  std::uint32_t most_alone;       // chains of a tile that are made one by one,
  unsigned long long most_spots;  // and of the result with the help of all blocks

  explicit Parameters(const ChainJob& of) : TileCover(of.result), job(of) {}

  // Whether it is known which pieces of K of which lines have nonzero entries or magnitudes.
  __device__ __forceinline__ bool knows_pieces() const { return job.magnitudes != nullptr && a_parts.pieces <= kMostPieces; }
};

// An entry: (128 tile + row) 128 + column.
using Spot = std::uint64_t;

// Before the area that the steps of a tile share: parts of planes, bytes, stages of entries, sums.
struct alignas(128) Shared {
  LineRecord record[kLines];
  std::uint32_t word[kRows][kWords];
  Spot spot[kMostAlone];
  std::uint16_t piece[kMostPieces];  // those of K that have products in a tile,
  std::int32_t pieces;               // and how many they are; -1: all
  std::int32_t exponent[kPartLines];
  std::uint32_t piece_has[2];          // flags of two pieces that are being made
  std::uint32_t entries, spots_taken;  // of a list
  unsigned long long taken;

  template <class T>
  __device__ __forceinline__ T* area() {
    return reinterpret_cast<T*>(this + 1);
  }
};
using PartBytes = std::uint8_t[2][kPartLines][kPartPitch];
using StepBytes = std::uint8_t[kLines][kByteStep];

struct Tile : TilePlace<kRows, kColumns> {
  using TilePlace::TilePlace;

  __device__ __forceinline__ std::int32_t rows(const Parameters& p) const { return min(kRows, p.job.result.rows - first_row); }
  __device__ __forceinline__ std::int32_t columns(const Parameters& p) const {
    return min(kColumns, p.job.result.columns - first_column);
  }
  __device__ __forceinline__ std::uint32_t* words(const Parameters& p, int row) const {
    const Listed& listed = p.job.listed;
    return listed.word + matrix * listed.matrix_stride + (std::int64_t(first_row) + row) * listed.pitch + first_column / 32;
  }
  // Word `index` of a row of the list, without columns beyond the last one.
  __device__ __forceinline__ std::uint32_t word(const Parameters& p, int row, int index) const {
    const std::int32_t count = columns(p) - 32 * index;
    if (row >= rows(p) || count <= 0) return 0;
    return __ldcg(words(p, row) + index) & first_bits(count);
  }
};

// All threads: a tile's list, to shared memory; how many entries it has, and words with some.
struct ListSize {
  std::uint32_t entries;
  int words;
};
__device__ __forceinline__ ListSize read_list(Shared& shared, const Parameters& p, const Tile& tile) {
  __syncthreads();
  if (threadIdx.x == 0) shared.entries = shared.spots_taken = 0;
  std::uint32_t entries = 0;
  int words = 0;
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kWords; i += kThreads) {
    const std::uint32_t word = tile.word(p, i / kWords, i % kWords);
    shared.word[i / kWords][i % kWords] = word;
    entries += static_cast<std::uint32_t>(__popc(word));
    words += __syncthreads_count(word != 0);
  }
  entries = __reduce_add_sync(0xFFFFFFFFu, entries);
  if (entries != 0 && threadIdx.x % 32 == 0) atomicAdd(&shared.entries, entries);
  __syncthreads();
  return {shared.entries, words};
}

// The steps of `Length` along K of a tile, those without products left out.
template <int Length>
struct Steps {
  static constexpr int kOfPiece = kPieceInner / Length;
  const Shared& shared;
  std::int32_t count;

  __device__ __forceinline__ Steps(const Shared& shared, std::int64_t inner)
      : shared(shared),
        count(shared.pieces < 0 ? static_cast<std::int32_t>((inner + Length - 1) / Length) : shared.pieces * kOfPiece) {}

  __device__ __forceinline__ std::int64_t first_k(std::int32_t step) const {
    if (shared.pieces < 0) return std::int64_t(step) * Length;
    return std::int64_t(shared.piece[step / kOfPiece]) * kPieceInner + step % kOfPiece * Length;
  }
};

// All threads: body(number) for each number below `all` that a counter gives the block; how many they were.
template <class Body>
__device__ __forceinline__ std::int64_t for_taken(Shared& shared, unsigned long long& counter, std::int64_t all, Body&& body) {
#pragma unroll 1
  for (std::int64_t count = 0;; ++count) {
    __syncthreads();
    if (threadIdx.x == 0) shared.taken = atomicAdd(&counter, 1ull);
    __syncthreads();
    const auto number = static_cast<std::int64_t>(shared.taken);
    if (number >= all) return count;
    body(number);
  }
}

// All threads: adds what the block has made, and waits until all is made, which may then be read from L2. Blocks that run have
// taken all that is not made.
__device__ __forceinline__ void wait_until_made(unsigned long long& made, std::int64_t own, std::int64_t all) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (own != 0) atomicAdd(&made, static_cast<unsigned long long>(own));
    repairing::wait_for(made, all);
  }
  __syncthreads();
}

}  // namespace ozfp4::cuda::chaining
