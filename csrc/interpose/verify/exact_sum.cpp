#include "interpose/verify/exact_sum.hpp"

#include <cmath>
#include <limits>

namespace ozfp4::interpose {
namespace {

using Wide = unsigned __int128;

struct Parts {
  std::uint64_t mantissa;  // below 2^53
  int exponent;            // of its last bit, -1074 or more
  bool is_negative;
};

Parts parts_of(double x) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);  // in [1/2, 1), or 0
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int last = exponent - 53;
  // Subnormal numbers end at 2^-1074: what lies below is zeros.
  if (mantissa != 0 && last < -1074) return {mantissa >> (-1074 - last), -1074, std::signbit(x)};
  return {mantissa, mantissa != 0 ? last : -1074, std::signbit(x)};
}

}  // namespace

void ExactSum::add(double x, double y, double z) {
  const Parts a = parts_of(x), b = parts_of(y), c = parts_of(z);
  const Wide two = static_cast<Wide>(a.mantissa) * b.mantissa;
  const Wide low = static_cast<Wide>(static_cast<std::uint64_t>(two)) * c.mantissa;
  const Wide high = (two >> 64) * c.mantissa + (low >> 64);
  const std::uint64_t three[4] = {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high),
                                  static_cast<std::uint64_t>(high >> 64), 0};
  const int place = a.exponent + b.exponent + c.exponent + lowest;
  const int word = place / 64, shift = place % 64;
  const bool subtracts = a.is_negative ^ b.is_negative ^ c.is_negative;
  std::uint64_t carry = subtracts ? 1 : 0, below = 0;
  for (int i = word; i < words; ++i) {
    const std::uint64_t own = i - word < 4 ? three[i - word] : 0;
    const std::uint64_t part = shift == 0 ? own : own << shift | below >> (64 - shift);
    below = own;
    if (i - word >= 4 && carry == (subtracts ? 1u : 0u)) return;  // nothing changes further up
    const Wide sum = static_cast<Wide>(words_[i]) + (subtracts ? ~part : part) + carry;
    words_[i] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
  }
}

void ExactSum::negate() {
  std::uint64_t carry = 1;
  for (std::uint64_t& word : words_) {
    word = ~word + carry;
    carry = carry != 0 && word == 0 ? 1 : 0;
  }
}

bool ExactSum::is_zero() const {
  for (const std::uint64_t word : words_) {
    if (word != 0) return false;
  }
  return true;
}

void ExactSum::multiply(std::uint64_t factor) {
  std::uint64_t carry = 0;
  for (std::uint64_t& word : words_) {
    const Wide product = static_cast<Wide>(word) * factor + carry;
    word = static_cast<std::uint64_t>(product);
    carry = static_cast<std::uint64_t>(product >> 64);
  }
}

void ExactSum::shift_left(int count) {
  if (count == 0) return;
  for (int i = words - 1; i > 0; --i) words_[i] = words_[i] << count | words_[i - 1] >> (64 - count);
  words_[0] <<= count;
}

bool ExactSum::operator<(const ExactSum& other) const {
  for (int i = words - 1; i >= 0; --i) {
    if (words_[i] != other.words_[i]) return words_[i] < other.words_[i];
  }
  return false;
}

int ExactSum::highest_bit() const {
  int word = words - 1;
  while (words_[word] == 0) --word;
  return 64 * word + 63 - __builtin_clzll(words_[word]);
}

double ExactSum::rounded(int precision) const {
  if (is_zero()) return 0.0;
  if (is_negative()) {
    ExactSum opposite = *this;
    opposite.negate();
    return -opposite.rounded(precision);
  }
  const int least = precision == 53 ? -1074 : -149, most = precision == 53 ? 1024 : 128;
  // The last bit that is kept.
  int last = highest_bit() - precision + 1;
  if (last < least + lowest) last = least + lowest;
  std::uint64_t kept = 0;
  for (int place = last + precision - 1; place >= last; --place) kept = kept << 1 | (bit(place) ? 1 : 0);
  bool is_half = bit(last - 1), is_more = false;
  for (int place = 0; place < last - 1 && is_half && !is_more; ++place) is_more = bit(place);
  if (is_half && (is_more || (kept & 1) != 0)) ++kept;
  const double value = std::ldexp(static_cast<double>(kept), last - lowest);
  return value >= std::ldexp(1.0, most - 1) * 2 ? std::numeric_limits<double>::infinity() : value;
}

}  // namespace ozfp4::interpose
