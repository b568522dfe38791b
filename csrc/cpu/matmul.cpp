#include "cpu/matmul.hpp"

#include <algorithm>
#include <cstddef>

#include "cpu/blocks.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/longer.hpp"
#include "cpu/reconstruct/reconstruct.hpp"
#include "cpu/repair/repair.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/scale/scale.hpp"
#include "cpu/standard/chain.hpp"
#include "cpu/standard/magnitudes.hpp"
#include "cpu/words/product.hpp"
#include "plan/prefix.hpp"

namespace ozfp4 {
namespace {

// The product over an inner dimension of 0: exact zeros.
void fill_zero(const Target& target) {
  const double zero = exact_zero(target.rounding);
  for (std::int64_t i = 0; i < target.result.rows; ++i) {
    for (std::int64_t j = 0; j < target.result.columns; ++j) {
      put(target.result, i, j, zero);
      if (target.has_bound()) put(target.bound, i, j, 0.0);
    }
  }
}

// Where the transposed product goes.
Target transposed(const Target& target) {
  const TargetUpdate update{target.update.is_asked, target.update.factors, target.update.c.transposed()};
  return {target.result.transposed(), target.rounding, target.bound.transposed(), update};
}

// A block of one target: certify(magnitudes, listed) reconstructs it, and what it lists is settled in `spare` bytes.
template <class Certify>
void finish_certified(const ScaledOperands& of, const ResultBlock& block, const Target& target, Accuracy accuracy,
                      Exchanged exchanged, std::int64_t spare, MatmulOutcome& outcome, const Certify& certify) {
  const bool is_standard = accuracy == Accuracy::standard;
  Listed listed(block.rows, block.columns);
  Buffer magnitudes;  // none where the lines certify all entries
  if (is_standard) {
    const StageTimer timer(outcome.times, &StageTimes::repair);
    magnitudes = cpu_magnitudes(of, block);
  }
  outcome.entries.extend(certify(reinterpret_cast<const std::uint16_t*>(magnitudes.get()), listed));
  const StageTimer timer(outcome.times, &StageTimes::repair);
  if (is_standard) {
    outcome.entries.extend(cpu_chain(of, block, target, listed, exchanged, std::max<std::int64_t>(0, spare)));
    return;
  }
  outcome.entries.extend(cpu_repair_disjoint(of, block, target, listed));
  outcome.entries.extend(cpu_repair(of, block, target, listed, std::max<std::int64_t>(0, spare) / thread_count()));
}

void patch_specials(const ScaledOperands& of, const Target& target, MatmulOutcome& outcome) {
  if (of.scale_a.special_lines + of.scale_b.special_lines == 0) return;
  const StageTimer timer(outcome.times, &StageTimes::reconstruct);
  cpu_patch_specials(of, target);
}

void note_scales(const Scales& scale_a, const Scales& scale_b, MatmulOutcome& outcome) {
  for (const Scales* scales : {&scale_a, &scale_b}) {
    outcome.exponents.extend(scales->exponents);
    outcome.capacities.extend(scales->capacities);
  }
  outcome.special_rows = scale_a.special_lines;
  outcome.special_columns = scale_b.special_lines;
}

// Words and limbs that are asked for, or that pay where planes are not asked for.
WordWays ways_of(const MatmulOptions& options, int bits, std::int64_t rows, std::int64_t columns, std::int64_t inner) {
  if (options.way == Way::words) return {true, nullptr};
  if (options.way == Way::limbs) return {true, amx_limbs.is_here() ? &amx_limbs : &portable_limbs};  // a disabled one, too
  if (options.way == Way::planes || is_byte_kernel_asked()) return {};
  return ways_that_pay(rows, columns, inner, options.promise, bits);
}

// The product in words, where these are possible.
bool multiply_in_words(const Plan& plan, const OperandView& a, const OperandView& b, const Targets& targets,
                       const MatmulOptions& options, const ScaleRequest& request, const WordWays& ways, MatmulOutcome& outcome) {
  const bool is_transposed = is_better_transposed(a.outer, b.outer);
  const OperandView &left = is_transposed ? b : a, &right = is_transposed ? a : b;
  if (plan.is_complex || !may_multiply_words(left.outer, right.outer, a.inner, request, options.workspace_limit)) return false;
  check_thread_setting();  // by one thread the number of threads need not be known, but nonsense is refused
  WordProduct product(left, right, request, ways, options.workspace_limit, outcome.times);
  const auto own = [is_transposed](const Target& target) { return is_transposed ? transposed(target) : target; };
  const Target first = own(*targets.first);
  if (!product.multiply(options.promise, targets.count == 1 ? &first : nullptr)) return false;
  const Exchanged exchanged = !options.is_exchanged ? Exchanged::none : is_transposed ? Exchanged::rows : Exchanged::columns;
  const ScaledOperands of{left, product.scales_a(), right, product.scales_b()};
  const Promise& promise = options.promise;
  for (const Target& asked : targets) {
    const Target target = own(asked);
    if (!request.wants_records() || product.lists_none()) {
      outcome.entries.extend(product.finish(promise, target, nullptr, nullptr));
    } else {
      finish_certified(
          of, {0, left.outer, 0, right.outer}, target, promise.accuracy, exchanged, options.workspace_limit - product.workspace(),
          outcome,
          [&](const std::uint16_t* magnitudes, Listed& listed) { return product.finish(promise, target, magnitudes, &listed); });
    }
    patch_specials(of, target, outcome);
  }
  outcome.limbs = product.limbs();
  outcome.limb_unit = product.unit();
  if (outcome.limbs > 0) {
    outcome.by_limbs = {1, product.residues(), outcome.limbs * outcome.limbs};
  } else {
    outcome.in_words = {1, product.residues(), 2 + product.residues()};
  }
  outcome.workspace = product.workspace();
  is_transposed ? note_scales(of.scale_b, of.scale_a, outcome) : note_scales(of.scale_a, of.scale_b, outcome);
  if (options.progress) options.progress(1.0);
  return true;
}

// One product by planes, from the scales of its operands on.
class Product {
 public:
  Product(const Plan& plan, const MatmulOperand& a, const MatmulOperand& b, const MatmulOptions& options,
          const ScaleRequest& request, MatmulOutcome& outcome)
      : plan_(plan),
        residues_(plan.is_complex ? joined_plan(plan) : plan),
        a_(a.view),
        b_(b.view),
        prepared_a_(a.prepared),
        prepared_b_(b.prepared),
        options_(options),
        has_records_(request.wants_records()),
        outcome_(outcome) {
    const StageTimer timer(outcome.times, &StageTimes::scale);
    if (prepared_a_ == nullptr) own_scale_a_ = cpu_scale(a_, request);
    if (prepared_b_ == nullptr) own_scale_b_ = cpu_scale(b_, request);
    count_ = plan.count();
    // |C_ij| <= ||a_i|| ||b_j|| decides how many moduli are needed.
    if (plan.has_moduli()) count_ = moduli_needed(make_prefix_rule(plan, count_), scale_a_.norm_squared * scale_b_.norm_squared);
  }

