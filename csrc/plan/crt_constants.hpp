// The constants of the direct CRT for a prefix of a plan's moduli.
#pragma once

#include "arith/crt.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// Words that the CRT of the first `count` moduli needs: sum_i r_i w_i < P * sum_i m_i, plus a sign bit. 5 for scheme I,
// whose integers are below 2^(2 * 53 + 40). Returns 5, 6 or 8; throws std::length_error beyond 8.
int crt_words(const Plan& plan, int count);

// Range: Words >= crt_words(plan, count), count <= kMaxModuli.
template <int Words>
CrtConstants<Words> make_crt_constants(const Plan& plan, int count);

}  // namespace ozfp4
