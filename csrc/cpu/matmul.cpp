#include "cpu/matmul.hpp"

#include <algorithm>

#include "cpu/blocks.hpp"
#include "cpu/stages/reconstruct.hpp"
#include "cpu/stages/scale.hpp"
#include "plan/prefix.hpp"

namespace ozfp4 {
namespace {

void fill_zero(const ResultView& result) {
  for (std::int64_t i = 0; i < result.rows; ++i) {
    for (std::int64_t j = 0; j < result.columns; ++j) put(result, i, j, 0.0);
  }
}

int products_of(const Plan& plan, int count) {
  int products = 0;
  for (int g = 0; g < count; ++g) products += plan.groups[static_cast<std::size_t>(g)].terms;
  return products;
}

}  // namespace

MatmulOutcome cpu_matmul(const Plan& plan, const OperandView& a, const OperandView& b, const ResultView& result,
                         const MatmulOptions& options) {
  MatmulOutcome outcome;
  if (result.rows == 0 || result.columns == 0) return outcome;
  if (a.inner == 0) {
    fill_zero(result);
    return outcome;
  }
  const BlockShape shape = choose_blocks(plan, a.outer, b.outer, a.inner, options.workspace_limit);
  StageTimes& times = outcome.times;

  // 1. scale: s_i = c - 1 - e_i and t_j, and the bound |C_ij| <= ||a_i|| ||b_j|| that decides how many moduli are needed.
  Scales scale_a, scale_b;
  {
    const StageTimer timer(times.scale);
    scale_a = cpu_scale(a, plan.bits);
    scale_b = cpu_scale(b, plan.bits);
  }
  int count = static_cast<int>(plan.groups.size());
  if (plan.has_moduli()) count = moduli_needed(make_prefix_rule(plan, count), scale_a.norm_squared * scale_b.norm_squared);

  // 2. and 3. encode and multiply block by block; 4. reconstruct: C_ij = fl(integer * 2^-(s_i + t_j)).
  const std::int32_t *shift_a = scale_a.shift.data(), *shift_b = scale_b.shift.data();
  run_blocks(plan, count, {a, shift_a}, {b, shift_b}, shape, times, options.progress, [&](const OutputBlock& block) {
    ResultView part = result;
    part.data += block.row * result.row_stride + block.column * result.column_stride;
    part.rows = block.rows;
    part.columns = block.columns;
    cpu_reconstruct(plan, count, block.output, shift_a + block.row, shift_b + block.column, part);
  });
  if (scale_a.special_lines + scale_b.special_lines > 0) {
    const StageTimer timer(times.reconstruct);
    cpu_patch_specials(a, scale_a, b, scale_b, result);
  }

  outcome.moduli_used = plan.has_moduli() ? count : 0;
  outcome.products = products_of(plan, count);
  outcome.workspace = shape.bytes;
  outcome.exponents = scale_a.exponents;
  outcome.exponents.extend(scale_b.exponents);
  outcome.special_rows = scale_a.special_lines;
  outcome.special_columns = scale_b.special_lines;
  return outcome;
}

void MatmulOutcome::extend(const MatmulOutcome& other) {
  moduli_used = std::max(moduli_used, other.moduli_used);
  products = std::max(products, other.products);
  workspace = std::max(workspace, other.workspace);
  exponents.extend(other.exponents);
  special_rows += other.special_rows;
  special_columns += other.special_columns;
  times.scale += other.times.scale;
  times.encode += other.times.encode;
  times.multiply += other.times.multiply;
  times.reconstruct += other.times.reconstruct;
}

void cpu_int8_matmul(const Plan& plan, const OperandView& a, const OperandView& b, std::int32_t* result,
                     std::int64_t workspace_limit) {
  if (a.outer == 0 || b.outer == 0) return;
  if (a.inner == 0) {
    std::fill_n(result, a.outer * b.outer, 0);
    return;
  }
  const BlockShape shape = choose_blocks(plan, a.outer, b.outer, a.inner, workspace_limit);
  StageTimes times;
  run_blocks(plan, 1, {a, nullptr}, {b, nullptr}, shape, times, {}, [&](const OutputBlock& block) {
    const auto* sums = static_cast<const std::int64_t*>(block.output);
    for (std::int64_t i = 0; i < block.rows; ++i, sums += block.columns) {
      std::int32_t* row = result + (block.row + i) * b.outer + block.column;
      std::transform(sums, sums + block.columns, row, [](std::int64_t sum) { return static_cast<std::int32_t>(sum); });
    }
  });
}

}  // namespace ozfp4
