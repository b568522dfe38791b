// A product of integers, checked, and its plan.
#pragma once

#include <algorithm>
#include <string>

#include "cpu/runtime/matrix_view.hpp"
#include "product/options.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {

// c = alpha a b + beta c, row-major; b from its columns.
struct IntegerProduct {
  OperandView a, b;
  ResultView c;

  bool is_there() const { return c.rows > 0 && c.columns > 0; }
  bool is_multiplied() const { return is_there() && a.inner > 0; }

  // Bits of a plan for it: one more than the magnitudes of its integers have.
  int bits() const {
    const auto of = [](ElementType type) { return 8 * entry_bytes(type) + (is_unsigned(type) ? 1 : 0); };
    return std::max(of(a.type), of(b.type));
  }
};

// With factors, and a modulus or 0: then modulo 2^w of the result's type.
struct IntegerSum {
  IntegerProduct product;
  std::int64_t alpha, beta, modulus;
  bool is_exchanged = false;  // a is the operand that was passed second

  bool has_factors() const { return alpha != 1 || beta != 0; }
  bool is_multiplied() const { return alpha != 0 && product.is_multiplied(); }
};

// The options by which plan_for finds the plan of a product of integers of so many bits, with a precision of 53 bits, which they
// have in its place. Throws Refusal where options.plan has too few bits.
inline Options integer_plan_options(const Options& options, int bits) {
  Options own = options;
  if (options.plan == nullptr) {
    own.bits = bits;
  } else if (options.plan->bits < bits) {
    refuse_option("plan", "its bits are " + std::to_string(options.plan->bits) + ", these integers need " + std::to_string(bits));
  }
  return own;
}

}  // namespace ozfp4::product
