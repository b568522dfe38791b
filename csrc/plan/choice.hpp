// Which plan a product takes: that of the unit that needs least time for its plane products.
#pragma once

#include <memory>
#include <vector>

#include "plan/plan.hpp"

namespace ozfp4 {

// Plane products a second that a device makes of an alphabet, in any unit. Precondition: rate > 0.
struct UnitRate {
  const Alphabet* alphabet;
  double rate;
};

// A unit that has a plan, and the products of that.
struct RankedUnit {
  const Alphabet* alphabet;
  int products;
};

// The `units` that have a plan for the request, least products / rate first; among equals the first of `units`. The products
// decide, not m and n: what is moved differs little and counts for small matrices alone. The request's alphabet is not looked at.
std::vector<RankedUnit> rank_units(const PlanRequest& request, const std::vector<UnitRate>& units);

// The rate of a GPU's FP4 unit compared with that of the unit for its bytes. The kernels on it are all that is known of the
// latter; 1: it has none, and limbs are bytes. A GPU with tcgen05 that multiplies bytes by instructions of warps has next to no
// INT8 unit left.
double fp4_rate(bool has_codes, bool has_tcgen05, bool has_tcgen05_bytes);

// Up to here GPUs encode pairs (kMultipliedBits of arith/scale_entry.hpp); longer integers take plans of real products.
inline constexpr int kMostComplexBits = 82;

// Whether two complex operands may go by a plan of complex products, where there is one: the result is the same.
bool may_be_complex(const PlanRequest& request);

// make_plan, kept for the next time. `is_paired`: for two complex operands, with a plan of complex products if there is one.
// Several threads may call at once. Precondition: request.is_complex is not set.
std::shared_ptr<const Plan> find_plan(const PlanRequest& request, bool is_paired);

}  // namespace ozfp4
