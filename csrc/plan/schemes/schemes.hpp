// The plan of each scheme; make_plan has checked the bits.
#pragma once

#include "plan/plan.hpp"

namespace ozfp4 {

Plan make_scheme_one(const PlanRequest& request);
// Complex products have theirs here, too.
Plan make_scheme_two(const PlanRequest& request);

}  // namespace ozfp4
