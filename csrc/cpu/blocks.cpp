#include "cpu/blocks.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "arith/multiples.hpp"
#include "cpu/bytes/packed.hpp"
#include "cpu/encode/encode.hpp"
#include "cpu/encode/pair_planes.hpp"
#include "cpu/multiply/multiply.hpp"
#include "cpu/reconstruct/certified.hpp"
#include "cpu/repair/repair.hpp"
#include "cpu/standard/magnitudes.hpp"
#include "plan/workspace_error.hpp"

namespace ozfp4 {
namespace {

std::int64_t workspace(const Plan& plan, const BlockShape& block, std::int64_t k, Accuracy accuracy) {
  const std::int64_t columns = block.columns * plan.width();  // of the result
  const std::int64_t outputs = static_cast<std::int64_t>(plan.groups.size()) * block.rows * block.columns;
  return planes_bytes(plan, block.kernel, Side::left, plan.planes_a, block.rows, block.inners) +
         planes_bytes(plan, block.kernel, Side::right, plan.planes_b, block.columns, block.inners) +
         outputs * plan.output_bytes() + block.scratch + cpu_join_scratch(plan, block.rows, block.columns) +
         chain_bytes(accuracy, block.rows, columns, k);
}

// Nanoseconds of one thread of a Zen 4 processor (AVX-512 VNNI, or planes in floating point). They are of one multiply-add of a
// plane product, of an entry of a plane that is encoded, and of one sum that is folded, for each piece of K.
struct Costs {
  double product, entry, fold;
};
constexpr Costs kByteCosts{0.0043, 0.4, 0.3}, kFloatCosts{0.06, 1.0, 1.0};
constexpr double kStart = 32;  // rows and columns that a block's products take longer by

// For the walk of block_runner.cpp: A's block stays while it goes over columns, B's where it is the only one.
double cost_of(const Plan& plan, const BlockShape& block, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Costs costs = block.kernel != nullptr ? kByteCosts : kFloatCosts;
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const std::int64_t rows = ceil_div(m, block.rows), columns = ceil_div(n, block.columns), pieces = ceil_div(k, block.inners);
  const double sums = number(m) * number(n), start_rows = 1 + kStart / number(block.rows),
               start_columns = 1 + kStart / number(block.columns);
  const double products = sums * number(k) * number(plan.products()) * start_rows * start_columns;
  const double entries_a = number(m) * number(k) * plan.planes_a * number(pieces == 1 ? 1 : columns);
  const double entries_b = number(n) * number(k) * plan.planes_b * number(pieces == 1 && columns == 1 ? 1 : rows);
  const double folds = sums * number(pieces) * number(static_cast<std::int64_t>(plan.groups.size()));
  return products * costs.product + (entries_a + entries_b) * costs.entry + folds * costs.fold;
}

// An extent, and about equal parts of it that are multiples of what a packed panel or tile holds, down to one of these.
std::vector<std::int64_t> parts_of(std::int64_t extent, std::int64_t multiple) {
  std::vector<std::int64_t> found{extent};
  while (found.back() > multiple) found.push_back(round_up(ceil_div(found.back(), 2), multiple));
  return found;
}

// The blocks for a kernel that stay at or below the cap and take least time; the smallest ones where none do.
BlockShape choose_for(const ByteKernel* kernel, const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t k,
                      std::int64_t cap, Accuracy accuracy) {
  const std::int64_t lines = kernel != nullptr ? kPanelLines : 1, depth = kernel != nullptr ? kTileDepth : 1;
  const std::int64_t columns = n / plan.width(), inners = k / plan.width();
  const std::int64_t longest = kernel != nullptr ? kMostByteInner : inners;
  const auto block_of = [&](std::int64_t own_rows, std::int64_t own_columns, std::int64_t own_inners) {
    BlockShape block{own_rows, own_columns, own_inners, 0, 0, kernel};
    block.scratch = multiply_scratch(plan, kernel, {own_rows, own_columns, own_inners});
    block.bytes = workspace(plan, block, k, accuracy);
    return block;
  };
  const BlockShape whole = block_of(m, columns, std::min(inners, longest));
  if (whole.bytes <= cap) return whole;
  std::optional<BlockShape> best;
  double least = 0;
  const auto all_rows = parts_of(whole.rows, lines), all_columns = parts_of(whole.columns, lines);
  for (const std::int64_t own_inners : parts_of(whole.inners, depth)) {
    for (const std::int64_t own_rows : all_rows) {
      // The first that fits has the fewest blocks of columns.
      for (const std::int64_t own_columns : all_columns) {
        const BlockShape block = block_of(own_rows, own_columns, own_inners);
        if (block.bytes > cap) continue;
        const double cost = cost_of(plan, block, m, columns, inners);
        if (!best || cost < least) best = block, least = cost;
        break;
      }
    }
  }
  return best ? *best : block_of(all_rows.back(), all_columns.back(), std::min(inners, depth));
}

}  // namespace

BlockShape best_blocks(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t cap, Accuracy accuracy) {
  const ByteKernel* kernel = byte_kernel_of(plan);
  const BlockShape block = choose_for(kernel, plan, m, n, k, cap, accuracy);
  // Tiles are never smaller than they are: what has no room for one goes without.
  return block.bytes > cap && kernel != nullptr ? choose_for(nullptr, plan, m, n, k, cap, accuracy) : block;
}

std::int64_t chain_bytes(Accuracy accuracy, std::int64_t rows, std::int64_t columns, std::int64_t k) {
  if (accuracy == Accuracy::scaled) return 0;
  const bool is_standard = accuracy == Accuracy::standard;
  return Listed::bytes(rows, columns) + (is_standard ? magnitude_bytes(rows, columns, k) : disjoint_bytes(rows, columns, k));
}

BlockShape choose_blocks(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t cap, Accuracy accuracy) {
  const BlockShape block = best_blocks(plan, m, n, k, cap, accuracy);
  if (block.bytes > cap) throw WorkspaceError(cap, block.bytes);
  return block;
}

double product_nanoseconds(const Plan& plan) { return (byte_kernel_of(plan) != nullptr ? kByteCosts : kFloatCosts).product; }

}  // namespace ozfp4
