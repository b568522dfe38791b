// What eight lanes of entries beside each other say, at once where the CPU has AVX-512 and else as twice four.
#pragma once

#include <cstdint>

#include "cpu/words/entries.hpp"

namespace ozfp4 {

inline constexpr std::int64_t kEightLanes = 2 * kEntryLanes;

// As find_facts, or where `has_facts` is false as find_largest, of entries x[i * step + lane] for i < count: of the first four
// lanes and of the others.
void find_in_eight(const double* x, std::int64_t step, std::int64_t count, bool has_facts, LaneFacts (&facts)[2]);

}  // namespace ozfp4
