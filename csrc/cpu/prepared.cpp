#include "cpu/prepared.hpp"

#include <vector>

#include "cpu/block_planes.hpp"
#include "cpu/bytes/multiply.hpp"
#include "cpu/encode/pair_planes.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/stages/encode.hpp"

namespace ozfp4 {

PreparedOperand cpu_prepare(const Plan& plan, const OperandView& view, const ScaleRequest& request, bool is_right) {
  const DefaultFpMode mode;
  const OperandView encoded = plan.is_complex && is_right ? even_lines(view) : view;
  const Side side = is_right ? Side::right : Side::left;
  const ByteKernel* kernel = byte_kernel_of(plan);
  const std::int64_t bytes =
      block_planes_bytes(plan, kernel, side, planes_used(plan, plan.count()), encoded.outer, encoded.inner / plan.width());
  PreparedOperand prepared{cpu_scale(view, request), allocate_buffer(bytes), bytes, kernel != nullptr};
  LineScales scales = line_scales(prepared.scales);
  const bool is_half = encoded.outer != view.outer;
  const std::vector<std::int32_t> even = is_half ? even_shifts(prepared.scales.shift) : std::vector<std::int32_t>();
  if (is_half) scales.shift = even.data();
  const Block all{0, encoded.outer, 0, encoded.inner};
  encode_block(plan, kernel, plan.count(), encoded, scales, all, side, prepared.planes.get());
  return prepared;
}

}  // namespace ozfp4
