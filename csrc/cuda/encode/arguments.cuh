// How the encode kernel cuts its operands: tiles of some lines times a power of two along K.
#pragma once

#include <cstdint>

#include "cuda/encode/encode.hpp"

namespace ozfp4::cuda {

inline constexpr int kEncodeThreads = 256;
inline constexpr int kStages = 2;    // tiles in shared memory: one being encoded, one on its way
inline constexpr int kPlaces = 3;    // tiles with known addresses: the same two and the one after
inline constexpr int kLogGroup = 3;  // a thread encodes groups of 8 entries along K
inline constexpr int kGroup = 1 << kLogGroup;
inline constexpr int kMinLogTileK = 4;

// The block loads a tile in steps of 16 KiB (int8: 4 KiB). Small problems have tiles of one step, so that there are enough of
// them. Large ones have two, because DRAM likes long runs of neighbouring bytes, read as well as written.
constexpr int log_step_entries(int entry_bytes) { return entry_bytes == 8 ? 11 : 12; }
template <class T>
inline constexpr int kStepEntries = 1 << log_step_entries(sizeof(T));
inline constexpr int kMaxLogSteps = 1;

// Precondition: a power of two.
constexpr int log_of(int x) { return x == 1 ? 0 : 1 + log_of(x / 2); }
template <int X>
inline constexpr std::uint32_t kLog = static_cast<std::uint32_t>(log_of(X));

// A tile in shared memory keeps the order of the memory it comes from: lines of entries, or columns (the entries of all
// lines at one k). Loads take 16 bytes where the operand's alignment allows, else one entry.
struct TileMemory {
  bool has_columns, has_vectors;
};

struct EncodeOperand {
  const char* data;
  std::int64_t outer_stride, inner_stride;
  Stack stack;
  const std::int32_t* shift;
  std::uint8_t* planes;
  std::int64_t plane_pitch, plane_matrix_stride, plane_stride;
  std::uint32_t outer, first_line, lines, total_lines;  // total: of all matrices, of those to encode
  std::uint32_t inner, padded_inner;                    // padded to the next multiple of 16
  std::uint32_t line_tiles, k_tiles;
  std::uint32_t band;  // tiles are walked in bands of so many along the lines
  std::uint8_t log_tile_k, log_tile_lines, steps;
  std::uint8_t log_pitch, swizzle_mask;  // of the tile in shared memory, see TileLayout
  std::uint8_t log_entries_per_byte;     // of the planes
  TileMemory order;
  ElementType type;
  LineRecord* record;         // [matrix][line], with counts that grow; null: nothing is counted
  std::int64_t twin_records;  // see EncodeJob
};

struct EncodeArguments {
  EncodeOperand operand[2];
  const int* moduli_used;
  std::uint32_t tiles_a, tiles;
  std::uint32_t most_tile_lines, most_tile_bytes;  // of either operand
  std::int32_t units, planes, table_entries;
  bool reads_early;    // the operands are there before the previous kernel ends
  bool has_fast_fp64;  // the device; see multiplies_fp64
};

// With the units: none for digits.
template <EncodeKind Kind>
inline constexpr int kUnitRoom = has_units(Kind) ? kMaxModuli : 1;
template <EncodeKind Kind>
struct EncodeParameters : EncodeArguments {
  EncodeUnit unit[kUnitRoom<Kind>];
};

template <EncodeKind Kind>
inline constexpr bool kWritesCodes = writes_codes(Kind);
template <EncodeKind Kind>
inline constexpr bool kIsOfPairs = is_of_pairs(Kind);
template <EncodeKind Kind>
inline constexpr int kLogEntriesPerByte = log_entries_per_byte(Kind);
template <EncodeKind Kind>
inline constexpr int kUnitsPerModulus = units_per_modulus(Kind);

// The table of limbs, a parameter of the kernels that need one.
struct LimbTable {
  std::uint16_t entry[kMaxTableEntries];
};
struct NoTable {};

}  // namespace ozfp4::cuda
