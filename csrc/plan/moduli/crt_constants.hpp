// The constants of the direct CRT for a prefix of a plan's moduli.
#pragma once

#include <cstdint>
#include <vector>

#include "arith/wide/crt.hpp"
#include "arith/wide/word_counts.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// The first `count` moduli of a plan.
std::vector<std::int64_t> first_moduli(const Plan& plan, int count);

// Words that the CRT of the first `count` moduli needs, where every residue is the sum of `splits` of them:
// sum_i r_i w_i < P * splits * sum_i m_i, plus a sign bit; without moduli, what the integers of scheme I need. A count of
// word_counts.hpp; throws std::length_error beyond the largest.
int crt_words(const Plan& plan, int count, int splits = 1);

// Range: Words >= the words that these moduli need, 1 <= m_i < 2^31. Throws std::length_error where the residues together
// may exceed kMostResidueSum, std::logic_error where the moduli are not coprime.
template <int Words>
CrtConstants<Words> make_crt_constants(const std::vector<std::int64_t>& moduli);

}  // namespace ozfp4
