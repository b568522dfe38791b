#include "cpu/encode/quantise.hpp"

#include <algorithm>
#include <vector>

#include "cpu/encode/wide_line.hpp"
#include "cpu/runtime/fp_mode.hpp"

namespace ozfp4 {
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
