#include "plan/moduli/moduli.hpp"

#include <stdexcept>
#include <string>

#include "plan/moduli/number_theory.hpp"

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
  for (int i = 0; i < count; ++i) append_modulus(product, plan.modulus(i));
  return product;
}

namespace {

// 2 k square. Precondition: k in [0, 2^62], square <= 2^(2 kMostBits).
PlanInt twice(const PlanInt& square, std::int64_t k) {
  const auto factor = static_cast<std::uint64_t>(k);
  return wide_add(wide_mul_small(square, static_cast<std::uint32_t>(2 * factor)),
                  wide_shift_left(wide_mul_small(square, static_cast<std::uint32_t>(factor >> 31)), 32));
}

}  // namespace

PlanInt largest_square(int bits) { return wide_shift_left(wide_from<kMaxWords>(1), 2 * bits); }

bool crt_serves(const PlanInt& product, const PlanInt& square, std::int64_t k) {
  return k <= kMostCrtK && wide_is_negative(wide_sub(twice(square, k), product));
}

std::int64_t crt_k_max(const PlanInt& product, const PlanInt& square) {
  if (crt_serves(product, square, kMostCrtK)) return kMostCrtK;
  std::int64_t k = 0;
  for (std::int64_t step = kMostCrtK / 2; step > 0; step /= 2) {
    if (crt_serves(product, square, k + step)) k += step;
  }
  return k;
}

std::vector<std::int64_t> find_least_set(const Table<std::uint64_t>& sets, const Table<std::uint16_t>& moduli,
                                         const PlanInt& square, std::int64_t k) {
  std::vector<std::int64_t> chosen;
  for (const std::uint64_t set : sets) {
    chosen.clear();
    PlanInt product = wide_from<kMaxWords>(1);
    for (std::size_t i = 0; i < moduli.size; ++i) {
      if ((set >> i & 1) == 0) continue;
      chosen.push_back(moduli.data[i]);
      product = wide_mul_small(product, moduli.data[i]);
    }
    if (crt_serves(product, square, k)) break;
  }
  return chosen;
}

std::vector<std::int64_t> first_moduli(const Plan& plan, int count) {
  std::vector<std::int64_t> moduli;
  moduli.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) moduli.push_back(plan.modulus(i));
  return moduli;
}

int crt_words(const Plan& plan, int count) {
  if (!plan.has_moduli()) {  // |integer| <= 2^(2 bits) k_max
    return words_for(2 * plan.bits + highest_bit(static_cast<std::uint64_t>(plan.k_max | 1)) + 2, "the integers of this plan");
  }
  // P sum_i r_i from above: a few roundings of 2^-53 each are less than the last factor.
  double product = 1.0, residues = 0.0;
  for (int i = 0; i < count; ++i) {
    const auto m = static_cast<double>(plan.modulus(i));
    product *= m;
    residues += m;
  }
  const double most = product * residues * (1.0 + 0x1p-40);
  return words_for(exponent_of_magnitude<double>(magnitude_bits(most)) + 2, "the sums of the CRT of this plan");
}

template <int Words>
CrtConstants<Words> make_crt_constants(const std::vector<std::int64_t>& moduli) {
  std::int64_t most = 0;
  WideInt<Words> product = wide_from<Words>(1);
  for (const std::int64_t m : moduli) {
    most += m - 1;
    product = wide_mul_small(product, static_cast<std::uint32_t>(m));
  }
  if (most > kMostResidueSum) {
    throw std::length_error("the residues of this plan may add up to " + std::to_string(most) + "; the CRT takes sums up to " +
                            std::to_string(kMostResidueSum));
  }
  std::uint32_t remainder = 0;
  CrtConstants<Words> constants{{1.0 / wide_to_double(product), product, wide_divide_small(product, 2, remainder)}, {}};
  constants.weight.reserve(moduli.size());
  for (const std::int64_t modulus : moduli) {
    const auto m = static_cast<std::uint32_t>(modulus);
    const WideInt<Words> cofactor = wide_divide_small(product, m, remainder);
    std::uint32_t cofactor_mod_m = 0;
    wide_divide_small(cofactor, m, cofactor_mod_m);
    constants.weight.push_back(wide_mul_small(cofactor, static_cast<std::uint32_t>(inverse_modulo(cofactor_mod_m, m))));
  }
  return constants;
}

#define OZFP4_INSTANTIATE(Words) template CrtConstants<Words> make_crt_constants<Words>(const std::vector<std::int64_t>&);
OZFP4_WORD_COUNTS(OZFP4_INSTANTIATE)
#undef OZFP4_INSTANTIATE

}  // namespace ozfp4
