// The unit that multiplies limbs of eight bits: AMX, or plain loops, for tests without it.
#pragma once

#include <cstdint>

#include "cpu/limbs/shape.hpp"

namespace ozfp4 {

// sums = those diagonals of one panel of A by one of B, whatever was there; others stay as they are. Precondition: limbs as
// limbs_of gives, 1 <= tiles.
struct LimbTask {
  const std::int8_t *a, *b;
  std::int32_t* sums;  // of all diagonals, aligned to 64 bytes
  std::int64_t tiles;
  int limbs;
  Diagonals diagonals;

  int first() const { return diagonals == Diagonals::upper ? lower_diagonals(limbs) : 0; }
  int end() const { return diagonals == Diagonals::lower ? lower_diagonals(limbs) : diagonals_of(limbs); }
};

struct LimbUnit {
  const char* name;   // as in a Report
  bool (*is_here)();  // this CPU and its system can run it
  void (*begin)();    // before the tasks of a thread, and
  void (*end)();      // after them
  void (*run)(const LimbTask& task);
};

extern const LimbUnit amx_limbs, portable_limbs;

// AMX where it is and was not disabled, else nullptr.
const LimbUnit* serving_limb_unit();

// It is no longer used; or again.
void disable_limb_unit(bool is_disabled);

}  // namespace ozfp4
