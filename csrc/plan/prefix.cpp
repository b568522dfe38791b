#include "plan/prefix.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "plan/moduli/moduli.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

int least_prefix(const Plan& plan, int prefixes) {
  const int all = plan.count();
  return plan.prefix_allowed ? std::max(1, all - prefixes + 1) : all;
}

PrefixRule make_prefix_rule(const Plan& plan, int prefixes) {
  PrefixRule rule;
  if (!plan.has_moduli()) return rule;
  if (plan.count() > kMaxModuli) {
    throw std::length_error("plan: " + std::to_string(plan.count()) + " moduli exceed the " + std::to_string(kMaxModuli) +
                            " that one product takes");
  }
  rule.least = least_prefix(plan, prefixes);
  rule.all = plan.count();
  PlanInt product = wide_from<kMaxWords>(1);
  for (int count = 1; count <= rule.all; ++count) {
    append_modulus(product, plan.modulus(count - 1));
    const double half = 0.5 * wide_to_double(product);
    rule.limit[count - 1] = half * half * (1.0 - 0x1p-39);
  }
  return rule;
}

int moduli_needed(const PrefixRule& rule, double bound) {
  for (int count = rule.least; count < rule.all; ++count) {
    if (bound < rule.limit[count - 1]) return count;
  }
  return rule.all;
}

}  // namespace ozfp4
