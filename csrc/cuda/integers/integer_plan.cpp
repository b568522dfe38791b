#include <cmath>
#include <stdexcept>
#include <string>

#include "cuda/integers/integers.hpp"
#include "cuda/multiply/schedule.hpp"
#include "plan/moduli/moduli.hpp"

namespace ozfp4 {
namespace {

using Wide = WideInt<8>;

std::uint64_t low_of(const Wide& x) { return (static_cast<std::uint64_t>(x.word[1]) << 32) | x.word[0]; }

// x mod m. Precondition: x >= 0.
std::uint64_t modulo_of(const Wide& x, std::uint64_t m) {
  std::uint64_t rest = 0;
  for (int i = 7; i >= 0; --i) {
    rest = static_cast<std::uint64_t>(((static_cast<Unsigned128>(rest) << 32) | x.word[i]) % m);
  }
  return rest;
}

// floor(2^128 x / y). Precondition: 0 <= x < y < 2^255.
Unsigned128 fraction_of(Wide x, const Wide& y) {
  Unsigned128 quotient = 0;
  for (int bit = 0; bit < 128; ++bit) {
    x = wide_add(x, x);
    const Wide rest = wide_sub(x, y);
    const bool is_above = !wide_is_negative(rest);
    quotient = (quotient << 1) | (is_above ? 1 : 0);
    if (is_above) x = rest;
  }
  return quotient;
}

void append_prefix(IntegerPlan& made, const Plan& plan, int count, bool checks) {
  const CrtConstants<8> crt = make_crt_constants<8>(first_moduli(plan, count));
  const std::uint64_t m = made.modulo.number;
  for (const Wide& weight : crt.weight) {
    const Unsigned128 fraction = fraction_of(weight, crt.product.number);
    made.value.push_back(m == 0 ? low_of(weight) : modulo_of(weight, m));
    made.top.push_back(static_cast<std::uint32_t>(fraction >> 96));
    if (!checks) continue;
    made.fraction.push_back(static_cast<std::uint64_t>(fraction));
    made.fraction.push_back(static_cast<std::uint64_t>(fraction >> 64));
  }
  const std::uint64_t rest = m == 0 ? low_of(crt.product.number) : modulo_of(crt.product.number, m);
  made.period.push_back(m == 0 ? rest : (m - rest) % m);
  made.scale.push_back(std::ldexp(wide_to_double(crt.product.number), -128));
}

}  // namespace

IntegerPlan make_integer_plan(const Plan& plan, std::uint64_t modulus, bool checks) {
  if (!plan.has_moduli() || plan.is_complex) {
    throw std::invalid_argument("plan: integers on a GPU are multiplied in scheme II, and not by pairs");
  }
  const int bits = wide_bit_length(moduli_product(plan, plan.count())), most = checks ? kMostCheckedBits : 200;
  if (bits > most || first_integer_weight(plan.count() + 1) > kMaxIntegerWeights) {
    throw std::length_error("plan: " + std::to_string(plan.count()) + " moduli of " + std::to_string(bits) +
                            " bits; products of integers on a GPU take " + std::to_string(most) + " bits" +
                            (checks ? " where overflow is looked for" : ""));
  }
  std::int64_t residues = 0;
  for (int i = 0; i < plan.count(); ++i) residues += plan.modulus(i) - 1;
  if (residues > kMostLowResidueSum) throw std::length_error("plan: its residues add up to more than 2^20");
  IntegerPlan made;
  made.all = plan.count();
  if (modulus != 0) made.modulo = make_modulo(modulus);
  for (int count = 1; count <= made.all; ++count) append_prefix(made, plan, count, checks);
  return made;
}

PrefixRule make_integer_prefix_rule(const Plan& plan) {
  PrefixRule rule = make_prefix_rule(plan, plan.count());
  // bound < P^2 / 4 (1 - 2^-8): |x| < P / 2 (1 - 2^-9).
  for (double& limit : rule.limit) limit *= 1.0 - 0x1p-8;
  return rule;
}

}  // namespace ozfp4
