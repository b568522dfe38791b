// Sums of products of three FP64 numbers as one integer, of as many bits as any such sum can have: nothing is ever rounded. Slow,
// plain, and shared with nothing that makes a product: what results are held against.
#pragma once

#include <array>
#include <cstdint>

namespace ozfp4::interpose {

class ExactSum {
 public:
  // Adds x y z. Range: finite numbers; at most 2^40 terms of one sign.
  void add(double x, double y, double z);
  void negate();
  bool is_negative() const { return static_cast<std::int64_t>(words_.back()) < 0; }
  bool is_zero() const;
  // Times an integer. Range: not negative, and the result within 2^(bits - 1).
  void multiply(std::uint64_t factor);
  // Times 2^53 (of 64: 2^count). Range: 0 <= count < 64, not negative, and the result within 2^(bits - 1).
  void shift_left(int count);
  // <, of numbers that are not negative.
  bool operator<(const ExactSum& other) const;
  // To the nearest number of a format, ties to even; to infinity where it is too large. `precision` 53 is FP64, 24 FP32.
  double rounded(int precision) const;

 private:
  // Bit 0 is worth 2^-lowest: the least product of three subnormal numbers. 2^40 terms below 2^3072 and 64 bits more for a shift.
  static constexpr int lowest = 3 * 1074;
  static constexpr int words = (lowest + 3 * 1024 + 40 + 64 + 64 + 63) / 64;
  std::array<std::uint64_t, words> words_{};

  int highest_bit() const;  // of a number that is positive
  bool bit(int place) const { return place >= 0 && (words_[place / 64] >> (place % 64) & 1) != 0; }
};

}  // namespace ozfp4::interpose
