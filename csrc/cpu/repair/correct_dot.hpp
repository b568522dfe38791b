// One correctly rounded entry of a product, from the operands themselves.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/element_type.hpp"
#include "arith/modes.hpp"
#include "arith/update/update.hpp"

namespace ozfp4 {

// A row of A or a column of B: finite float64 or float32 numbers `stride` bytes apart, which need not be aligned.
struct DotLine {
  const void* data = nullptr;
  std::int64_t stride = 0;
  ElementType type = ElementType::float64;
  LineFacts facts;  // of its entries
};

// The line of k entries, with the facts that the scale stage finds, too. Precondition: k >= 0.
DotLine dot_line(const void* data, std::int64_t stride, ElementType type, std::int64_t k);

enum class DotPath : std::uint8_t { pairs, exact };

template <class T>
struct CorrectDot {
  T value;
  DotPath path;  // what decided it: pairs of FP64 numbers; or three of them, or the exact sum
};

// sum a_k b_k, rounded once; an exact zero is +0, and -0 when rounding down. For T float or double. Precondition: finite entries,
// 0 <= k <= 2^31; in a DefaultFpMode.
template <class T>
CorrectDot<T> correct_dot(const DotLine& a, const DotLine& b, std::int64_t k, Rounding rounding);

// The same of alpha (sum a_k b_k) + addend.
template <class T>
CorrectDot<T> correct_update(const DotLine& a, const DotLine& b, std::int64_t k, const Update& update, const Addend& addend,
                             Rounding rounding);

// About log2 |sum a_k b_k|, -infinity where all terms are 0 or nothing is left of them; NaN where lines have NaN or infinity.
double log2_of_dot(const DotLine& a, const DotLine& b, std::int64_t k);

}  // namespace ozfp4
