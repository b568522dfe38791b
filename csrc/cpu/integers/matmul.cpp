#include "cpu/integers/matmul.hpp"

#include <algorithm>

#include "cpu/blocks.hpp"
#include "cpu/integers/scale.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "plan/prefix.hpp"

namespace ozfp4 {

IntegerOutcome cpu_integer_matmul(const Plan& plan, const OperandView& a, const OperandView& b, const IntegerTarget& target,
                                  std::int64_t workspace_limit, const std::function<void(double)>& progress) {
  const DefaultFpMode mode;
  IntegerOutcome outcome;
  if (a.outer == 0 || b.outer == 0) return outcome;
  if (a.inner == 0) {
    put_zeros(target.result);
    return outcome;
  }
  const BlockShape shape = choose_blocks(plan, a.outer, b.outer, a.inner, workspace_limit);
  IntegerNorms norms_a, norms_b;
  {
    const StageTimer timer(outcome.times, &StageTimes::scale);
    norms_a = cpu_integer_norms(a);
    norms_b = cpu_integer_norms(b);
  }
  int count = plan.count();
  if (plan.has_moduli()) count = moduli_needed(make_prefix_rule(plan, count), norms_a.norm_squared * norms_b.norm_squared);
  run_blocks(plan, count, {a, {nullptr, norms_a.bits}}, {b, {nullptr, norms_b.bits}}, shape, outcome.times, progress,
             [&](const OutputBlock& block) {
               const StageTimer timer(outcome.times, &StageTimes::reconstruct);
               IntegerTarget part = target;
               part.result.data += block.row * part.result.row_stride + block.column * part.result.column_stride;
               part.result.rows = block.rows;
               part.result.columns = block.columns;
               outcome.overflows += cpu_reconstruct_to_integers(plan, count, block.output, part);
             });
  outcome.moduli_used = plan.has_moduli() ? count : 0;
  outcome.products = plan.products_of(count);
  outcome.kernel = shape.kernel;
  outcome.workspace = shape.bytes;
  outcome.exponents.extend(norms_a.exponents);
  outcome.exponents.extend(norms_b.exponents);
  return outcome;
}

void IntegerOutcome::extend(const IntegerOutcome& other) {
  moduli_used = std::max(moduli_used, other.moduli_used);
  products = std::max(products, other.products);
  workspace = std::max(workspace, other.workspace);
  overflows += other.overflows;
  exponents.extend(other.exponents);
  times.extend(other.times);
  kernel = other.kernel;
}

}  // namespace ozfp4
