#include "cpu/matmul.hpp"

#include <algorithm>
#include <chrono>

#include "cpu/blocks.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/stages/encode.hpp"
#include "cpu/stages/multiply.hpp"
#include "cpu/stages/reconstruct.hpp"
#include "cpu/stages/scale.hpp"
#include "plan/prefix.hpp"

namespace ozfp4 {
namespace {

// Adds the seconds of its lifetime to a stage's total.
class StageTimer {
 public:
  explicit StageTimer(double* total) : total_(total), start_(std::chrono::steady_clock::now()) {}
  ~StageTimer() {
    if (total_) *total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  double* total_;
  std::chrono::steady_clock::time_point start_;
};

// Planes and outputs of one block at a time.
class BlockRunner {
 public:
  BlockRunner(const Plan& plan, int count, const BlockShape& largest) : plan_(plan), count_(count) {
    const std::int64_t entry = plan.alphabet.entry_bytes(), planes = planes_used(plan, count);
    planes_a_ = allocate_buffer(planes * largest.rows * largest.inners * entry);
    planes_b_ = allocate_buffer(planes * largest.columns * largest.inners * entry);
    output_ = allocate_buffer(static_cast<std::int64_t>(count) * largest.rows * largest.columns * output_entry_bytes(plan));
    scratch_ = allocate_buffer(cpu_multiply_scratch(plan, {largest.rows, largest.columns, largest.inners}));
  }

  // Operand A is encoded anew only when its block changes: the loops below keep it while they walk over columns.
  void encode(const OperandView& a, const std::int32_t* shift_a, const Block& block_a, const OperandView& b,
              const std::int32_t* shift_b, const Block& block_b) {
    if (!same(block_a, held_a_)) cpu_encode(plan_, count_, a, shift_a, block_a, planes_a_.get());
    if (!same(block_b, held_b_)) cpu_encode(plan_, count_, b, shift_b, block_b, planes_b_.get());
    held_a_ = block_a;
    held_b_ = block_b;
  }

  void multiply(bool accumulate, const std::function<void(double)>& progress) {
    cpu_multiply(plan_, count_, {held_a_.outers, held_b_.outers, held_a_.inners}, planes_a_.get(), planes_b_.get(), accumulate,
                 output_.get(), scratch_.get(), progress);
  }

  const void* output() const { return output_.get(); }

 private:
  static bool same(const Block& x, const Block& y) {
    return x.outer0 == y.outer0 && x.outers == y.outers && x.inner0 == y.inner0 && x.inners == y.inners;
  }

  const Plan& plan_;
  int count_;
  Buffer planes_a_, planes_b_, output_, scratch_;
  Block held_a_{-1, 0, 0, 0}, held_b_{-1, 0, 0, 0};
};

// Visits all blocks of the output; `finish` receives the multiply output of each.
template <class Finish>
void run_blocks(const Plan& plan, int count, const OperandView& a, const std::int32_t* shift_a, const OperandView& b,
                const std::int32_t* shift_b, const BlockShape& shape, const MatmulOptions& options, Finish finish) {
  StageTimes unused;
  StageTimes& times = options.times ? *options.times : unused;
  BlockRunner runner(plan, count, shape);
  const double total = static_cast<double>(a.outer) * static_cast<double>(b.outer) * static_cast<double>(a.inner);
  double done = 0;
  for (std::int64_t row = 0; row < a.outer; row += shape.rows) {
    const std::int64_t rows = std::min(shape.rows, a.outer - row);
    for (std::int64_t column = 0; column < b.outer; column += shape.columns) {
      const std::int64_t columns = std::min(shape.columns, b.outer - column);
      for (std::int64_t inner = 0; inner < a.inner; inner += shape.inners) {
        const std::int64_t inners = std::min(shape.inners, a.inner - inner);
        {
          const StageTimer timer(&times.encode);
          runner.encode(a, shift_a, {row, rows, inner, inners}, b, shift_b, {column, columns, inner, inners});
        }
        const double share = static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inners);
        const auto report = [&](double fraction) { options.progress((done + share * fraction) / total); };
        {
          const StageTimer timer(&times.multiply);
          runner.multiply(inner > 0, options.progress ? std::function<void(double)>(report) : nullptr);
        }
        done += share;
      }
      const StageTimer timer(&times.reconstruct);
      finish(row, rows, column, columns, runner.output());
    }
  }
}

void fill_zero(const ResultView& result) {
  for (std::int64_t i = 0; i < result.rows; ++i) {
    for (std::int64_t j = 0; j < result.columns; ++j) {
      char* address = result.data + i * result.row_stride + j * result.column_stride;
      if (result.type == ElementType::float64) {
        store(address, 0.0);
      } else {
        store(address, 0.0f);
      }
    }
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
  StageTimes unused;
  StageTimes& times = options.times ? *options.times : unused;
  const BlockShape shape = choose_blocks(plan, a.outer, b.outer, a.inner, options.workspace_limit);

  // 1. scale: s_i = c - 1 - e_i and t_j, and the bound |C_ij| <= ||a_i|| ||b_j|| that decides how many moduli are needed.
  Scales scale_a, scale_b;
  {
    const StageTimer timer(&times.scale);
    scale_a = cpu_scale(a, plan.bits);
    scale_b = cpu_scale(b, plan.bits);
  }
  int count = static_cast<int>(plan.groups.size());
  if (plan.has_moduli()) count = moduli_needed(make_prefix_rule(plan, count), scale_a.norm_squared * scale_b.norm_squared);

  // 2. and 3. encode and multiply block by block; 4. reconstruct: C_ij = fl(integer * 2^-(s_i + t_j)).
  run_blocks(plan, count, a, scale_a.shift.data(), b, scale_b.shift.data(), shape, options,
             [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, const void* output) {
               const ResultView block{result.data + row * result.row_stride + column * result.column_stride,
                                      result.type,
                                      rows,
                                      columns,
                                      result.row_stride,
                                      result.column_stride};
               cpu_reconstruct(plan, count, output, scale_a.shift.data() + row, scale_b.shift.data() + column, block);
             });
  if (scale_a.special_lines + scale_b.special_lines > 0) {
    const StageTimer timer(&times.reconstruct);
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

void cpu_int8_matmul(const Plan& plan, const OperandView& a, const OperandView& b, std::int32_t* result,
                     std::int64_t workspace_limit) {
  const std::int64_t columns_all = b.outer;
  if (a.outer == 0 || columns_all == 0) return;
  if (a.inner == 0) {
    std::fill_n(result, a.outer * columns_all, 0);
    return;
  }
  MatmulOptions options{workspace_limit, nullptr, {}};
  const BlockShape shape = choose_blocks(plan, a.outer, columns_all, a.inner, workspace_limit);
  run_blocks(plan, 1, a, nullptr, b, nullptr, shape, options,
             [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, const void* output) {
               const auto* sums = static_cast<const std::int64_t*>(output);
               for (std::int64_t i = 0; i < rows; ++i) {
                 for (std::int64_t j = 0; j < columns; ++j) {
                   result[(row + i) * columns_all + column + j] = static_cast<std::int32_t>(sums[i * columns + j]);
                 }
               }
             });
}

}  // namespace ozfp4
