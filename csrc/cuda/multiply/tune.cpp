// The choice of a tile and of how often K is cut: every tile of the kernel, with its cost model.
#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/multiply/registry.hpp"

namespace ozfp4::cuda {
namespace {

// Two operand planes of more bytes than this profit from blocks that stay together. On an H200 with tiles of 256 x 192, N = 4096
// gains nothing, 8192 0.5 to 1.5 %, 16384 3 %.
constexpr double kFitsL2 = 100e6;

// Forced splits are taken as they are. A split shorter than the ring is not worth its output; an empty one is possible but
// useless.
template <class Try>
void for_splits(const GemmShape& shape, const KernelTile& tile, Element element, const ForcedChoice& forced, Try attempt) {
  if (forced.splits) return attempt(*forced.splits);
  const std::int64_t blocks = ceil_div(shape.k, block_entries(element));
  for (int splits = 1; splits <= shape.max_splits && (splits == 1 || blocks / splits >= tile.ring); splits *= 2) attempt(splits);
}

}  // namespace

TileChoice choose_tile(const GemmShape& shape, Kernel kernel, Element element, const Gpu& gpu, const ForcedChoice& forced) {
  const KernelRow& row = row_of(kernel);
  const KernelFamily& family = *row.family;
  TileChoice best;
  best.predicted_clocks = -1;
  for (int t = 0; t < family.tile_count; ++t) {
    const KernelTile& tile = family.tiles[t];
    if (forced.shape && *forced.shape != tile.shape) continue;
    for_splits(shape, tile, element, forced, [&](int splits) {
      TileChoice choice;
      choice.shape = tile.shape;
      choice.splits = splits;
      choice.predicted_clocks = family.clocks(row, shape, choice, element, gpu);
      if (best.predicted_clocks < 0 || choice.predicted_clocks < best.predicted_clocks) best = choice;
    });
  }
  best.keep_together = family.wave_slots > 0 && (static_cast<double>(shape.m) + shape.n) * shape.k > kFitsL2;
  best.overlap_previous = forced.overlap_previous.value_or(true);
  return best;
}

double predict_clocks(const GemmShape& shape, const TileChoice& choice, Kernel kernel, Element element, const Gpu& gpu) {
  const KernelRow& row = row_of(kernel);
  return row.family->clocks(row, shape, choice, element, gpu);
}

}  // namespace ozfp4::cuda
