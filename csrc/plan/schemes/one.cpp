// Scheme I: integers as digits; one output for each sum of digit positions i + j.
#include <algorithm>
#include <stdexcept>

#include "arith/limits.hpp"
#include "plan/schemes/schemes.hpp"

namespace ozfp4 {
namespace {

// Fewest base-13 limbs that represent every |v| <= 2^bits: p of them reach X_p = (13^p - 1) / 3 (Lemma 1).
int count_limbs13(int bits) {
  PlanInt reach = wide_from<kMaxWords>(4);
  int limbs = 1;
  for (; wide_bit_length(reach) <= bits; ++limbs) {
    reach = wide_add(wide_mul_small(reach, 13), wide_from<kMaxWords>(4));
  }
  return limbs;
}

// Fewest digits that represent every |v| <= 2^bits. p balanced digits of w bits reach
// (2^(w - 1) - 1) (2^(w p) - 1) / (2^w - 1) > 2^(w p - 2). Precondition: w >= 2.
int count_digits(const DigitRule& rule, int bits) {
  if (rule.width == 0) return count_limbs13(bits);
  int digits = 1;
  while (rule.width * digits - 2 < bits) ++digits;
  return digits;
}

void add_digit_groups(Plan& plan, int digits, std::int64_t largest_digit) {
  for (int g = 0; g <= 2 * digits - 2; ++g) {
    Group group{};
    group.first_term = plan.products();
    group.max_product = largest_digit * largest_digit;
    for (int i = std::max(0, g - digits + 1); i <= std::min(g, digits - 1); ++i) plan.terms.push_back({g, i, g - i, 1});
    group.terms = plan.products() - group.first_term;
    plan.groups.push_back(std::move(group));
  }
}

}  // namespace

Plan make_scheme_one(const PlanRequest& request) {
  if (request.family != "least" && request.family != "paper") {
    throw std::invalid_argument("family: '" + request.family + "' does not exist for scheme I; allowed are 'least', 'paper'");
  }
  if (request.family == "paper" && !request.alphabet.has_paper_families) {
    throw std::invalid_argument("family: 'paper' exists for the fp4 alphabet only");
  }
  const DigitRule& rule = request.alphabet.digits;
  Plan plan{};
  plan.scheme = Scheme::one;
  plan.alphabet = request.alphabet;
  plan.family = request.family;
  plan.bits = request.bits;
  plan.base = rule.base;
  const int digits = count_digits(rule, request.bits);
  plan.planes_a = plan.planes_b = digits;
  add_digit_groups(plan, digits, rule.largest_digit);
  // Group sums are kept in 64 bits, the result in 160: the tighter of the two bounds.
  const std::int64_t group_limit = accumulator_k_max(digits * rule.largest_digit * rule.largest_digit, kInt64SumExact);
  plan.k_max = std::min(group_limit, std::int64_t(1) << 40);
  if (plan.k_max < request.k) {
    throw std::length_error("k = " + std::to_string(request.k) +
                            " breaks the digit group bound of scheme I, K <= " + std::to_string(plan.k_max));
  }
  return plan;
}

}  // namespace ozfp4
