// Residue in [0, m) of one scaled integer for byte-sized moduli, as a GPU likes it. It takes byte-wise dot products (dp4a a word,
// or the matrix unit), one FP32 and one integer multiply-add. cpu/encode/residue.hpp gives the CPU the same residues.
//
// The integer is made nonnegative, u = v + offset, and cut into bytes b_j; weights are w_j = 2^(8 j) mod m in [0, m). Then
//     x = sum_j b_j w_j + (-offset mod m)  =  v (mod m),     0 <= x <= (4 Words * 255 + 1) (m - 1) < 2^21.
// The dot products start from `preset`, the bit pattern of the float 2^23 + d with x's constant term added. Floats in [2^23,
// 2^24) count up by one, so the result is the bit pattern of the float X = 2^23 + d + x. The quotient is
//     Q = rn(X * inverse + shift),  one fused multiply-add, in [2^23 + 1, 2^24) where floats are integers,
// and make_byte_modulus chooses d < 2^16, inverse and shift so that Q = 2^23 + 1 + floor(x / m) exactly. It checks this:
//     X * inverse + shift = 2^23 + 1 + x / m + t + x e / m,  inverse = (1 + e) / m,  t = (2^23 + d) inverse + shift - 2^23 - 1,
// and x / m lies in floor(x / m) + {0, 1/m, ..., (m - 1)/m}. So rounding to nearest gives the floor for every x if both t and t +
// x e / m lie between -1/2 and -1/2 + 1/m. That is, (t + 1/2) m and (t + 1/2) m + margin, margin = max x e, lie between 0 and 1.
// The check runs in FP64, with roundings far below the slack that it keeps. The bit pattern of Q is that of 2^23 plus 1 + floor(x
// / m). So modulo 256
//     bits(X) - m bits(Q) = d + x - m - m floor(x / m) = d - m + (x mod m),
// and d is a number that is m modulo 256: the low byte is x mod m.
//
// Every modulus in [3, 255] has such constants but the powers of two 8 .. 128, and 232 in more than five words; modulo 256 the
// low byte needs no quotient.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/wide/wide_int.hpp"

namespace ozfp4 {

// Words of the longest integers.
inline constexpr int kMaxByteWords = 7;

// Bits of the integers that fit so many words: |v| <= 2^byte_bits(words), which is also the offset. Precondition: 1 ..
// kMaxByteWords.
constexpr int byte_bits(int words) { return 32 * words - 2; }

// The integer plus its offset.
template <int Words>
struct IntegerBytes {
  std::uint32_t word[Words];
};

// Precondition: |v| <= 2^byte_bits(Words). Other values (of non-finite entries) give bytes of no meaning, but residues still in
// [0, m).
template <int Words>
OZFP4_HD IntegerBytes<Words> bytes_of(const WideInt<Words>& v) {
  IntegerBytes<Words> bytes;
  for (int i = 0; i < Words; ++i) bytes.word[i] = v.word[i];
  bytes.word[Words - 1] += std::uint32_t(1) << 30;  // the offset; its lower words are 0: no carry
  return bytes;
}
OZFP4_HD IntegerBytes<2> bytes_of(std::int64_t v) { return bytes_of(wide_from<2>(v)); }
OZFP4_HD IntegerBytes<1> bytes_of(std::int32_t v) { return bytes_of(wide_from<1>(v)); }

template <int Words>
struct ByteModulus {
  std::uint32_t preset = 0;
  float inverse = 0, shift = 0;
  std::uint32_t negated = 0;         // -m
  std::uint32_t weight[Words] = {};  // w_0, w_1, ... as bytes
};

// The part that integers of fewer words need of the constants made for them.
template <int Words, int Room>
OZFP4_HD ByteModulus<Words> leading_words(const ByteModulus<Room>& constants) {
  ByteModulus<Words> leading;
  leading.preset = constants.preset;
  leading.inverse = constants.inverse;
  leading.shift = constants.shift;
  leading.negated = constants.negated;
  for (int i = 0; i < Words; ++i) leading.weight[i] = constants.weight[i];
  return leading;
}

// sum + dot product of four unsigned bytes.
OZFP4_HD std::uint32_t dot_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(a, b, sum);
#else
  for (int j = 0; j < 32; j += 8) sum += ((a >> j) & 255u) * ((b >> j) & 255u);
  return sum;
#endif
}

// From the dot product of all bytes, preset included, to a word with the residue in [0, m) as its low byte; the other bytes are
// of no meaning. Precondition: the constants of one ByteModulus, and its dot product with any bytes.
OZFP4_HD std::uint32_t reduce_dot(std::uint32_t bits, float inverse, float shift, std::uint32_t negated) {
  const float quotient = fused_multiply_add(float_from_bits<float>(bits), inverse, shift);
  return bits + float_bits(quotient) * negated;
}

