#include "plan/plan.hpp"

#include <stdexcept>

#include "arith/limbs/limbs.hpp"
#include "plan/moduli/number_theory.hpp"
#include "plan/schemes/schemes.hpp"

namespace ozfp4 {

Plan make_plan(const PlanRequest& request) {
  constexpr int least_bits = 2, most_bits = 53;
  if (request.bits < least_bits || request.bits > most_bits) {
    throw std::invalid_argument("bits: " + std::to_string(request.bits) + " is outside 2..53");
  }
  return request.scheme == Scheme::one ? make_scheme_one(request) : make_scheme_two(request);
}

void encode_integer(const Plan& plan, std::int64_t v, std::int32_t* limbs) {
  if (plan.scheme == Scheme::one) {
    const int width = plan.alphabet.digits.width;
    for (int p = 0; p < plan.planes_a; ++p) limbs[p] = width == 0 ? take_limb13(v) : take_balanced_digit(v, width);
    return;
  }
  for (const Group& group : plan.groups) {
    const std::int64_t m = group.modulus;
    const std::int64_t x = plan.scheme == Scheme::integer ? v + 128 : modulo(v, m);
    if (group.limb_table.empty()) {
      limbs[group.first_plane] = static_cast<std::int32_t>(x > (m - 1) / 2 ? x - m : x);
      continue;
    }
    const std::int64_t entries = plan.scheme == Scheme::integer ? 256 : m;
    for (int p = 0; p < group.planes; ++p) limbs[group.first_plane + p] = group.limb_table[p * entries + x];
  }
}

}  // namespace ozfp4
