#include "cpu/direct/shape.hpp"

#include <algorithm>

namespace ozfp4 {
namespace {

// A block's panels lie in the last-level cache.
constexpr std::int64_t kBlockSide = 2048, kBlockInner = 512;

}  // namespace

std::optional<DirectShape> choose_direct_shape(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t word_bytes,
                                               std::int64_t cap) {
  DirectShape shape{std::min(m, kBlockSide), std::min(n, kBlockSide), std::min(k, kBlockInner), word_bytes};
  while (shape.bytes() > cap) {
    const bool is_tall = shape.panels_a() * kDirectRows > shape.panels_b() * kDirectColumns;
    if (shape.panels_a() + shape.panels_b() > 2) {
      std::int64_t& longer = is_tall || shape.panels_b() == 1 ? shape.rows : shape.columns;
      longer = ceil_div(longer, 2);
    } else if (shape.inners > 1) {
      shape.inners = ceil_div(shape.inners, 2);
    } else {
      return std::nullopt;
    }
  }
  return shape;
}

}  // namespace ozfp4
