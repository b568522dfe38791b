#include "cuda/thin/cut.hpp"

#include <algorithm>

#include "arith/multiples.hpp"
#include "cuda/line_order.hpp"
#include "cuda/thin/thin.hpp"

namespace ozfp4::cuda::thin {
namespace {

std::int32_t padded(std::int32_t few) { return few <= 2 ? few : few <= 4 ? 4 : 8; }

}  // namespace

ThinCut cut_thinly(const ReconstructJob& job) {
  ThinCut cut{};
  cut.many_is_a = job.result.rows >= job.result.columns;
  const DeviceOperand &many = cut.many_is_a ? job.a.view : job.b.view, &few = cut.many_is_a ? job.b.view : job.a.view;
  if (few.outer > kMostThinLines) return cut;
  cut.few_padded = padded(few.outer);
  cut.along_k = runs_along_k(many);
  const std::int32_t most = kSharedEntries / cut.few_padded;
  std::int32_t shift = 5;
  if (cut.along_k) {
    while (kEntries << shift < std::min(many.inner, most)) ++shift;
  }
  const std::int64_t blocks = ceil_div(many.inner, kEntries << shift);
  if (blocks > kMostClusterBlocks) return cut;
  cut.slots_shift = shift;
  cut.cluster = static_cast<std::int32_t>(blocks);
  cut.slice = static_cast<std::int32_t>(round_up(ceil_div(many.inner, blocks), std::int64_t(2) << shift));
  cut.units = cut.cluster * (cut.slice / kUnit);
  cut.parts = cut.cluster * (cut.along_k ? 1 << (shift - 5) : 1);
  cut.entries = job.result.stack.count() * many.outer * cut.few_padded;
  return cut;
}

}  // namespace ozfp4::cuda::thin