  // Encodes and multiplies block by block, and reconstructs each target: C_ij = fl(integer * 2^-(s_i + t_j)).
  void run(const BlockShape& shape, const Targets& targets) {
    // Operands in a form that the kernel does not take are encoded anew.
    const auto planes_of = [&](const PreparedOperand* prepared) {
      return prepared != nullptr && prepared->is_packed == (shape.kernel != nullptr) ? prepared->planes.get() : nullptr;
    };
    EncodedOperand a = encoded_operand(plan_, a_, scale_a_, Side::left), b = encoded_operand(plan_, b_, scale_b_, Side::right);
    a.planes = planes_of(prepared_a_);
    b.planes = planes_of(prepared_b_);
    spare_ = options_.workspace_limit - shape.bytes;
    run_blocks(plan_, count_, a, b, shape, outcome_.times, options_.progress, [&](const OutputBlock& block) {
      for (const Target& target : targets) finish(block, target.part(block));
    });
    for (const Target& target : targets) patch_specials(of_, target, outcome_);
    outcome_.by_planes = {1, plan_.has_moduli() ? count_ : 0, plan_.products_of(count_)};
    outcome_.kernel = shape.kernel;
    outcome_.workspace = shape.bytes - unused_bytes(prepared_a_, a.view, shape.rows, shape) -
                         unused_bytes(prepared_b_, b.view, shape.columns, shape);
    note_scales(scale_a_, scale_b_, outcome_);
  }

 private:
  // The blocks' room for planes, where those of a prepared operand are taken as they lie.
  std::int64_t unused_bytes(const PreparedOperand* prepared, const OperandView& view, std::int64_t outers,
                            const BlockShape& shape) const {
    const bool is_whole = prepared != nullptr && prepared->is_packed == (shape.kernel != nullptr) && outers == view.outer &&
                          shape.inners == view.inner / plan_.width();
    return is_whole ? prepared->bytes : 0;
  }

