// Products of moduli, and how long an inner dimension they serve.
#pragma once

#include <cstdint>

#include "plan/plan.hpp"

namespace ozfp4 {

// product * modulus. Range: product >= 0, modulus in [1, 2^31). Throws std::length_error where it does not fit in a nonnegative
// PlanInt, below 2^(32 kMaxWords - 1).
void append_modulus(PlanInt& product, std::int64_t modulus);

// Product of the first `count` moduli. Throws std::length_error where it does not fit.
PlanInt moduli_product(const Plan& plan, int count);

// The bound 2^(2 bits) of the product of two integers of so many bits. Range: bits in [kLeastBits, kMostBits].
PlanInt largest_square(int bits);

// The first of the sets whose product of moduli serves k, as below; the last where none does. `moduli`: of all sets.
const plan::RecipeSet& find_least_set(const Table<plan::RecipeSet>& sets, const Table<std::uint16_t>& moduli,
                                      const PlanInt& square, std::int64_t k);

inline constexpr std::int64_t kMostCrtK = std::int64_t(1) << 62;

// Whether 2 k square < product (Lemma 3, condition 4) and k <= kMostCrtK; and the largest such k.
bool crt_serves(const PlanInt& product, const PlanInt& square, std::int64_t k);
std::int64_t crt_k_max(const PlanInt& product, const PlanInt& square);

}  // namespace ozfp4
