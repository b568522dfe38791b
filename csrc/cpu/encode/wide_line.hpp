// A line of integers of up to 223 bits, word by word, so that the loops over its entries are those of 32-bit numbers.
#pragma once

#include <cstdint>

#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4 {

inline constexpr std::int64_t kLine = kTileInner;  // longest line

// Word i of every entry, in two's complement; as many words as the integers have, and one more of their signs.
struct WideLine {
  static constexpr int kWords = 8;
  std::uint32_t word[kWords][kLine];
};

// Words of a WideLine that are used for integers of so many bits, and a sign. Precondition: bits <= 223.
constexpr int line_words(int bits) { return (bits + 1 + 31) / 32 + 1; }

// Integers of up to 2^bits in magnitude, in so many words. Precondition: bits <= 32 words - 2, words <= WideLine::kWords.
struct WideForm {
  int bits, words;
};

// Integers of n entries at scale 2^shift; 0 for non-finite entries. Precondition: n <= kLine, |x| 2^shift <= 2^bits, in a
// DefaultFpMode; T double or float.
template <class T>
void quantise_wide(const T* x, std::int64_t n, int shift, WideForm form, WideLine& line);

// Integers of an operand, row-major [outer][inner][words]: little-endian 32-bit words, two's complement. Precondition: words <=
// WideLine::kWords, |x| 2^shift <= 2^(32 words - 2).
void cpu_quantise(const OperandView& operand, const std::int32_t* shift, int words, std::uint32_t* integers);

// Cuts integers into fields of `width` bits: v = sum_j f_j 2^(width j), all but the last balanced, in
// [-2^(width - 1), 2^(width - 1)). Precondition: 1 <= width <= 31, width * (count - 1) <= 32 * (words - 1), and the last field
// fits 32 bits.
class FieldCutter {
 public:
  FieldCutter(int width, int count, int words);

  // Adds half of a field at the place of each but the last, so that none borrows: to be done once, before cut.
  void prepare(WideLine& line, std::int64_t n) const;

  // Field j of every entry of a prepared line, as float, double or int8.
  template <class Field>
  void cut(const WideLine& line, int j, std::int64_t n, Field* fields) const;

 private:
  int width_, count_, words_;
  std::uint32_t halves_[WideLine::kWords] = {};
};

}  // namespace ozfp4
