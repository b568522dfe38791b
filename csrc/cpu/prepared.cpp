#include "cpu/prepared.hpp"

#include "cpu/stages/encode.hpp"

namespace ozfp4 {

std::int64_t prepared_bytes(const Plan& plan, const OperandView& view) {
  return planes_used(plan, plan.count()) * view.outer * view.inner * plan.alphabet.entry_bytes();
}

PreparedOperand cpu_prepare(const Plan& plan, const OperandView& view, const ScaleRequest& request) {
  PreparedOperand prepared{cpu_scale(view, request), allocate_buffer(prepared_bytes(plan, view))};
  cpu_encode(plan, plan.count(), view, line_scales(prepared.scales), {0, view.outer, 0, view.inner}, prepared.planes.get());
  return prepared;
}

}  // namespace ozfp4
