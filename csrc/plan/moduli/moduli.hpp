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

// The largest K with 2 K 2^(2 bits) < product (Lemma 3, condition 4), at most 2^62.
std::int64_t crt_k_max(const PlanInt& product, int bits);

}  // namespace ozfp4
