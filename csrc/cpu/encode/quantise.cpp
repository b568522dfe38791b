#include "cpu/encode/quantise.hpp"

#include <algorithm>
#include <vector>

#include "arith/scale_entry.hpp"
#include "cpu/encode/wide_line.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <class T>
inline void quantise_impl(const T* x, std::int64_t n, int shift, std::int64_t* integers) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t v = scaled_integer(x[i], shift);
    integers[i] = magnitude_bits(x[i]) < kInfinityBits<T> ? v : 0;
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
  with_float(operand.type, [&](auto zero) {
    std::vector<decltype(zero)> entries(static_cast<std::size_t>(kLine));
    WideLine line;
    for (std::int64_t o = 0; o < operand.outer; ++o) {
      for (std::int64_t inner = 0; inner < operand.inner; inner += kLine) {
        const std::int64_t n = std::min(kLine, operand.inner - inner);
        load_tile(operand, o, 1, inner, n, entries.data());
        quantise_wide(entries.data(), n, shift[o], words, line);
        for (std::int64_t i = 0; i < n; ++i) {
          for (int w = 0; w < words; ++w) *integers++ = line.word[w][i];
        }
      }
    }
  });
}

}  // namespace ozfp4
