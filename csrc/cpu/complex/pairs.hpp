// Complex operands as the real ones that replace them in a product (plan/plan.hpp, kPair).
#pragma once

#include <cstddef>
#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4 {

// Lines of complex entries along K, strides in bytes: pairs of numbers of `part`, float64 or float32.
struct PairView {
  const char* data;
  ElementType part;
  std::int64_t outer, inner;
  std::ptrdiff_t outer_stride, inner_stride;
  bool is_conjugated = false;  // what lies in memory is the conjugate
  bool is_turned = false;      // i times what lies in memory, conjugated or not, is meant
};

// For a left operand: lines of 2 inner numbers, (re, im) side by side, one line behind the other.
void expand_left(const PairView& from, void* to);

// For a right one: 2 outer lines of 2 inner numbers; for every line (re, -im) along K, then (im, re).
void expand_right(const PairView& from, void* to);

}  // namespace ozfp4
