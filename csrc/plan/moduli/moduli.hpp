// Products of moduli, the longest inner dimension for them, and the constants of the direct CRT for a prefix of them.
#pragma once

#include <cstdint>
#include <vector>

#include "arith/wide/crt.hpp"
#include "arith/wide/word_counts.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// product * modulus. Precondition: product >= 0, modulus in [1, 2^31). Throws std::length_error where it does not fit in a
// nonnegative PlanInt, below 2^(32 kMaxWords - 1).
void append_modulus(PlanInt& product, std::int64_t modulus);

// Product of the first `count` moduli. Throws std::length_error where it does not fit.
PlanInt moduli_product(const Plan& plan, int count);

// The bound 2^(2 bits) of the product of two integers of so many bits. Precondition: bits in [kLeastBits, kMostBits].
PlanInt largest_square(int bits);

// The moduli of the first of the sets with a product large enough for k, as below; of the last without one. Bit i of a set:
// moduli[i].
std::vector<std::int64_t> find_least_set(const Table<std::uint64_t>& sets, const Table<std::uint16_t>& moduli,
                                         const PlanInt& square, std::int64_t k);

inline constexpr std::int64_t kMostCrtK = std::int64_t(1) << 62;

// Whether 2 k square < product (Lemma 3, condition 4) and k <= kMostCrtK; and the largest such k.
bool crt_serves(const PlanInt& product, const PlanInt& square, std::int64_t k);
std::int64_t crt_k_max(const PlanInt& product, const PlanInt& square);

// The first `count` moduli of a plan.
std::vector<std::int64_t> first_moduli(const Plan& plan, int count);

// Words that the CRT of the first `count` moduli needs: sum_i r_i w_i < P * sum_i m_i, plus a sign
// bit; without moduli, what the integers of scheme I need. A count of
// word_counts.hpp; throws std::length_error beyond the largest.
int crt_words(const Plan& plan, int count);

// Precondition: Words >= the words that these moduli need, 1 <= m_i < 2^31. Throws std::length_error where the residues together
// may exceed kMostResidueSum, std::logic_error where the moduli are not coprime.
template <int Words>
CrtConstants<Words> make_crt_constants(const std::vector<std::int64_t>& moduli);

}  // namespace ozfp4
