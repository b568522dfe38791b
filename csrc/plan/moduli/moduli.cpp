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
  for (int i = 0; i < count; ++i) append_modulus(product, plan.modulus(i));
  return product;
}

namespace {

// 2 k square. Range: k in [0, 2^62], square <= 2^(2 kMostBits).
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

const plan::RecipeSet& find_least_set(const Table<plan::RecipeSet>& sets, const Table<std::uint16_t>& moduli,
                                      const PlanInt& square, std::int64_t k) {
  for (const plan::RecipeSet& set : sets) {
    PlanInt product = wide_from<kMaxWords>(1);
    for (int i = 0; i < set.size; ++i) product = wide_mul_small(product, moduli.data[set.first + i]);
    if (crt_serves(product, square, k)) return set;
  }
  return sets.data[sets.size - 1];
}

}  // namespace ozfp4