  void finish(const OutputBlock& block, const Target& target) {
    if (!has_records_) {
      const StageTimer timer(outcome_.times, &StageTimes::reconstruct);
      return cpu_reconstruct(residues_, count_, block.output, scale_a_.shift.data() + block.row,
                             scale_b_.shift.data() + block.column, target.result);
    }
    finish_certified(of_, block, target, options_.promise.accuracy, options_.is_exchanged ? Exchanged::columns : Exchanged::none,
                     spare_, outcome_, [&](const std::uint16_t* magnitudes, Listed& listed) {
                       const StageTimer timer(outcome_.times, &StageTimes::reconstruct);
                       return cpu_reconstruct_certified(residues_, count_, block.output, options_.promise, a_.inner,
                                                        {scale_a_, block.row}, {scale_b_, block.column}, magnitudes, target,
                                                        listed);
                     });
  }

  const Plan& plan_;
  const Plan residues_;  // of the real result
  const OperandView &a_, &b_;
  const PreparedOperand *prepared_a_, *prepared_b_;
  const MatmulOptions& options_;
  bool has_records_;
  MatmulOutcome& outcome_;
  Scales own_scale_a_, own_scale_b_;
  const Scales& scale_a_ = prepared_a_ != nullptr ? prepared_a_->scales : own_scale_a_;
  const Scales& scale_b_ = prepared_b_ != nullptr ? prepared_b_->scales : own_scale_b_;
  const ScaledOperands of_{a_, scale_a_, b_, scale_b_};
  int count_ = 0;
  std::int64_t spare_ = 0;
};

}  // namespace

MatmulOutcome cpu_matmul(const Plan& plan, const MatmulOperand& a, const MatmulOperand& b, const Targets& targets,
                         const MatmulOptions& options) {
  const DefaultFpMode mode;
  MatmulOutcome outcome;
  outcome.times.are_asked = options.wants_times;
  const std::int64_t rows = a.view.outer, columns = b.view.outer, inner = a.view.inner;
  if (rows == 0 || columns == 0) return outcome;
  if (inner == 0) {
    for (const Target& target : targets) fill_zero(target);
    return outcome;
  }
  const bool has_bound = std::any_of(targets.begin(), targets.end(), [](const Target& target) { return target.has_bound(); });
  const bool is_update = std::any_of(targets.begin(), targets.end(), [](const Target& target) { return target.update.is_asked; });
  ScaleRequest request{options.promise.accuracy, plan.bits, options.promise.precision, has_bound, is_update};
  const bool is_prepared = a.prepared != nullptr || b.prepared != nullptr;
  if (request.accuracy == Accuracy::correct && !is_prepared && !has_bound && options.way != Way::words &&
      options.way != Way::limbs) {
    if (const auto longer = longer_plan(plan, a.view, b.view, request)) {
      if (options.without_planes_only) return outcome;
      const BlockShape shape = best_blocks(*longer, rows, columns, inner, options.workspace_limit, request.accuracy);
      if (shape.bytes <= options.workspace_limit) {
        request.longest = longer->bits;
        Product(*longer, a, b, options, request, outcome).run(shape, targets);
        return outcome;
      }
    }
  }
  const WordWays ways = is_prepared ? WordWays() : ways_of(options, plan.bits, rows, columns, inner);
  if (ways.any() && multiply_in_words(plan, a.view, b.view, targets, options, request, ways, outcome)) return outcome;
  if (options.without_planes_only) return outcome;
  const BlockShape shape = choose_blocks(plan, rows, columns, inner, options.workspace_limit, options.promise.accuracy);
  Product(plan, a, b, options, request, outcome).run(shape, targets);
  return outcome;
}

void WayOutcome::extend(const WayOutcome& other) {
  count += other.count;
  moduli_used = std::max(moduli_used, other.moduli_used);
  products = std::max(products, other.products);
}

void MatmulOutcome::extend(const MatmulOutcome& other) {
  by_planes.extend(other.by_planes);
  in_words.extend(other.in_words);
  by_limbs.extend(other.by_limbs);
  limbs = std::max(limbs, other.limbs);
  if (other.limb_unit != nullptr) limb_unit = other.limb_unit;
  workspace = std::max(workspace, other.workspace);
  exponents.extend(other.exponents);
  capacities.extend(other.capacities);
  entries.extend(other.entries);
  special_rows += other.special_rows;
  special_columns += other.special_columns;
  times.extend(other.times);
  if (other.by_planes.count > 0) kernel = other.kernel;
}

}  // namespace ozfp4
