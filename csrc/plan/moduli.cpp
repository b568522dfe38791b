#include "plan/moduli.hpp"

namespace ozfp4 {

WideInt<8> moduli_product(const Plan& plan, int count) {
  WideInt<8> product = wide_from<8>(1);
  for (int i = 0; i < count; ++i) product = wide_mul_small(product, static_cast<std::uint32_t>(plan.groups[i].modulus));
  return product;
}

// floor((product - 1) / 2^(2 bits + 1)).
std::int64_t crt_k_max(const WideInt<8>& product, int bits) {
  const WideInt<8> less_one = wide_sub(product, wide_from<8>(1));
  const int shift = 2 * bits + 1;
  if (wide_bit_length(less_one) - shift > 62) return std::int64_t(1) << 62;
  std::uint64_t quotient = 0;
  for (int bit = wide_bit_length(less_one) - 1; bit >= shift; --bit) {
    quotient = 2 * quotient + ((less_one.word[bit / 32] >> (bit % 32)) & 1u);
  }
  return static_cast<std::int64_t>(quotient);
}

}  // namespace ozfp4
