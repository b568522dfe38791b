#include "plan/crt_constants.hpp"

#include <stdexcept>
#include <string>

#include "plan/moduli.hpp"
#include "plan/number_theory.hpp"

namespace ozfp4 {
namespace {

// x / divisor and the remainder. Range: x >= 0, 0 < divisor < 2^32.
template <int Words>
WideInt<Words> divide_small(const WideInt<Words>& x, std::uint32_t divisor, std::uint32_t& remainder) {
  WideInt<Words> quotient;
  std::uint64_t rest = 0;
  for (int i = Words - 1; i >= 0; --i) {
    rest = (rest << 32) | x.word[i];
    quotient.word[i] = static_cast<std::uint32_t>(rest / divisor);
    rest %= divisor;
  }
  remainder = static_cast<std::uint32_t>(rest);
  return quotient;
}

template <int Words>
WideInt<Words> narrow(const WideInt<8>& x) {
  WideInt<Words> y;
  for (int i = 0; i < Words; ++i) y.word[i] = x.word[i];
  return y;
}

}  // namespace

int crt_words(const Plan& plan, int count) {
  if (!plan.has_moduli()) return 5;
  std::int64_t residues = 0;
  for (int i = 0; i < count; ++i) residues += plan.groups[static_cast<std::size_t>(i)].modulus;
  const int bits = wide_bit_length(moduli_product(plan, count)) + highest_bit(static_cast<std::uint64_t>(residues | 1)) + 2;
  if (bits <= 160) return 5;
  if (bits <= 192) return 6;
  if (bits <= 256) return 8;
  throw std::length_error("the CRT of this plan needs " + std::to_string(bits) + " bits; the widest integers have 256");
}

template <int Words>
CrtConstants<Words> make_crt_constants(const Plan& plan, int count) {
  const WideInt<8> product = moduli_product(plan, count);
  CrtConstants<Words> constants{};
  constants.count = count;
  constants.inverse_product = 1.0 / wide_to_double(product);
  constants.product = narrow<Words>(product);
  std::uint32_t remainder = 0;
  constants.half = narrow<Words>(divide_small(product, 2, remainder));
  for (int i = 0; i < count; ++i) {
    const auto m = static_cast<std::uint32_t>(plan.groups[static_cast<std::size_t>(i)].modulus);
    const WideInt<8> cofactor = divide_small(product, m, remainder);
    std::uint32_t cofactor_mod_m = 0;
    divide_small(cofactor, m, cofactor_mod_m);
    const auto factor = static_cast<std::uint32_t>(inverse_modulo(cofactor_mod_m, m));
    constants.weight[i] = narrow<Words>(wide_mul_small(cofactor, factor));
  }
  return constants;
}

template CrtConstants<5> make_crt_constants<5>(const Plan&, int);
template CrtConstants<6> make_crt_constants<6>(const Plan&, int);
template CrtConstants<8> make_crt_constants<8>(const Plan&, int);

}  // namespace ozfp4
