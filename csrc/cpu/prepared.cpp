#include "cpu/prepared.hpp"

#include <vector>

#include "cpu/encode/pair_planes.hpp"
#include "cpu/stages/encode.hpp"

namespace ozfp4 {

OperandView encoded_lines(const Plan& plan, const OperandView& view, bool is_right) {
  return plan.is_complex && is_right ? even_lines(view) : view;
}

std::int64_t prepared_bytes(const Plan& plan, const OperandView& encoded) {
  return planes_used(plan, plan.count()) * encoded.outer * (encoded.inner / plan.width()) * plan.alphabet.entry_bytes();
}

PreparedOperand cpu_prepare(const Plan& plan, const OperandView& view, const ScaleRequest& request, bool is_right) {
  const OperandView encoded = encoded_lines(plan, view, is_right);
  PreparedOperand prepared{cpu_scale(view, request), allocate_buffer(prepared_bytes(plan, encoded))};
  LineScales scales = line_scales(prepared.scales);
  const bool is_half = encoded.outer != view.outer;
  const std::vector<std::int32_t> even = is_half ? even_shifts(prepared.scales.shift) : std::vector<std::int32_t>();
  if (is_half) scales.shift = even.data();
  cpu_encode(plan, plan.count(), encoded, scales, {0, encoded.outer, 0, encoded.inner}, prepared.planes.get());
  return prepared;
}

}  // namespace ozfp4
