// Stage 4 where the result is integers, by the CRT. It keeps 64 bits at most of the integer: x modulo 2^64, or modulo a number m,
// without the integer.
//
// With the weights w_i < P of arith/wide/crt.hpp, S = sum_i r_i w_i and q = round(S / P) follows x = S - q P. Both sides may be
// reduced: x = sum_i r_i (w_i mod 2^64) - q (P mod 2^64) modulo 2^64, and likewise modulo m. The quotient comes from fractions,
// top_i = floor(2^32 w_i / P): with R = sum_i r_i
//     2^32 S / P - R  <  sum_i r_i top_i  <=  2^32 S / P,   q = floor((sum_i r_i top_i + 2^31) / 2^32),
// which is right where |x| / P <= 1/2 - 2^-12, as R <= 2^20.
//
// Whether x fits a type of 64 bits or fewer is decided by longer fractions, f_i = floor(2^128 w_i / P). Modulo 2^128 the sum of
// the r_i f_i is, taken as a signed number, 2^128 x / P less a number in [0, R). As an FP64 number times 2^-128 P it is x but for
// 2^-51 |x| + 2^-108 P + 2^-50 P 2^-64. With P <= 2^168 that is 2^-51 |x| + 2^61 at most. Let v be x modulo 2^64 as the type has
// it, |v| <= 2^64. If x = v the two are closer than 2^63, else x is v + 2^64 k and they are not.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "arith/host_device.hpp"
#include "arith/modulo.hpp"
#include "cuda/planes.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"

namespace ozfp4 {

// P may have so many bits where overflow is asked for.
inline constexpr int kMostCheckedBits = 168;

// The sum of the residues of an entry may be so large.
inline constexpr std::int64_t kMostLowResidueSum = std::int64_t(1) << 20;

OZFP4_HD std::uint64_t low_quotient(std::uint64_t sum_of_tops) { return (sum_of_tops + (std::uint64_t(1) << 31)) >> 32; }

// x by its fraction of P. `scale` is 2^-128 P.
OZFP4_HD double estimate_by_fraction(Unsigned128 sum_of_fractions, double scale) {
  const auto high = static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(sum_of_fractions >> 64)));
  const auto low = static_cast<double>(static_cast<std::uint64_t>(sum_of_fractions));
  return (high * 18446744073709551616.0 + low) * scale;
}

// Whether x, of which `estimate` is the above, is what its lower 64 bits are as a number of so many bits, with a sign or without.
OZFP4_HD bool fits_type(std::uint64_t low, double estimate, int bits, bool has_sign) {
  const double value = has_sign ? static_cast<double>(static_cast<std::int64_t>(low)) : static_cast<double>(low);
  const double distance = estimate - value;
  if (!(distance < 9223372036854775808.0 && distance > -9223372036854775808.0)) return false;
  // Sign bits: those from the type's highest one on are equal; without a sign those above it are 0.
  const int above = has_sign ? bits - 1 : bits;
  if (above >= 64) return true;
  const std::uint64_t rest = has_sign ? static_cast<std::uint64_t>(static_cast<std::int64_t>(low) >> above) : low >> above;
  return rest == 0 || (has_sign && rest == ~std::uint64_t(0));
}

// ---- The part of a plan that it takes --------------------------------------------------------------------------------------

// Weights of all prefixes together, what fits a kernel's parameters.
inline constexpr int kMaxIntegerWeights = 1000;

// The constants of every prefix, count = 1 .. all: its weights begin at first_weight(count).
struct IntegerPlan {
  int all = 0;
  Modulo modulo;                     // 0: integers are reduced modulo 2^64
  std::vector<std::uint64_t> value;  // w_i modulo 2^64, or modulo m
  std::vector<std::uint32_t> top;
  std::vector<std::uint64_t> fraction;  // f_i, two words; empty where overflows are not checked
  std::vector<std::uint64_t> period;    // [count - 1]: P modulo 2^64, or -P modulo m
  std::vector<double> scale;            // [count - 1]: 2^-128 P
};

OZFP4_HD constexpr int first_integer_weight(int count) { return count * (count - 1) / 2; }

// `modulus` in [1, 2^63), or 0. Throws std::invalid_argument for plans without moduli or of integers that are cut. Throws
// std::length_error for too many moduli, or moduli too large for `checks`, the test whether an entry fits its type.
IntegerPlan make_integer_plan(const Plan& plan, std::uint64_t modulus, bool checks);

// The rule for all prefixes of such a plan: leaves the room that the quotient needs. Precondition: no |integer| exceeds an eighth
// of the product of all moduli.
PrefixRule make_integer_prefix_rule(const Plan& plan);

}  // namespace ozfp4

namespace ozfp4::cuda {

// ---- The stage: bytes of multiply -> x modulo 2^64 or m -> the result's type ---------------------------------------------

struct IntegerJob {
  DeviceResult result;
  Residues residues;
  const int* moduli_used = nullptr;         // on the device; null: all
  unsigned long long* overflows = nullptr;  // on the device: grows by the entries that the result's type does not hold
  bool overlap_previous = false;            // programmatic dependent launch
};

// nullptr where the views keep the ranges of find_bytes_error and the result is of integers, else the reason.
const char* find_integer_error(const IntegerPlan& plan, const IntegerJob& job);

// Enqueues one kernel on the stream; neither synchronises nor allocates; may be captured into a graph. Throws LaunchError.
// Precondition: nothing that find_integer_error has a reason against; overflows are given where the plan has fractions.
void launch_integer_reconstruct(const IntegerPlan& plan, const IntegerJob& job, cudaStream_t stream);

}  // namespace ozfp4::cuda
