#include "plan/moduli/moduli.hpp"

#include <stdexcept>
#include <string>

namespace ozfp4 {

void append_modulus(PlanInt& product, std::int64_t modulus) {
  const int bits = wide_bit_length(product) + highest_bit(static_cast<std::uint64_t>(modulus)) + 1;
  if (bits > 32 * kMaxWords - 1) {
    throw std::length_error("the product of the moduli has about " + std::to_string(bits) + " bits; plans hold products of " +
                            std::to_string(32 * kMaxWords - 1));
  }
  product = wide_mul_small(product, static_cast<std::uint32_t>(modulus));
}

PlanInt moduli_product(const Plan& plan, int count) {
  PlanInt product = wide_from<kMaxWords>(1);
  for (int i = 0; i < count; ++i) append_modulus(product, plan.groups[static_cast<std::size_t>(i)].modulus);
  return product;
}

// floor((product - 1) / 2^(2 bits + 1)).
std::int64_t crt_k_max(const PlanInt& product, int bits) {
  const PlanInt less_one = wide_sub(product, wide_from<kMaxWords>(1));
  const int shift = 2 * bits + 1;
  if (wide_bit_length(less_one) - shift > 62) return std::int64_t(1) << 62;
  std::uint64_t quotient = 0;
  for (int bit = wide_bit_length(less_one) - 1; bit >= shift; --bit) {
    quotient = 2 * quotient + ((less_one.word[bit / 32] >> (bit % 32)) & 1u);
  }
  return static_cast<std::int64_t>(quotient);
}

}  // namespace ozfp4
