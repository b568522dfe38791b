#include "product/gpu/blocks.hpp"

#include <algorithm>

#include "plan/cuts.hpp"

namespace ozfp4::product {
namespace {

// The extents of a block whose copies take half of the workspace limit or less, if those of a row and a column do.
Extents extents_of_blocks(const Product& p, const Options& options) {
  if (!options.has_limit || !p.type.is_complex) return {p.m, p.n};
  CopyBytes bytes = copy_bytes(p);
  bytes.entry += sum_entry_bytes(p, options);
  return cut_for_copies(p.m, p.n, bytes, options.workspace_limit / 2);
}

// Fills in the findings that all blocks share.
void describe(const DeviceBlocks& blocks, DeviceFindings& found) {
  found.workspace = blocks.bytes;
  const auto& problem = blocks.blocks.front().sum.product;
  if (problem == nullptr) return;
  found.plan = problem->chosen;
  found.fallback = problem->fallback;
  found.kernel = kernel_text(*problem->plan, problem->layout);
}

}  // namespace

DeviceBlocks find_blocks(const Product& p, const Options& options, cudaStream_t stream) {
  const Extents extents = extents_of_blocks(p, options);
  DeviceBlocks found;
  for (std::int64_t row = 0; row < p.m; row += extents.rows) {
    for (std::int64_t column = 0; column < p.n; column += extents.columns) {
      const Block at{row, std::min(extents.rows, p.m - row), column, std::min(extents.columns, p.n - column)};
      found.blocks.push_back({at, find_sum(part_of(p, at), options, stream)});
      found.bytes = std::max(found.bytes, found.blocks.back().sum.places.bytes);
    }
  }
  return found;
}

void launch(const DeviceBlocks& found, const Product& p, const Options& options, char* workspace, const Launching& how) {
  if (how.found != nullptr && !found.blocks.empty()) describe(found, *how.found);
  for (const DeviceBlock& block : found.blocks) {
    if (how.found != nullptr) {
      how.found->counts_rows = block.at.column == 0;
      how.found->counts_columns = block.at.row == 0;
    }
    const bool adds = options.adds_repaired || &block != &found.blocks.front();
    launch(block.sum, part_of(p, block.at), options, workspace, how, adds);
  }
}

}  // namespace ozfp4::product
