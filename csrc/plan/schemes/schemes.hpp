// The plan of each scheme; make_plan has checked the bits.
#pragma once

#include "plan/plan.hpp"

namespace ozfp4 {

Plan make_scheme_one(const PlanRequest& request);
// Of complex products as well.
Plan make_scheme_two(const PlanRequest& request);

}  // namespace ozfp4
