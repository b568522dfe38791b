// The integer round(x * 2^shift), ties to even, as two words by FP64 additions alone: where conversions to integers are slow.
//
// Let y = x f, f = 2^shift, C = 0x43380000, o = 0x80808080 and M = 3 * 2^83 + 2^32 c, c = o - C. t = fl(y + M) lies in [2^84,
// 2^85), where FP64 numbers are multiples of 2^32. So t = M + 2^32 h, h an integer nearest to y 2^-32, and the lower word of t's
// bits is h + o - C modulo 2^32. 2^32 h = t - M is exact, and so is r = y - 2^32 h, |r| <= 2^31, as its bits are among those of
// y. u = fl(r + N), N = 3 * 2^51 + o, lies in [2^52, 2^53), where FP64 numbers are integers. r is rounded to one, once and with
// ties to even, as N and 2^32 h are even. The lower word of u is that integer plus o modulo 2^32, its upper word C, plus 1 where
// the sum is 2^32 or more. So the lower word of u, and that of t plus the upper one of u, are the words of round(y) + 2^32 o + o.
// Every byte is 128 more than a digit in [-128, 127] of round(y).
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/scale_entry.hpp"

namespace ozfp4 {

inline constexpr std::uint32_t kSplitOffset = 0x80808080u;  // of each word

struct SplitInteger {
  std::uint32_t low, high;
};

// round(x * factor) + (2^32 + 1) kSplitOffset. Precondition: |x * factor| <= 2^62, factor a power of two in [2^-1000, 2^1000];
// other x give words of no meaning. On the host in the default rounding mode.
OZFP4_HD SplitInteger split_integer(double x, double factor) {
  constexpr std::uint32_t upper = 0x43380000u, above = kSplitOffset - upper;
  constexpr double high = 3.0 * 0x1p83 + 0x1p32 * above, low = 3.0 * 0x1p51 + kSplitOffset;
  const double t = fused_multiply_add(x, factor, high);
  const double r = fused_multiply_add(x, factor, high - t);
  const std::uint64_t u = float_bits(r + low);
  return {static_cast<std::uint32_t>(u), static_cast<std::uint32_t>(float_bits(t)) + static_cast<std::uint32_t>(u >> 32)};
}

// 2^shift as rest * factor, where the factor keeps its range. Multiplying with the rest first is exact, or its error is far below
// what rounds to 0 (see scaled_integer_by_multiplication). Precondition: |shift| <= 2000.
struct SplitScale {
  double rest, factor;
};
OZFP4_HD SplitScale split_scale(int shift) {
  const int most = shift < -1000 ? -1000 : shift > 1000 ? 1000 : shift;
  return {exact_power_of_two<double>(shift - most), exact_power_of_two<double>(most)};
}

}  // namespace ozfp4
