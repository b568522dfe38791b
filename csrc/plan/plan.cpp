#include "plan/plan.hpp"

#include <stdexcept>

#include "arith/limbs/limbs.hpp"
#include "plan/schemes/schemes.hpp"

namespace ozfp4 {

int Plan::products_of(int count) const {
  int products = 0;
  for (int g = 0; g < groups_of(count); ++g) products += groups[static_cast<std::size_t>(g)].terms;
  return products;
}

Plan make_plan(const PlanRequest& request) {
  if (request.bits < kLeastBits || request.bits > kMostBits) {
    throw std::invalid_argument("bits: " + std::to_string(request.bits) + " is outside " + std::to_string(kLeastBits) + ".." +
                                std::to_string(kMostBits));
  }
  return request.scheme == Scheme::one && !request.is_complex ? make_scheme_one(request) : make_scheme_two(request);
}

namespace {

// The integer 0 <= r < m that v is congruent to; v becomes (v - r) / m. Precondition: m in [2, 2^31).
std::int64_t take_residue(PlanInt& v, std::int64_t m) {
  const bool is_negative = wide_is_negative(v);
  v = wide_magnitude(v, wide_sign_mask(v));
  const auto divisor = static_cast<std::uint64_t>(m);
  std::uint64_t rest = 0;
  for (int i = (wide_bit_length(v) + 31) / 32 - 1; i >= 0; --i) {
    rest = (rest << 32) | v.word[i];
    v.word[i] = static_cast<std::uint32_t>(rest / divisor);
    rest %= divisor;
  }
  const auto r = static_cast<std::int64_t>(rest);
  if (is_negative) v = wide_negate(r == 0 ? v : wide_add(v, wide_from<kMaxWords>(1)));
  return is_negative && r != 0 ? m - r : r;
}

// A digit depends on v modulo the base alone, and what it leaves of v is the quotient and what it leaves of the remainder.
int take_digit(PlanInt& v, const DigitRule& rule) {
  std::int64_t rest = take_residue(v, rule.base);
  const int digit = rule.width == 0 ? take_limb13(rest) : take_balanced_digit(rest, rule.width);
  v = wide_add(v, wide_from<kMaxWords>(rest));
  return digit;
}

// Limbs of the residue x in [0, m), or entry x of the table of INT8.
void write_limbs(const Group& group, std::int64_t x, std::int32_t* limbs) {
  const std::int64_t m = group.modulus;
  if (group.limb_table.empty()) {
    limbs[group.first_plane] = static_cast<std::int32_t>(x > (m - 1) / 2 ? x - m : x);
    return;
  }
  const std::size_t entries = group.limb_table.size() / static_cast<std::size_t>(group.planes);
  for (int p = 0; p < group.planes; ++p) {
    limbs[group.first_plane + p] = group.limb_table[static_cast<std::size_t>(p) * entries + static_cast<std::size_t>(x)];
  }
}

}  // namespace

void encode_integer(const Plan& plan, const PlanInt& v, std::int32_t* limbs) {
  PlanInt rest = v;
  if (plan.scheme == Scheme::one) {
    for (int p = 0; p < plan.planes_a; ++p) limbs[p] = take_digit(rest, plan.alphabet.digits);
    return;
  }
  for (const Group& group : plan.groups) {
    const std::int64_t m = group.modulus;
    rest = v;
    const std::int64_t x = plan.scheme == Scheme::integer ? static_cast<std::int32_t>(v.word[0]) + 128 : take_residue(rest, m);
    write_limbs(group, x, limbs);
  }
}

void encode_pair(const Plan& plan, const PlanInt& x, const PlanInt& y, std::int32_t* limbs) {
  for (const Group& group : plan.groups) {
    const std::int64_t m = group.modulus;
    PlanInt re = x, im = y;
    const std::int64_t r = (take_residue(re, m) * group.encoded.re + take_residue(im, m) * group.encoded.im) % m;
    write_limbs(group, r, limbs);
  }
}

}  // namespace ozfp4
