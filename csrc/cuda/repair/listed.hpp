// Which entries of a block reconstruct leaves to repair, and how many they are.
#pragma once

#include <cstdint>

#include "arith/multiples.hpp"

namespace ozfp4::cuda {

// Of one launch of repair; zero before reconstruct and after repair. A second product (LongerResult) has counts of its own.
struct RepairCounts {
  unsigned long long listed;    // raised by reconstruct
  unsigned long long exact;     // raised by repair: entries that double-double arithmetic did not settle
  unsigned long long disjoint;  // raised by repair: exact zeros, whose row and column are nonzero at no common index
  unsigned long long arrived;   // blocks of repair that are done
  // Parts of the masks of all lines (repair/masks.cuh) that warps have taken to make, and those that are made.
  unsigned long long masks_taken, masks_made;
};

// The sums over the launches of a turn, as repair leaves them.
struct RepairReport {
  unsigned long long listed, exact, disjoint;
};

// What the caller of a product asked of repair.
struct RepairOrder {
  unsigned long long most = ~0ull;  // more entries of a launch than that are left as they are
  // Where the device stores how many were repaired, or minus how many were left, where any were; null: nobody asks. Of entries
  // that a second product certified neither.
  long long* told = nullptr;
  bool adds = false;  // to what is there
};

inline constexpr std::int64_t kRepairReportBytes = 64, kRepairCountBytes = 64;
inline constexpr std::int64_t kRepairCounterBytes = 2 * kRepairCountBytes;
static_assert(sizeof(RepairReport) <= kRepairReportBytes && sizeof(RepairCounts) <= kRepairCountBytes);

// Those of the second product, behind the first's.
inline RepairCounts* longer_counts(RepairCounts* counts) {
  return reinterpret_cast<RepairCounts*>(reinterpret_cast<char*>(counts) + kRepairCountBytes);
}

// A bit for each entry of a block, [matrix][row][pitch] words: bit i of word w is column 32 w + i.
struct Listed {
  std::uint32_t* word = nullptr;  // null: nothing is ever listed
  std::int64_t pitch = 0, matrix_stride = 0;
  RepairCounts* counts = nullptr;
};

// Words of a row: reconstruct writes two at a time.
constexpr std::int64_t listed_pitch(std::int64_t columns) { return 2 * ceil_div(columns, 64); }

}  // namespace ozfp4::cuda
