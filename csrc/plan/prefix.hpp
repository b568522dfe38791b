// Which prefix of the moduli is enough: once, for the CPU, for scale on the GPU and for reconstruct.
//
// The first `count` moduli, of product P, give every integer x of a matrix product back if 2 |x| < P. The norms of the lines
// bound |x|^2 <= bound, and so 4 bound < P^2 suffices. The rule compares
//     bound < limit,   limit = fl(fl(p/2 * p/2) * (1 - 2^-39)),   p = wide_to_double(P),
// and this is rigorous: p <= P (1 + 2^-51); p/2 and 1 - 2^-39 are FP64 numbers; the two products round up by 1 + 2^-53 at most.
//     limit <= P^2/4 (1 + 2^-51)^2 (1 + 2^-53)^2 (1 - 2^-39) < P^2/4 (1 + 2^-48) (1 - 2^-39) < P^2/4 (1 - 2^-40).
// The bound itself may be a product of two rigorous norms rounded to nearest, below the true one by 2^-53 at most: 2^-40 has room
// for that. Where p/2 * p/2 overflows, P^2/4 exceeds every finite bound, and limit = inf says so.
#pragma once

namespace ozfp4 {

struct Plan;

// The most moduli of one product: so many the kernels of scale and encode hold. All 49 of INT8 fit, and two units for each of the
// 30 of the longest complex plan of FP4.
inline constexpr int kMaxModuli = 60;

// Prefixes among which one launch on a GPU can choose, so many are the sets of constants that reconstruct holds.
inline constexpr int kMaxPrefixes = 8;

// The smallest count in [least, all) with bound < limit[count - 1]; `all` if none, for all moduli are enough whatever the data.
// all = 0: nothing to choose. A kernel takes it by value.
struct PrefixRule {
  int least = 0, all = 0;
  double limit[kMaxModuli] = {};
};

// The least of the last `prefixes` counts; where the plan runs whole, all.
int least_prefix(const Plan& plan, int prefixes);

// The rule for the last `prefixes` counts; nothing to choose where the plan has no moduli. Throws std::length_error where it
// has more than kMaxModuli.
PrefixRule make_prefix_rule(const Plan& plan, int prefixes);

// The moduli that the rule chooses. Precondition: bound >= 0, inf and NaN included; they take all.
int moduli_needed(const PrefixRule& rule, double bound);

}  // namespace ozfp4
