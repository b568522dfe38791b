#include "cpu/reconstruct/reconstruct.hpp"

#include <algorithm>

#include "cpu/reconstruct/integers.hpp"
#include "cpu/reconstruct/round_block.hpp"

namespace ozfp4 {

void cpu_reconstruct(const Plan& plan, int count, const void* output, const std::int32_t* shift_a, const std::int32_t* shift_b,
                     const ResultView& result) {
  if (result.rows == 0 || result.columns == 0) return;
  with_words(crt_words(plan, count), [&](auto words) {
    const Integers<words()> integers(plan, count, output, result.rows, result.columns);
    with_float(result.type, [&](auto zero) { round_block<decltype(zero)>(integers, shift_a, shift_b, result); });
  });
}

void cpu_reconstruct_integers(const Plan& plan, int count, const void* output, std::int64_t entries, std::uint32_t* words) {
  const int width = crt_words(plan, count);
  with_words(width, [&](auto own) {
    const Integers<own()> integers(plan, count, output, 1, entries);
    LaneWords x;
    for (std::int64_t first = 0; first < entries; first += kLanes) {
      const int n = static_cast<int>(std::min<std::int64_t>(kLanes, entries - first));
      integers.integers(first, n, x);
      for (int i = 0; i < n; ++i) {
        for (int k = 0; k < width; ++k) *words++ = x.word[k][i];
      }
    }
  });
}

}  // namespace ozfp4
