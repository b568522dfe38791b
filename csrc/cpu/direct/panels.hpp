// Operands as the tiles of direct products read them: panels of a few lines, entry by entry along K, in words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4 {

// Entries of a line that are copied at once where lines are contiguous along K: what they fill stays in the first-level cache.
inline constexpr std::int64_t kPanelRun = 64;

// panel[k][line] = the entry modulo 2^w, for `count` lines from `outer0` on and `inners` entries from `inner0` on; the lines up
// to Lines are 0. The loop order follows the smaller stride. Range: T an integer type, count <= Lines.
template <class T, std::int64_t Lines, class Word>
void write_panel(const OperandView& view, std::int64_t outer0, std::int64_t count, std::int64_t inner0, std::int64_t inners,
                 Word* panel) {
  const char* origin = view.data + outer0 * view.outer_stride + inner0 * view.inner_stride;
  if (count < Lines) std::fill_n(panel, inners * Lines, Word(0));
  const bool is_along_k = std::abs(view.inner_stride) < std::abs(view.outer_stride);
  const std::int64_t run = is_along_k ? kPanelRun : 1;
  for (std::int64_t k0 = 0; k0 < inners; k0 += run) {
    const std::int64_t end = std::min(k0 + run, inners);
    for (std::int64_t o = 0; o < count; ++o) {
      const char* line = origin + o * view.outer_stride;
      for (std::int64_t k = k0; k < end; ++k) panel[k * Lines + o] = static_cast<Word>(load<T>(line + k * view.inner_stride));
    }
  }
}

}  // namespace ozfp4
