#include "cpu/blocks.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "cpu/accuracy/certified.hpp"
#include "cpu/block_planes.hpp"
#include "cpu/bytes/multiply.hpp"
#include "cpu/encode/pair_planes.hpp"
#include "cpu/repair/disjoint.hpp"
#include "cpu/stages/encode.hpp"
#include "cpu/stages/multiply.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kLongInner = 512;   // pieces of K above this amortise the folds between them
constexpr std::int64_t kShortInner = 128;  // and below this they no longer do
constexpr std::int64_t kSmallSide = 64;
constexpr std::int64_t kBlasLimit = std::int64_t(1) << 30;  // BLAS sizes are 32-bit integers

std::int64_t workspace(const Plan& plan, const BlockShape& block, std::int64_t k, bool has_list) {
  const std::int64_t columns = block.columns * plan.width();  // of the result
  const std::int64_t outputs = static_cast<std::int64_t>(plan.groups.size()) * block.rows * block.columns;
  return block_planes_bytes(plan, block.kernel, Side::left, plan.planes_a, block.rows, block.inners) +
         block_planes_bytes(plan, block.kernel, Side::right, plan.planes_b, block.columns, block.inners) +
         outputs * output_entry_bytes(plan) + block.scratch + cpu_join_scratch(plan, block.rows, block.columns) +
         (has_list ? Listed::bytes(block.rows, columns) + disjoint_bytes(block.rows, columns, k) : 0);
}

// To a multiple of what a packed panel or tile holds.
void halve(std::int64_t& size, std::int64_t multiple) { size = ((size + 1) / 2 + multiple - 1) / multiple * multiple; }

[[noreturn]] void refuse_workspace(std::int64_t cap, std::int64_t least) {
  throw std::length_error("workspace_limit = " + std::to_string(cap) + " bytes is too small: this product needs at least " +
                          std::to_string(least) + " bytes");
}

// The largest blocks for a kernel that stay at or below the cap; with more bytes than that where even the smallest do not.
BlockShape choose_for(const ByteKernel* kernel, const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t k,
                      std::int64_t cap, bool has_list) {
  const std::int64_t longest = kernel != nullptr ? kMostByteInner : kBlasLimit;
  const std::int64_t lines = kernel != nullptr ? kPanelLines : 1, depth = kernel != nullptr ? kTileDepth : 1;
  BlockShape block{
      std::min(m, kBlasLimit), std::min(n / plan.width(), kBlasLimit), std::min(k / plan.width(), longest), 0, 0, kernel};
  for (;;) {
    block.scratch = block_scratch(plan, kernel, {block.rows, block.columns, block.inners});
    block.bytes = workspace(plan, block, k, has_list);
    if (block.bytes <= cap) return block;
    std::int64_t& longer = block.rows > block.columns ? block.rows : block.columns;
    if (block.inners > kLongInner) {
      halve(block.inners, depth);
    } else if (longer > kSmallSide) {
      halve(longer, lines);
    } else if (block.inners > kShortInner) {
      halve(block.inners, depth);
    } else if (longer > lines) {
      halve(longer, lines);
    } else if (block.inners > depth) {
      halve(block.inners, depth);
    } else {
      return block;
    }
  }
}

}  // namespace

BlockShape choose_blocks(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t cap, bool has_list) {
  const ByteKernel* kernel = byte_kernel_of(plan);
  BlockShape block = choose_for(kernel, plan, m, n, k, cap, has_list);
  // Tiles are never smaller than they are: what has no room for one goes without.
  if (block.bytes > cap && kernel != nullptr) block = choose_for(nullptr, plan, m, n, k, cap, has_list);
  if (block.bytes > cap) refuse_workspace(cap, block.bytes);
  return block;
}

}  // namespace ozfp4
