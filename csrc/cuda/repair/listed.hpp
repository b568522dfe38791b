// Which entries of a block reconstruct leaves to repair, and how many they are.
#pragma once

#include <cstdint>

#include "arith/multiples.hpp"

namespace ozfp4::cuda {

// The counts of one launch of repair, or of chains (cuda/standard); zero before reconstruct and after it.
struct RepairCounts {
  unsigned long long listed;    // raised by reconstruct
  unsigned long long exact;     // raised by repair: entries that double-double arithmetic did not settle
  unsigned long long disjoint;  // raised by repair: exact zeros, with a row and a column that are nonzero at no common index
  unsigned long long arrived;   // blocks of repair that are done
  // Parts of the masks of all lines (repair/masks.cuh) that warps have taken to make, and those that are made.
  unsigned long long masks_taken, masks_made;
  // Counts of chains: parts of planes and tiles that blocks have taken, and those that are made. Entries that become chains, and
  // those of them that are still to be made. Then tiles with chains that are taken, those with spots that are written, and how
  // many spots there are.
  unsigned long long parts_taken, parts_made, tiles_taken, tiles_made, chains, open;
  unsigned long long chain_tiles_taken, chain_tiles_made, spots;
};

// The sums over the launches of a turn, as repair leaves them; in "standard", where the list has more, the chains alone.
struct RepairReport {
  unsigned long long listed, exact, disjoint;
};

// The order of a product's caller to repair.
struct RepairOrder {
  // Where the device stores how many were repaired; null: nowhere.
  long long* told = nullptr;
  bool adds = false;  // to what is there
};

inline constexpr std::int64_t kRepairReportBytes = 64, kRepairCounterBytes = 128;
static_assert(sizeof(RepairReport) <= kRepairReportBytes && sizeof(RepairCounts) <= kRepairCounterBytes);

// A bit for each entry of a block, [matrix][row][pitch] words: bit i of word w is column 32 w + i.
struct Listed {
  std::uint32_t* word = nullptr;  // null: nothing is ever listed
  std::int64_t pitch = 0, matrix_stride = 0;
  RepairCounts* counts = nullptr;
};

// Values of an update's entries that the lines alone do not certify, [matrix][row][pitch] of the result's type: C may lie where
// the results will.
struct KeptValues {
  char* data = nullptr;
  std::int64_t pitch = 0, matrix_stride = 0;  // entries
};

// Words of a row: reconstruct writes two at a time.
constexpr std::int64_t listed_pitch(std::int64_t columns) { return 2 * ceil_div(columns, 64); }

}  // namespace ozfp4::cuda
