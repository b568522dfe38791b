#include "cpu/encode/quantise.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "arith/scale_entry.hpp"
#include "cpu/encode/wide_line.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// The integer closest to x, ties to even, in operations that vectors have. Range: |x| < 2^63.
inline std::int64_t nearest_integer(double x) {
  constexpr double least_integer = 4503599627370496.0;  // 2^52: from there on all numbers are
  const double magnitude = std::fabs(x), rounded = (magnitude + least_integer) - least_integer;
  return static_cast<std::int64_t>(std::copysign(magnitude < least_integer ? rounded : magnitude, x));
}

// scaled_integer_by_multiplication says why the products round as x 2^shift. FP32 entries are FP64 ones.
template <class T>
inline void quantise_impl(const T* x, std::int64_t n, int shift, std::int64_t* integers) {
  const ShiftHalves halves = halves_of(shift);
  const double first = exact_power_of_two<double>(halves.first), second = exact_power_of_two<double>(halves.second);
  for (std::int64_t i = 0; i < n; ++i) {
    const double entry = magnitude_bits(x[i]) < kInfinityBits<T> ? static_cast<double>(x[i]) : 0.0;
    integers[i] = nearest_integer(entry * first * second);
  }
}

}  // namespace

OZFP4_VECTORISED void quantise_line(const double* x, std::int64_t n, int shift, std::int64_t* integers) {
  quantise_impl(x, n, shift, integers);
}
OZFP4_VECTORISED void quantise_line(const float* x, std::int64_t n, int shift, std::int64_t* integers) {
  quantise_impl(x, n, shift, integers);
}

void cpu_quantise(const OperandView& operand, const std::int32_t* shift, int words, std::uint32_t* integers) {
  const DefaultFpMode mode;
  with_float(operand.type, [&](auto zero) {
    std::vector<decltype(zero)> entries(static_cast<std::size_t>(kLine));
    WideLine line;
    for (std::int64_t o = 0; o < operand.outer; ++o) {
      for (std::int64_t inner = 0; inner < operand.inner; inner += kLine) {
        const std::int64_t n = std::min(kLine, operand.inner - inner);
        load_tile(operand, o, 1, inner, n, entries.data());
        quantise_wide(entries.data(), n, shift[o], {32 * words - 2, words}, line);
        for (std::int64_t i = 0; i < n; ++i) {
          for (int w = 0; w < words; ++w) *integers++ = line.word[w][i];
        }
      }
    }
  });
}

}  // namespace ozfp4
