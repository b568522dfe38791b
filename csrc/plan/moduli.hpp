// Products of moduli, and how long an inner dimension they serve.
#pragma once

#include <cstdint>

#include "arith/wide_int.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// Product of the first `count` moduli.
WideInt<8> moduli_product(const Plan& plan, int count);

// The largest K with 2 K 2^(2 bits) < product (Lemma 3, condition 4), at most 2^62.
std::int64_t crt_k_max(const WideInt<8>& product, int bits);

}  // namespace ozfp4
