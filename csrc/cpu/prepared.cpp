#include "cpu/prepared.hpp"

#include "cpu/encode/encode.hpp"
#include "cpu/multiply/multiply.hpp"
#include "cpu/runtime/fp_mode.hpp"

namespace ozfp4 {

PreparedOperand cpu_prepare(const Plan& plan, const OperandView& view, const ScaleRequest& request, bool is_right) {
  const DefaultFpMode mode;
  const Side side = is_right ? Side::right : Side::left;
  const ByteKernel* kernel = byte_kernel_of(plan);
  PreparedOperand prepared{cpu_scale(view, request), nullptr, 0, kernel != nullptr};
  const EncodedOperand own = encoded_operand(plan, view, prepared.scales, side);
  prepared.bytes = planes_bytes(plan, kernel, side, plan.planes_a, own.view.outer, own.view.inner / plan.width());
  prepared.planes = allocate_buffer(prepared.bytes);
  cpu_encode(plan, kernel, plan.count(), own.view, own.scales, {0, own.view.outer, 0, own.view.inner}, side,
             prepared.planes.get());
  return prepared;
}

}  // namespace ozfp4
