// Lines of integer entries of any type, as the encoder takes them: an entry is its own integer.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/encode/wide_line.hpp"

namespace ozfp4 {

// Range: 2 or more words, 3 or more for uint64 entries of 2^63 and more.
template <class T>
void widen_line(const T* x, std::int64_t n, WideForm form, WideLine& line) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto bits = static_cast<std::uint64_t>(x[i]);  // a negative number fills the upper bits
    line.word[0][i] = static_cast<std::uint32_t>(bits);
    line.word[1][i] = static_cast<std::uint32_t>(bits >> 32);
  }
  for (int w = 2; w < form.words; ++w) {
    for (std::int64_t i = 0; i < n; ++i) line.word[w][i] = std::is_signed_v<T> && x[i] < 0 ? ~0u : 0u;
  }
}

}  // namespace ozfp4
