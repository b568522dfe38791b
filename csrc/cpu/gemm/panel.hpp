// Lines of an operand as panels, which register tiles take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4 {

// panel[k][line] = convert(the entry), rows of Lines entries, for `count` lines from `outer` on and `inners` entries from `inner`
// on; the lines up to Lines are 0. Flips: the entries of each pair along K in the other order. The loop order follows the smaller
// stride. Precondition: T the type of the view; count <= Lines; where pairs are flipped an even number of entries.
template <class T, std::int64_t Lines, bool Flips = false, class To, class Convert>
void write_panel(const OperandView& view, std::int64_t outer, std::int64_t count, std::int64_t inner, std::int64_t inners,
                 To* panel, const Convert& convert) {
  constexpr std::int64_t run = 64;  // entries along K, of which those of all lines stay in the first-level cache
  const char* origin = view.at(outer, inner);
  if (count < Lines) std::fill_n(panel, inners * Lines, To(0));
  const auto put = [&](std::int64_t k, std::int64_t line) {
    panel[(k ^ (Flips ? 1 : 0)) * Lines + line] = convert(load<T>(origin + k * view.inner_stride + line * view.outer_stride));
  };
  if (std::abs(view.inner_stride) >= std::abs(view.outer_stride)) {
    for (std::int64_t k = 0; k < inners; ++k) {
      for (std::int64_t line = 0; line < count; ++line) put(k, line);
    }
    return;
  }
  for (std::int64_t first = 0; first < inners; first += run) {
    for (std::int64_t line = 0; line < count; ++line) {
      for (std::int64_t k = first; k < std::min(first + run, inners); ++k) put(k, line);
    }
  }
}

}  // namespace ozfp4
