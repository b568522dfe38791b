// What eight lanes of entries beside each other say, at once where the CPU has AVX-512 and else as twice four.
#pragma once

#include <cstdint>

#include "cpu/words/entries.hpp"

namespace ozfp4 {

inline constexpr std::int64_t kEightLanes = 2 * kEntryLanes;

// As find_facts, or where `has_facts` is false as find_largest, of entries x[i * step + lane] for i < count: of the first four
// lanes and of the others.
void find_in_eight(const double* x, std::int64_t step, std::int64_t count, bool has_facts, LaneFacts (&facts)[2]);

// Of one line, whose entries are x[i] for i < 8 count: of four lanes, each of which has two of the eight.
void find_in_row(const double* x, std::int64_t count, bool has_facts, LaneFacts& facts);

// What both say, of lanes of the same lines.
void join(LaneFacts& facts, const LaneFacts& others, bool has_facts);

}  // namespace ozfp4
