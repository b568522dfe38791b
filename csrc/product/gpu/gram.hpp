// Gram matrices on the current device, checked: the blocks on and above the diagonal, and how the workspace is used. Pointers
// count by their alignment alone until the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "plan/cuts.hpp"
#include "product/gpu/integers.hpp"
#include "product/gpu/operand.hpp"
#include "product/gpu/sum.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

// From here on there are blocks: the launches of more take longer than what they save of a smaller result.
inline constexpr std::int64_t kLeastGramExtent = 6144;

// Rows and columns of the result on or above the diagonal, and what is launched for them.
struct GramBlock {
  ColumnRange rows, columns;
  DeviceBlocks product;
  std::shared_ptr<const DeviceProblem> integers;  // instead of it

  Block place() const { return {rows.first, rows.last - rows.first, columns.first, columns.last - columns.first}; }
};

// Blocks with lines of A from `first` on as columns: that above the diagonal, then those on it, the largest first. Planes of
// these lines that are kept lie before the workspace that all blocks share.
struct GramGroup {
  std::int64_t first = 0;
  std::optional<KeptLines> kept{};
  std::vector<GramBlock> blocks{};
};

// The last group first, so that the first block has all lines of A, as rows and as columns. Immutable.
struct GramProblem {
  std::vector<GramGroup> groups;
  std::int64_t bytes = 0;
};

// As of DeviceProblem: all blocks have one. Precondition: a result that is there.
inline const void* shared_part(const GramProblem& problem) {
  return shared_part(*problem.groups.front().blocks.front().product.blocks.front().sum.product);
}

// The launches of a product, by lines that are kept where its operands are prepared; these take `behind` bytes.
using FindBlock = std::function<DeviceBlocks(const Product& block, std::int64_t behind)>;

// The lines of A, kept.
using KeepLines = std::function<KeptLines(const Product& gram)>;

// Lays out what `find` finds. Lines are kept where `keep` is not null, by groups of as many as stay with their blocks within
// `limit` bytes; where few do, none are. `least_columns`: of a block; 0: by what pays.
GramProblem lay_out_gram(const Product& gram, std::int64_t limit, const KeepLines& keep, const FindBlock& find,
                         std::int64_t least_columns = 0);

// The layout for the current device; blocks that were found for such a matrix before are found again. Throws as find_problem.
std::shared_ptr<const GramProblem> find_gram(const Product& gram, const Options& options, std::int64_t least_columns,
                                             cudaStream_t stream);

// Throws std::runtime_error. Precondition: a workspace of problem.bytes, aligned to 256.
void launch(const GramProblem& problem, const Product& gram, const Options& options, char* workspace, const Launching& how);

// The same of integers, of which no planes are kept.
using FindIntegers = std::function<std::shared_ptr<const DeviceProblem>(const IntegerSum& block)>;
GramProblem lay_out_gram(const IntegerSum& gram, const FindIntegers& find, std::int64_t least_columns);
std::shared_ptr<const GramProblem> find_gram(const IntegerSum& gram, const Options& options, std::int64_t least_columns,
                                             cudaStream_t stream);
void launch(const GramProblem& problem, const IntegerSum& gram, const Options& options, char* workspace, const Launching& how);

}  // namespace ozfp4::product
