// The part of a plan that reconstruct takes where the result is integers (cuda/integers/low_crt.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "arith/host_device.hpp"
#include "arith/modulo.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"

namespace ozfp4 {

// Weights of all prefixes together, what fits a kernel's parameters.
inline constexpr int kMaxIntegerWeights = 1000;

// Of every prefix, count = 1 .. all: its weights begin at first_weight(count).
struct IntegerPlan {
  int all = 0;
  Modulo modulo;                     // 0: integers are reduced modulo 2^64
  std::vector<std::uint64_t> value;  // w_i modulo 2^64, or modulo m
  std::vector<std::uint32_t> top;
  std::vector<std::uint64_t> fraction;  // f_i, two words; empty where nobody asks for overflow
  std::vector<std::uint64_t> period;    // [count - 1]: P modulo 2^64, or -P modulo m
  std::vector<double> scale;            // [count - 1]: 2^-128 P
};

OZFP4_HD constexpr int first_integer_weight(int count) { return count * (count - 1) / 2; }

// `modulus` in [1, 2^63), or 0. Throws std::invalid_argument for plans without moduli or of integers that are cut,
// std::length_error for moduli that are too many, or too large for `checks`, which is to say whether an entry fits its type.
IntegerPlan make_integer_plan(const Plan& plan, std::uint64_t modulus, bool checks);

// The rule for all prefixes of such a plan: leaves the room that the quotient needs. Precondition: no |integer| exceeds an eighth
// of the product of all moduli.
PrefixRule make_integer_prefix_rule(const Plan& plan);

}  // namespace ozfp4
