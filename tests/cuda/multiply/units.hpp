// The values that a schedule stores for one entry, by the contract of cuda/multiply/schedule.hpp, and the plans to check.
#pragma once

#include <cstdint>

#include "cuda/multiply/schedule.hpp"

namespace ozfp4 {

constexpr std::int64_t floor_mod(std::int64_t x, std::int64_t m) { return ((x % m) + m) % m; }

// The steps of the leading units, one after the other: sum(step) is what its products add up to, store(out_plane, value) takes
// what is stored.
template <class Sum, class Store>
void run_units(const ScheduleView& schedule, int units, const Sum& sum, const Store& store) {
  for (int u = 0; u < units; ++u) {
    std::int64_t acc = 0;
    for (int s = schedule.unit_begin[u]; s < schedule.unit_begin[u + 1]; ++s) {
      const GemmStep& step = schedule.steps[s];
      acc += sum(step);
      const std::int64_t m = step.modulus, residue = m == 0 ? 0 : floor_mod(acc, m);
      switch (step.action) {
        case Action::carry_on: break;
        case Action::fold: acc = residue * step.multiplier; break;
        case Action::store_residue: store(step.out_plane, floor_mod(residue * step.multiplier, m)); break;
        case Action::store_digit:
          store(step.out_plane, residue);
          acc = (acc - residue) / m;
          break;
        case Action::multiply: acc = static_cast<std::int32_t>(acc * step.multiplier); break;
        case Action::store_int32: store(step.out_plane, static_cast<std::int32_t>(acc * step.multiplier)); break;
      }
    }
  }
}

// A kind of plan, and the planes that it is multiplied in.
struct PlanWay {
  Scheme scheme;
  Alphabet alphabet;
  const char* family;
  Element element;
};
inline const PlanWay kPlanWays[] = {
    {Scheme::two, Alphabet::int8, "least", Element::u8},          {Scheme::two, Alphabet::fp4, "least", Element::s8},
    {Scheme::two, Alphabet::fp4, "least", Element::e2m1},         {Scheme::two, Alphabet::fp4, "paper", Element::e2m1},
    {Scheme::two, Alphabet::fp4, "paper-karatsuba", Element::s8}, {Scheme::two, Alphabet::fp4, "paper-karatsuba", Element::e2m1},
    {Scheme::one, Alphabet::fp4, "least", Element::s8},           {Scheme::one, Alphabet::fp4, "least", Element::e2m1},
    {Scheme::one, Alphabet::int8, "least", Element::s8}};

}  // namespace ozfp4
