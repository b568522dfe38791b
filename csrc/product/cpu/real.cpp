#include <array>

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/words/product.hpp"
#include "product/choose.hpp"
#include "product/cpu/prepared.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::product {
namespace {

// An operand of one zero along K, and none.
OperandView zeros(ElementType type, std::int64_t outer, std::int64_t inner) {
  static constexpr double zero = 0.0;
  return {reinterpret_cast<const char*>(&zero), type, outer, inner, 0, 0};
}

// What a plan depends on where options leave it open, and the plan.
struct LastPlan {
  const ByteKernel* unit;
  Scheme scheme;
  const Alphabet* alphabet;
  int bits;
  std::int64_t k;
  bool is_paired;
  std::shared_ptr<const Plan> plan;

  bool is_like(const LastPlan& other) const {
    return plan != nullptr && unit == other.unit && scheme == other.scheme && alphabet == other.alphabet && bits == other.bits &&
           k == other.k && is_paired == other.is_paired;
  }
};

// A thread's, by K: the same product again asks nobody and allocates nothing, nor do several in turn. Of 2^i and 3 2^i, and so of
// complex products of these beside real ones, few share a place.
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
    return plan_for(options, precision, k, is_paired, trusted_units());
  }
  LastPlan asked{trusted_unit(), options.scheme, options.alphabet, bits_of(options, precision), k, is_paired, nullptr};
  LastPlan& last = last_plans.at(k);
  if (!last.is_like(asked)) {
    asked.plan = plan_for(options, precision, k, is_paired, trusted_units());
    last = asked;
  }
  return last.plan;
}

bool complex_words_pay(const Options& options, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (!may_go_direct(options) || m <= 0 || n <= 0 || k <= 0) return false;
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
  trusted_unit();
  MatmulOptions further;
  further.workspace_limit = workspace_limit;
  further.promise = {options.accuracy, precision};
  further.is_exchanged = product.is_exchanged;
  if (may_go_direct(options) && trusts_words()) further.way = Way::cheaper;
  return cpu_matmul(plan, a, b, target, further);
}

void multiply_real(const Product& product, const Options& options, Ran& ran) {
  const PreparedMatrix *left = product.prepared_a, *right = product.prepared_b;
  const PreparedMatrix* prepared = left != nullptr ? left : right;
  check_inner(options, product.k, product.bound != nullptr);
  ran.plan = prepared != nullptr ? prepared->plan : plan_for(options, product.type.precision(), product.k, false);
  const ElementType type = product.type.part;
  const Operand &a = product.a, &b = product.b;
  const std::int64_t m = product.m, n = product.n, k = product.k, entry = entry_bytes(type);
  const ResultView c{product.c, type, m, n, product.c_stride, entry};
  const RealProduct real{
      left != nullptr ? left->view : OperandView{a.data, type, m, k, a.row_stride, a.column_stride},
      right != nullptr ? right->view : OperandView{b.data, type, n, k, b.column_stride, b.row_stride},
      c,
      {reinterpret_cast<char*>(product.bound), ElementType::float64, m, n, product.bound_stride, sizeof(double)},
      product.alpha.real(),
      product.beta.real(),
      c,
      left != nullptr ? &left->held : nullptr,
      right != nullptr ? &right->held : nullptr};
  ran.outcome.extend(run_real(*ran.plan, real, options, options.workspace_limit));
}

void multiply(const Product& product, const Options& options, Ran& ran) {
  if (!product.type.is_complex) {
    multiply_real(product, options, ran);
  } else if (has_both_parts(product)) {
    multiply_with_both_parts(product, options, ran);
  } else {
    multiply_complex(product, options, ran);
  }
}

}  // namespace ozfp4::product
