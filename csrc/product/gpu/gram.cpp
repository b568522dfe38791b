#include "product/gpu/gram.hpp"

#include <algorithm>

#include "cuda/gram/mirror.hpp"
#include "product/choose.hpp"
#include "product/gpu/choice.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/layout.hpp"

namespace ozfp4::product {
namespace {

// Where planes of A are made anew for each block there are few, else they are as narrow as the kernels multiply well.
constexpr std::int64_t kBlocks = 4, kLeastColumns = 1024;

constexpr std::int64_t kSmallWorkspace = std::int64_t(1) << 34;
constexpr std::size_t kMostGrams = 256;  // of blocks, each of which is a problem

std::vector<ColumnRange> blocks_of(std::int64_t n, bool keeps) {
  const std::int64_t least = keeps ? kLeastColumns : n / kBlocks;
  return gram_blocks(n, n < kLeastGramExtent ? std::max<std::int64_t>(n, 1) : least);
}

// A block as a product, of the lines that are kept on both sides of it.
struct BlockProduct {
  Product product;
  DevicePrepared left{}, right{};

  BlockProduct(const Product& gram, const ColumnRange& columns, const std::optional<KeptLines>& kept, char* workspace)
      : product(part_of(gram, columns)) {
    if (!kept) return;
    left = kept->part(0, columns.last, true, gram.a.data, workspace);
    right = kept->part(columns.first, columns.last, false, gram.a.data, workspace);
    product.prepared_a = &left;
    product.prepared_b = &right;
  }
  BlockProduct(const BlockProduct&) = delete;
};

GramProblem with_blocks(const Product& gram, const std::optional<KeptLines>& kept, const FindBlock& find) {
  GramProblem problem;
  problem.kept = kept;
  problem.behind = problem.bytes = kept ? kept->bytes() : 0;
  const std::vector<ColumnRange> ranges = blocks_of(gram.n, kept.has_value());
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    const BlockProduct own(gram, *range, kept, nullptr);
    problem.blocks.push_back({*range, find(own.product)});
    problem.bytes = std::max(problem.bytes, problem.behind + problem.blocks.back().problem->places.bytes);
  }
  return problem;
}

// The planes of A, where they may be kept for all blocks.
std::optional<KeptLines> lines_of(const Product& gram, const Options& options, const Device& device, cudaStream_t stream) {
  if (gram.type.is_complex || options.has_limit || !gram.reads()) return std::nullopt;
  return KeptLines::of(gram, options, choose(options, gram.type.precision(), gram.k, false, device, stream), device);
}

}  // namespace

GramProblem lay_out_gram(const Product& gram, const std::optional<KeptLines>& lines, const FindBlock& find) {
  if (!lines) return with_blocks(gram, std::nullopt, find);
  GramProblem keeping = with_blocks(gram, lines, find);
  if (keeping.bytes <= kSmallWorkspace) return keeping;
  GramProblem plain = with_blocks(gram, std::nullopt, find);
  return keeping.bytes <= plain.bytes + plain.bytes / 4 ? keeping : plain;
}

std::shared_ptr<const GramProblem> find_gram(const Product& gram, const Options& options, cudaStream_t stream) {
  if (gram.n < kLeastGramExtent) {
    const FindBlock find = [&](const Product& block) { return find_problem(block, options, stream); };
    return std::make_shared<GramProblem>(lay_out_gram(gram, std::nullopt, find));
  }
  check_inner(options, (gram.type.is_complex ? 2 : 1) * gram.k, false);
  const Device device = current_device();
  const auto make = [&] {
    const FindBlock find = [&](const Product& block) { return make_problem(block, options, device, stream); };
    auto made = std::make_shared<GramProblem>(lay_out_gram(gram, lines_of(gram, options, device, stream), find));
    return made;
  };
  return kept_or_made<GramProblem>(key_of(gram, options, device.index), make, kMostGrams);
}

void launch(const GramProblem& problem, const Product& gram, const Options& options, char* workspace, const Launching& how) {
  const cudaStream_t stream = how.stream;
  if (problem.kept) problem.kept->launch(gram.a.data, workspace, stream);
  for (const GramBlock& block : problem.blocks) {
    const BlockProduct own(gram, block.columns, problem.kept, workspace);
    launch(*block.problem, own.product, options, workspace + problem.behind, how,
           options.adds_repaired || &block != &problem.blocks.front());
    cuda::launch_mirror({gram.c.data, gram.type.part, gram.type.is_complex, gram.c.row_stride, block.columns.first,
                         block.columns.last, gram.type.is_complex && options.accuracy == Accuracy::standard},
                        stream);
  }
}

}  // namespace ozfp4::product