// The same word from the bytes. Precondition: any bytes.
template <int Words>
OZFP4_HD std::uint32_t residue_byte(const IntegerBytes<Words>& v, const ByteModulus<Words>& m) {
  std::uint32_t bits = m.preset;
  for (int i = 0; i < Words; ++i) bits = dot_bytes(v.word[i], m.weight[i], bits);
  return reduce_dot(bits, m.inverse, m.shift, m.negated);
}

// The largest x of so many bytes.
constexpr double most_byte_sum(int m, int bytes) { return (bytes * 255 + 1) * (m - 1.0); }

// Completes constants with weights that are there, for x <= most with the constant term `constant`, in [0, m). Precondition: m in
// [3, 256], most + 2^16 < 2^23; throws std::invalid_argument beyond it and for those without constants.
template <int Words>
void set_quotient(ByteModulus<Words>& constants, int m, double most, std::uint32_t constant) {
  constexpr double two_23 = 8388608.0;
  constexpr int most_d = 256 * 256;
  if (!(most >= 0 && most + most_d < two_23)) throw std::invalid_argument("residue constants: sums reach 2^23");
  constants.negated = 0u - static_cast<std::uint32_t>(m);
  if (m == 256) {  // any quotient will do: the low byte of x is the residue already
    constants.preset = 0x4B000000u + constant;
    return;
  }
  constexpr double most_cost = 0.499;  // of 1/2: the slack
  double best = most_cost;
  float inverse = 1.0f / static_cast<float>(m);
  for (int up = 0; up < 2; ++up) inverse = std::nextafterf(inverse, 1.0f);
  for (int candidate = 0; candidate < 5; ++candidate, inverse = std::nextafterf(inverse, 0.0f)) {
    const double margin = most * (static_cast<double>(inverse) * m - 1.0);
    for (int d = m; d < most_d; d += 256) {
      const double product = (two_23 + d) * static_cast<double>(inverse);
      const double down = std::round(2 * (product + 0.5 - 0.5 / m)) / 2;  // the shift is a multiple of 1/2
      const double place = (product - down + 0.5) * m;
      const double cost = std::fabs(place + margin / 2 - 0.5) + std::fabs(margin) / 2;
      if (cost >= best) continue;
      best = cost;
      constants.preset = 0x4B000000u + static_cast<std::uint32_t>(d) + constant;
      constants.inverse = inverse;
      constants.shift = static_cast<float>(two_23 + 1 - down);
    }
  }
  if (best >= most_cost) throw std::invalid_argument("no residue constants for modulus " + std::to_string(m));
}

// Constants of an integer of `words` words, in a structure that has room for more. Precondition: m in [3, 256], words in [1,
// Words]; throws std::invalid_argument for those without constants (for powers of two take 256 and reduce the byte).
template <int Words>
ByteModulus<Words> make_byte_modulus(int m, int words = Words) {
  ByteModulus<Words> constants;
  const auto modulus = static_cast<std::uint64_t>(m);
  std::uint64_t power = 1 % modulus, offset = 1;
  for (int j = 0; j < 4 * words; ++j, power = power * 256 % modulus) {
    constants.weight[j / 4] |= static_cast<std::uint32_t>(power) << (8 * (j % 4));
  }
  for (int i = 0; i < byte_bits(words); ++i) offset = 2 * offset % modulus;
  set_quotient(constants, m, most_byte_sum(m, 4 * words), static_cast<std::uint32_t>((modulus - offset % modulus) % modulus));
  return constants;
}

// The bytes of two integers one behind the other, as one of twice the words.
template <int Words>
OZFP4_HD IntegerBytes<2 * Words> pair_bytes(const IntegerBytes<Words>& x, const IntegerBytes<Words>& y) {
  IntegerBytes<2 * Words> both;
  for (int i = 0; i < Words; ++i) {
    both.word[i] = x.word[i];
    both.word[Words + i] = y.word[i];
  }
  return both;
}

// Constants of re x + im y from pair_bytes of integers of `words` words. Precondition: m as above, re and im in [0, m), 2 words
// <= Words.
template <int Words>
ByteModulus<Words> make_pair_modulus(int m, int words, std::int64_t re, std::int64_t im) {
  ByteModulus<Words> constants;
  const auto modulus = static_cast<std::uint64_t>(m);
  std::uint64_t offset = 0;
  for (int part = 0; part < 2; ++part) {
    const auto weight = static_cast<std::uint64_t>(part == 0 ? re : im) % modulus;
    std::uint64_t power = weight, own_offset = weight;
    for (int j = 4 * words * part; j < 4 * words * (part + 1); ++j, power = power * 256 % modulus) {
      constants.weight[j / 4] |= static_cast<std::uint32_t>(power) << (8 * (j % 4));
    }
    for (int i = 0; i < byte_bits(words); ++i) own_offset = 2 * own_offset % modulus;
    offset += own_offset;
  }
  set_quotient(constants, m, most_byte_sum(m, 8 * words), static_cast<std::uint32_t>((modulus - offset % modulus) % modulus));
  return constants;
}

}  // namespace ozfp4
