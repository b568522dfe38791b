// Longer integers for products of "correct", which leave fewer entries to repair.
#pragma once

#include <memory>

#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// A plan of more bits than `plan` and than lines usually have, where its products take less time than the sums of single entries
// that they spare. A sample of entries decides; this changes no bit of a result. Lines are then to have the capacities of
// ScaleRequest::longest = its bits. Null: there is none. Precondition: accuracy correct, equal inner dimensions.
std::shared_ptr<const Plan> longer_plan(const Plan& plan, const OperandView& a, const OperandView& b,
                                        const ScaleRequest& request);

}  // namespace ozfp4
