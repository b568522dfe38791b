#include <array>

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/words/product.hpp"
#include "product/choose.hpp"
#include "product/cpu/prepared.hpp"
#include "product/cpu/product.hpp"
#include "product/cpu/rates.hpp"
#include "product/cpu/units.hpp"
#include "product/trust/cpu.hpp"

namespace ozfp4::product {
namespace {

// An operand of one zero along K, and none.
OperandView zeros(ElementType type, std::int64_t outer, std::int64_t inner) {
  static constexpr double zero = 0.0;
  return {reinterpret_cast<const char*>(&zero), type, outer, inner, 0, 0};
}

// The arguments that determine a plan where options leave it open, and the plan.
struct LastPlan {
  const ByteKernel* unit;
  int verdicts;
  std::int64_t rates;
  Scheme scheme;
  const Alphabet* alphabet;
  int bits;
  std::int64_t k;
  bool is_paired;
  std::shared_ptr<const Plan> plan;

  bool is_like(const LastPlan& other) const {
    return plan != nullptr && unit == other.unit && verdicts == other.verdicts && rates == other.rates &&
           scheme == other.scheme && alphabet == other.alphabet && bits == other.bits && k == other.k &&
           is_paired == other.is_paired;
  }
};

// A thread's last plans, by K: one product, or several in turn, are repeated without a choice and without an allocation. Few
// values of K = 2^i and 3 2^i share a place, complex products and real ones together.
struct LastPlans {
  std::array<LastPlan, 64> of{};
  LastPlan& at(std::int64_t k) { return of[static_cast<std::size_t>(static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15u >> 58)]; }
  static thread_local bool are_gone;  // a thread that ends may still make products
  ~LastPlans() { are_gone = true; }
};
thread_local bool LastPlans::are_gone = false;
thread_local LastPlans last_plans;

}  // namespace

std::shared_ptr<const Plan> plan_for(const Options& options, int precision, std::int64_t k, bool is_paired) {
  if (options.plan != nullptr || options.has_family || LastPlans::are_gone) {
    return plan_for(options, precision, k, is_paired, rated_units(options, precision, k));
  }
  LastPlan asked{trusted_unit(), verdict_count(), rates_stamp(), options.scheme, options.alphabet, bits_of(options, precision), k,
                 is_paired,      nullptr};
  LastPlan& last = last_plans.at(k);
  if (!last.is_like(asked)) {
    asked.plan = plan_for(options, precision, k, is_paired, rated_units(options, precision, k));
    last = asked;
  }
  return last.plan;
}

bool complex_words_pay(const Options& options, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (!may_go_direct(options) || options.way == Way::planes || m <= 0 || n <= 0 || k <= 0) return false;
  return ways_that_pay(m, 2 * n, 2 * k, {options.accuracy, 53}, options.bits).any() && trusts_words();
}

MatmulOutcome run_real(const Plan& plan, const RealProduct& product, const Options& options, std::int64_t workspace_limit) {
  const int precision = product.c.type == ElementType::float64 ? 53 : 24;
  MatmulOperand a(product.a, product.prepared_a), b(product.b, product.prepared_b);
  double alpha = product.alpha;
  if (alpha == 0 || product.a.inner == 0) {  // neither is read
    const std::int64_t inner = product.beta != 0 ? plan.width() : 0;
    a = MatmulOperand(zeros(product.a.type, product.a.outer, inner));
    b = MatmulOperand(zeros(product.b.type, product.b.outer, inner));
    alpha = 1;
  }
  Target target{product.c, options.rounding, product.bound, {}};
  if (alpha != 1 || product.beta != 0) target.update = {true, Update::of(alpha, product.beta), product.addend};
  if (product.beta == 0) target.update.c.data = nullptr;
  check_trusted(plan.alphabet);
  MatmulOptions further;
  further.workspace_limit = workspace_limit;
  further.progress = options.progress;
  further.promise = {options.accuracy, precision};
  further.is_exchanged = product.is_exchanged;
  if (may_go_direct(options) && options.way != Way::planes && trusts_words()) further.way = options.way.value_or(Way::cheaper);
  if (product.upper.data == nullptr) return cpu_matmul(plan, a, b, target, further);
  target.rounding = Rounding::down;
  return cpu_matmul(plan, a, b, std::vector<Target>{target, Target{product.upper, Rounding::up}}, further);
}

void multiply_real(const Product& p, const Options& options, Ran& ran) {
  const PreparedMatrix *left = on_cpu(p.prepared_a), *right = on_cpu(p.prepared_b);
  const PreparedMatrix* prepared = left != nullptr ? left : right;
  check_inner(options, p.k, p.bound.exists());
  ran.plan = prepared != nullptr ? prepared->plan : plan_for(options, p.type.precision(), p.k, false);
  const ElementType type = p.type.part;
  const RealProduct real{left != nullptr ? left->view_at(p.a.data) : left_view(p),
                         right != nullptr ? right->view_at(p.b.data) : right_view(p),
                         view_of(p, p.c, type),
                         view_of(p, p.upper, type),
                         view_of(p, p.bound, ElementType::float64),
                         p.alpha.real(),
                         p.beta.real(),
                         view_of(p, p.addend, p.addend_part),
                         left != nullptr ? left->held_at(p.a.data) : nullptr,
                         right != nullptr ? right->held_at(p.b.data) : nullptr};
  ran.outcome.extend(run_real(*ran.plan, real, options, options.workspace_limit));
}

namespace {

void multiply_matrix(const Product& product, const Options& options, Ran& ran) {
  if (!product.type.is_complex) {
    multiply_real(product, options, ran);
  } else if (has_both_parts(product.alpha) || has_both_parts(product.beta)) {
    multiply_with_both_parts(product, options, ran);
  } else {
    multiply_complex(product, options, ran);
  }
}

}  // namespace

void multiply(const Product& given, const Options& options, Ran& ran) {
  if (given.axes.empty()) return multiply_matrix(given, options, ran);
  const Product stack = merged(given);
  if (!stack.is_there()) {  // there may be 2^40 matrices without an entry
    Product none = stack;
    none.axes.clear();
    none.m = none.n = none.a.rows = none.b.columns = 0;
    Options own = options;
    for (const Prepared** side : {&none.prepared_a, &none.prepared_b}) {
      if (*side != nullptr) own.plan = (*side)->plan;
      *side = nullptr;
    }
    return multiply_matrix(none, own, ran);
  }
  const std::int64_t count = stack.count();
  Options own = options;
  for (std::int64_t item = 0; item < count; ++item) {
    own.progress = part_of_progress(options.progress, item, count);
    multiply_matrix(matrix_at(stack, item), own, ran);
  }
}

}  // namespace ozfp4::product
