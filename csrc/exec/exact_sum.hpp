// Sums of products of three FP64 numbers as one integer, of as many bits as any such sum can have: nothing is ever rounded. Slow,
// plain, and shared with nothing that makes a product, as what results are held against: csrc/arith/exact settles entries of
// products in "correct".
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ozfp4::exec {

class ExactSum {
 public:
  // Adds x y z. Range: finite numbers; at most 2^40 terms of one sign.
  void add(double x, double y, double z) {
    const Parts a = parts_of(x), b = parts_of(y), c = parts_of(z);
    const Wide two = static_cast<Wide>(a.mantissa) * b.mantissa;
    const Wide low = static_cast<Wide>(static_cast<std::uint64_t>(two)) * c.mantissa;
    const Wide high = (two >> 64) * c.mantissa + (low >> 64);
    const std::uint64_t three[4] = {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high),
                                    static_cast<std::uint64_t>(high >> 64), 0};
    const int place = a.exponent + b.exponent + c.exponent + lowest, word = place / 64, shift = place % 64;
    const bool subtracts = a.is_negative ^ b.is_negative ^ c.is_negative;
    std::uint64_t carry = subtracts ? 1 : 0, below = 0;
    for (int i = word; i < words; ++i) {
      const std::uint64_t own = i - word < 4 ? three[i - word] : 0;
      const std::uint64_t part = shift == 0 ? own : own << shift | below >> (64 - shift);
      below = own;
      const Wide sum = static_cast<Wide>(words_[i]) + (subtracts ? ~part : part) + carry;
      words_[i] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
  }

  // To the nearest number of a format, ties to even; to infinity where it is too large. `precision` 53 is FP64, 24 FP32.
  double rounded(int precision) const {
    const ExactSum size = magnitude();
    const int highest = size.highest_bit();
    if (highest < 0) return 0.0;
    const int least = precision == 53 ? -1074 : -149, most = precision == 53 ? 1024 : 128;
    int last = highest - precision + 1;  // the last bit that is kept
    if (last < least + lowest) last = least + lowest;
    std::uint64_t kept = 0;
    for (int place = last + precision - 1; place >= last; --place) kept = kept << 1 | (size.bit(place) ? 1 : 0);
    const bool is_half = size.bit(last - 1);
    bool is_more = false;
    for (int place = 0; place < last - 1 && is_half && !is_more; ++place) is_more = size.bit(place);
    if (is_half && (is_more || (kept & 1) != 0)) ++kept;
    const double value = std::ldexp(static_cast<double>(kept), last - lowest);
    const double found = value >= std::ldexp(1.0, most - 1) * 2 ? std::numeric_limits<double>::infinity() : value;
    return is_negative() ? -found : found;
  }

  // |sum| within a factor of 1 + 2^-60, whatever its exponent.
  long double magnitude_about() const {
    const ExactSum size = magnitude();
    long double found = 0;
    for (int i = words; i-- > 0;) found += std::ldexp(static_cast<long double>(size.words_[i]), 64 * i - lowest);
    return found;
  }

 private:
  using Wide = unsigned __int128;
  struct Parts {
    std::uint64_t mantissa;  // below 2^53
    int exponent;            // of its last bit, -1074 or more
    bool is_negative;
  };
  static Parts parts_of(double x) {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(x), &exponent);  // in [1/2, 1), or 0
    const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
    const int last = exponent - 53;
    // Subnormal numbers end at 2^-1074: what lies below is zeros.
    if (mantissa != 0 && last < -1074) return {mantissa >> (-1074 - last), -1074, std::signbit(x)};
    return {mantissa, mantissa != 0 ? last : -1074, std::signbit(x)};
  }

  bool is_negative() const { return static_cast<std::int64_t>(words_.back()) < 0; }
  ExactSum magnitude() const {
    ExactSum found = *this;
    std::uint64_t carry = 1;
    for (std::uint64_t& word : found.words_) {
      if (!is_negative()) break;
      word = ~word + carry;
      carry = carry != 0 && word == 0 ? 1 : 0;
    }
    return found;
  }
  // -1: there is none.
  int highest_bit() const {
    int word = words - 1;
    while (word >= 0 && words_[word] == 0) --word;
    return word < 0 ? -1 : 64 * word + 63 - __builtin_clzll(words_[word]);
  }
  bool bit(int place) const { return place >= 0 && (words_[place / 64] >> (place % 64) & 1) != 0; }

  // Bit 0 is worth 2^-lowest: the least product of three subnormal numbers. 2^40 terms below 2^3072, and the sign.
  static constexpr int lowest = 3 * 1074;
  static constexpr int words = (lowest + 3 * 1024 + 40 + 64 + 63) / 64;
  std::array<std::uint64_t, words> words_{};
};

}  // namespace ozfp4::exec
