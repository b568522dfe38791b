// A product of integers, or of stacks of their matrices, checked, and its plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "product/options.hpp"
#include "product/product.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {

// Bits of a plan for integers of a type: one more than their magnitudes have.
constexpr int bits_of(ElementType type) { return 8 * entry_bytes(type) + (is_unsigned(type) ? 1 : 0); }

// c = alpha a b + beta addend, modulo 2^w of c's type; or a b modulo a number, where `modulus` is not 0.
struct IntegerSum {
  Product product;  // for integers, while the request's own factors stay 1 and 0; it has an addend wherever beta is not 0
  std::int64_t alpha = 1, beta = 0, modulus = 0;
  int entry_bits = 0;     // of a plan for the entries, where they are shorter than their types; else 0
  bool is_truth = false;  // c is 1 where the sum is not 0, and else 0; then all are uint8, 0 or 1, and so are the factors

  bool has_factors() const { return alpha != 1 || beta != 0; }
  bool is_multiplied() const { return alpha != 0 && product.is_there() && product.k > 0; }
  ElementType product_type() const { return is_truth ? ElementType::int64 : product.type.part; }  // before the sum

  // Bits of entries that are nearest to zero modulo `modulus`, where there is one.
  int residue_bits() const {
    int bits = 2;
    while (bits < 63 && modulus >> bits != 0) ++bits;
    return bits;
  }
  // Whether an operand is multiplied by such entries instead of the caller's, which are longer.
  bool is_reduced(ElementType type) const { return modulus != 0 && bits_of(type) > residue_bits(); }
  // Bits of entries that a plan holds.
  int bits() const {
    const int own = entry_bits != 0 ? entry_bits : std::max(bits_of(product.type_a.part), bits_of(product.type_b.part));
    return modulus != 0 ? std::min(own, residue_bits()) : own;
  }
};

// The same sum of another product.
inline IntegerSum sum_of(IntegerSum sum, Product product) {
  sum.product = std::move(product);
  return sum;
}
inline IntegerSum part_of(const IntegerSum& sum, const Block& at) { return sum_of(sum, part_of(sum.product, at)); }

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
