#include "cpu/encode/wide_line.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "arith/float_fields.hpp"
#include "arith/scale_entry.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// The integers as value * 2^left.
struct MovedLine {
  std::int64_t value[kLine], left[kLine];
};

template <class T>
inline void move_impl(const T* x, std::int64_t n, int shift, MovedLine& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const ScaledParts parts = scaled_parts(x[i], shift);
    const std::int64_t value = parts.is_negative ? -parts.magnitude : parts.magnitude;
    out.value[i] = magnitude_bits(x[i]) < kInfinityBits<T> ? value : 0;
    out.left[i] = parts.left;
  }
}
OZFP4_VECTORISED void move_line(const double* x, std::int64_t n, int shift, MovedLine& out) { move_impl(x, n, shift, out); }
OZFP4_VECTORISED void move_line(const float* x, std::int64_t n, int shift, MovedLine& out) { move_impl(x, n, shift, out); }

OZFP4_VECTORISED void place_words(const MovedLine& in, std::int64_t n, std::int64_t place, std::uint32_t* words) {
  for (std::int64_t i = 0; i < n; ++i) words[i] = word_at(in.value[i], place - in.left[i]);
}

// Three words; of entries that are not finite those of 0.
template <class T>
inline void multiply_impl(const T* x, std::int64_t n, double first, double second, WideLine& line) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T entry = magnitude_bits(x[i]) < kInfinityBits<T> ? x[i] : T(0);
    const WideInt<3> integer = scaled_wide_by_multiplication(static_cast<double>(entry), first, second);
    for (int w = 0; w < 3; ++w) line.word[w][i] = integer.word[w];
  }
}
OZFP4_VECTORISED void multiply_line(const double* x, std::int64_t n, double first, double second, WideLine& line) {
  multiply_impl(x, n, first, second, line);
}
OZFP4_VECTORISED void multiply_line(const float* x, std::int64_t n, double first, double second, WideLine& line) {
  multiply_impl(x, n, first, second, line);
}

OZFP4_VECTORISED void extend_signs(const std::uint32_t* words, std::int64_t n, std::uint32_t* signs) {
  for (std::int64_t i = 0; i < n; ++i) signs[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(words[i]) >> 31);
}

// word += addend + carry, and the carry out of it.
OZFP4_VECTORISED void add_to_words(std::uint32_t* words, std::int64_t n, std::uint32_t addend, std::uint32_t* carry) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t sum = words[i] + addend;
    const std::uint32_t with_carry = sum + carry[i];
    carry[i] = static_cast<std::uint32_t>(sum < addend) | static_cast<std::uint32_t>(with_carry < sum);
    words[i] = with_carry;
  }
}

// How a field lies in two words: its bits are (low >> right | (high << 1) << left) & mask.
struct FieldPlace {
  int right, left;
  std::uint32_t mask;
  std::int32_t half;
};

template <class Field>
inline void cut_impl(const std::uint32_t* low, const std::uint32_t* high, std::int64_t n, FieldPlace place, Field* fields) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = ((low[i] >> place.right) | ((high[i] << 1) << place.left)) & place.mask;
    fields[i] = static_cast<Field>(static_cast<std::int32_t>(bits) - place.half);
  }
}
#define OZFP4_CUT(Field)                                                                                                \
  OZFP4_VECTORISED void cut_line(const std::uint32_t* low, const std::uint32_t* high, std::int64_t n, FieldPlace place, \
                                 Field* fields) {                                                                       \
    cut_impl(low, high, n, place, fields);                                                                              \
  }
OZFP4_CUT(float)
OZFP4_CUT(double)
OZFP4_CUT(std::int8_t)
#undef OZFP4_CUT

}  // namespace

template <class T>
void quantise_wide(const T* x, std::int64_t n, int shift, WideForm form, WideLine& line) {
  if (form.bits <= kMultipliedBits && std::abs(shift) <= 2000) {  // as far as halves_of reaches
    const ShiftHalves halves = halves_of(shift);
    multiply_line(x, n, exact_power_of_two<double>(halves.first), exact_power_of_two<double>(halves.second), line);
    for (int i = 3; i < form.words; ++i) extend_signs(line.word[2], n, line.word[i]);
    return;
  }
  MovedLine moved;
  move_line(x, n, shift, moved);
  for (int i = 0; i < form.words; ++i) place_words(moved, n, 32 * i, line.word[i]);
}
template void quantise_wide(const double*, std::int64_t, int, WideForm, WideLine&);
template void quantise_wide(const float*, std::int64_t, int, WideForm, WideLine&);

void cpu_quantise(const OperandView& operand, const std::int32_t* shift, int words, std::uint32_t* integers) {
  const DefaultFpMode mode;
  with_float(operand.type, [&](auto zero) {
    std::vector<decltype(zero)> entries(static_cast<std::size_t>(kLine));
    WideLine line;
    for (std::int64_t o = 0; o < operand.outer; ++o) {
      for_pieces(operand, o, 1, entries.data(), [&](std::int64_t, std::int64_t, const auto* x, std::int64_t n) {
        quantise_wide(x, n, shift[o], {32 * words - 2, words}, line);
        for (std::int64_t i = 0; i < n; ++i) {
          for (int w = 0; w < words; ++w) *integers++ = line.word[w][i];
        }
      });
    }
  });
}

FieldCutter::FieldCutter(int width, int count, int words) : width_(width), count_(count), words_(words) {
  for (int j = 0; j + 1 < count; ++j) {
    const int place = width * j + width - 1;
    if (place / 32 < WideLine::kWords) halves_[place / 32] |= std::uint32_t(1) << (place % 32);
  }
}

void FieldCutter::prepare(WideLine& line, std::int64_t n) const {
  std::uint32_t carry[kLine];
  std::fill_n(carry, n, 0u);
  for (int i = 0; i < words_; ++i) add_to_words(line.word[i], n, halves_[i], carry);
}

template <class Field>
void FieldCutter::cut(const WideLine& line, int j, std::int64_t n, Field* fields) const {
  const int place = width_ * j, word = place / 32, right = place % 32;
  const bool is_last = j + 1 == count_;
  const std::uint32_t* low = line.word[std::min(word, words_ - 1)];
  const std::uint32_t* high = line.word[std::min(word + 1, words_ - 1)];
  cut_line(low, high, n, {right, 31 - right, is_last ? ~0u : (1u << width_) - 1, is_last ? 0 : std::int32_t(1) << (width_ - 1)},
           fields);
}
template void FieldCutter::cut(const WideLine&, int, std::int64_t, float*) const;
template void FieldCutter::cut(const WideLine&, int, std::int64_t, double*) const;
template void FieldCutter::cut(const WideLine&, int, std::int64_t, std::int8_t*) const;

}  // namespace ozfp4
