// The integer of an entry modulo 2^64 and modulo numbers, and whether it fits a type, from its residues. The results of the
// kernel for integers, with its constants, are compared with the integer itself. Host only.
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/integers/integers.hpp"
#include "plan/moduli/moduli.hpp"
#include "plan/plan.hpp"

using namespace ozfp4;

namespace {

using Wide = WideInt<8>;

Wide random_wide(int bits) {
  Wide x = wide_zero<8>();
  for (int i = 0; i < bits; ++i) {
    x = wide_add(x, x);
    x.word[0] |= random_int(0, 1);
  }
  return random_int(0, 1) == 0 ? x : wide_negate(x);
}

std::uint64_t residue(const Wide& x, std::uint64_t m) {
  const Wide magnitude = wide_magnitude(x, wide_sign_mask(x));
  std::uint64_t rest = 0;
  for (int i = 7; i >= 0; --i) {
    rest = static_cast<std::uint64_t>(((static_cast<Unsigned128>(rest) << 32) | magnitude.word[i]) % m);
  }
  return wide_is_negative(x) && rest != 0 ? m - rest : rest;
}

bool fits(const Wide& x, int bits, bool has_sign) {
  const Wide less = has_sign && wide_is_negative(x) ? wide_sub(wide_negate(x), wide_from<8>(1)) : x;
  return !wide_is_negative(less) && wide_bit_length(less) <= bits - (has_sign ? 1 : 0);
}

struct Found {
  std::uint64_t value;
  double estimate;
};

// As csrc/cuda/integers/reconstruct.cu.
Found find(const IntegerPlan& plan, const Plan& moduli, int count, const Wide& x) {
  const bool is_modulo = plan.modulo.number != 0;
  std::uint64_t top = 0;
  Unsigned128 value = 0, fraction = 0;
  for (int i = 0; i < count; ++i) {
    const auto m = static_cast<std::uint64_t>(moduli.modulus(i));
    const int at = first_integer_weight(count) + i;
    const std::uint64_t own = residue(x, m);
    value += static_cast<Unsigned128>(plan.value[static_cast<std::size_t>(at)]) * own;
    top += static_cast<std::uint64_t>(plan.top[static_cast<std::size_t>(at)]) * own;
    if (plan.fraction.empty()) continue;
    const auto f = static_cast<std::size_t>(2 * at);
    fraction += ((static_cast<Unsigned128>(plan.fraction[f + 1]) << 64) | plan.fraction[f]) * own;
  }
  const std::uint64_t quotient = low_quotient(top), period = plan.period[static_cast<std::size_t>(count - 1)];
  const double scale = plan.scale[static_cast<std::size_t>(count - 1)];
  if (is_modulo) return {reduce(value + static_cast<Unsigned128>(period) * quotient, plan.modulo), 0};
  return {static_cast<std::uint64_t>(value) - quotient * period, estimate_by_fraction(fraction, scale)};
}

void check_integer(const IntegerPlan& low, const Plan& plan, int count, const Wide& x, const std::string& name) {
  const Found found = find(low, plan, count, x);
  const std::uint64_t m = low.modulo.number;
  const std::uint64_t expected = m != 0 ? residue(x, m) : (static_cast<std::uint64_t>(x.word[1]) << 32) | x.word[0];
  report(name + ": value", found.value == expected, std::to_string(found.value) + " is not " + std::to_string(expected));
  if (m != 0) return;
  for (const int bits : {8, 16, 32, 64}) {
    for (const bool has_sign : {false, true}) {
      report(name + ": fits " + (has_sign ? "int" : "uint") + std::to_string(bits),
             fits_type(found.value, found.estimate, bits, has_sign) == fits(x, bits, has_sign));
    }
  }
}

// Numbers of every length up to what the prefix rule takes, and the neighbours of the ends of every type.
void check_prefix(const IntegerPlan& low, const Plan& plan, int count, const std::string& name) {
  const int bits = wide_bit_length(moduli_product(plan, count)) - 2;  // |x| < P / 2 (1 - 2^-9) for all of so many bits
  for (int length = 0; length < bits; ++length) {
    for (int i = 0; i < 4; ++i) check_integer(low, plan, count, random_wide(length), name);
  }
  for (const int edge : {7, 8, 15, 16, 31, 32, 63, 64, 65, 100, 127}) {
    if (edge + 2 >= bits) continue;
    Wide power = wide_from<8>(1);
    for (int i = 0; i < edge; ++i) power = wide_add(power, power);
    for (int step = -2; step <= 2; ++step) {
      const Wide x = wide_add(power, wide_from<8>(step));
      check_integer(low, plan, count, x, name);
      check_integer(low, plan, count, wide_negate(x), name);
    }
  }
}

}  // namespace

int main() {
  for (const Alphabet* alphabet : {&Alphabet::int8, &Alphabet::fp4}) {
    for (const std::int64_t k : {std::int64_t(16), std::int64_t(1) << 31}) {
      const Plan plan = make_plan({Scheme::two, *alphabet, "least", 64, k});
      const PrefixRule rule = make_integer_prefix_rule(plan);
      report("every prefix may serve", rule.least == 1 && rule.all == plan.count());
      for (const std::uint64_t m : {std::uint64_t(0), std::uint64_t(1), std::uint64_t(2), std::uint64_t(97),
                                    (std::uint64_t(1) << 61) - 1, (std::uint64_t(1) << 63) - 1}) {
        const IntegerPlan low = make_integer_plan(plan, m, m == 0);
        for (int count = 1; count <= plan.count(); count += m == 0 ? 1 : 7) {
          check_prefix(low, plan, count, std::string(alphabet->name) + " " + std::to_string(count) + " mod " + std::to_string(m));
        }
      }
    }
  }
  return finish();
}
