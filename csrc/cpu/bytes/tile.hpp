// How planes of bytes lie in memory for the kernels of this folder: in tiles of 1 KiB, 16 lines by 64 entries of K. One form fits
// the registers of AVX-512 and AVX2 and the tiles of AMX.
#pragma once

#include <cstdint>

namespace ozfp4 {

inline constexpr std::int64_t kPanelLines = 16;  // rows of A, or columns of B, of one tile
inline constexpr std::int64_t kTileDepth = 64;   // entries along K of one tile
inline constexpr std::int64_t kTileBytes = kPanelLines * kTileDepth;

// Instructions multiply unsigned by signed bytes: limbs of A lie as limb + 128. This adds 128 times the sum of the column of B to
// a product. It is taken off beforehand by the start values of the sums, which wrap as INT32 do.
inline constexpr int kLeftOffset = 128;

constexpr std::int64_t panels_of(std::int64_t lines) { return (lines + kPanelLines - 1) / kPanelLines; }
constexpr std::int64_t tiles_of(std::int64_t inners) { return (inners + kTileDepth - 1) / kTileDepth; }

// From one row of a block's sums to the next. It is an odd number of cache lines, as a first-level cache holds few of lines that
// are a power of two apart.
constexpr std::int64_t sums_pitch(std::int64_t columns) { return (panels_of(columns) | 1) * kPanelLines; }
static_assert(sums_pitch(240) == 240 && sums_pitch(256) == 272);

}  // namespace ozfp4
