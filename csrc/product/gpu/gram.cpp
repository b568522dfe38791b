#include "product/gpu/gram.hpp"

#include <algorithm>

#include "cuda/elementwise/matrices.hpp"
#include "product/choose.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/numbering.hpp"

namespace ozfp4::product {
namespace {

// Where planes of A are made anew for each block there are few, else they are as narrow as the kernels multiply well.
constexpr std::int64_t kBlocks = 4, kLeastColumns = 1024;

constexpr std::int64_t kSmallWorkspace = std::int64_t(1) << 34;
constexpr std::size_t kMostGrams = 256;  // of blocks, each of which is a problem

bool has_blocks(std::int64_t n, std::int64_t least_columns) { return n >= kLeastGramExtent || least_columns != 0; }

// The largest first.
std::vector<ColumnRange> blocks_of(std::int64_t n, bool keeps, std::int64_t least_columns) {
  const std::int64_t least = least_columns != 0 ? least_columns : keeps ? kLeastColumns : n / kBlocks;
  std::vector<ColumnRange> blocks = gram_blocks(n, has_blocks(n, least_columns) ? least : std::max<std::int64_t>(n, 1));
  std::reverse(blocks.begin(), blocks.end());
  return blocks;
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

GramProblem with_blocks(const Product& gram, const std::optional<KeptLines>& kept, const FindBlock& find,
                        std::int64_t least_columns) {
  GramProblem problem;
  problem.kept = kept;
  problem.behind = problem.bytes = kept ? kept->bytes() : 0;
  for (const ColumnRange& columns : blocks_of(gram.n, kept.has_value(), least_columns)) {
    const BlockProduct own(gram, columns, kept, nullptr);
    problem.blocks.push_back({columns, find(own.product), nullptr});
    problem.bytes = std::max(problem.bytes, problem.behind + problem.blocks.back().product.bytes);
  }
  return problem;
}

// The planes of A, where they may be kept for all blocks.
std::optional<KeptLines> lines_of(const Product& gram, const Options& options, const Device& device, cudaStream_t stream) {
  if (gram.type.is_complex || options.has_limit || !gram.reads() || !gram.axes.empty()) return std::nullopt;
  return KeptLines::of(gram, options, choose(options, gram.type.precision(), {gram.k}, false, device, stream), device);
}

// Every line of the operand is one of the rows of the first block.
void add_block(DeviceFindings& found, const DeviceFindings& block, std::int64_t entries, bool is_first) {
  if (is_first) {
    found = block;
  } else {
    found.listed += block.listed;
    found.exact += block.exact;
    found.moduli_used = std::max(found.moduli_used, block.moduli_used);
    found.workspace = std::max(found.workspace, block.workspace);
  }
  found.entries += entries;
}

// Launches every block by launch_block(block, how, whether it is the first).
template <class Launch>
void launch_blocks(const std::vector<GramBlock>& blocks, std::int64_t matrices, const Launching& how,
                   const Launch& launch_block) {
  for (const GramBlock& block : blocks) {
    const bool is_first = &block == &blocks.front();
    DeviceFindings own;
    Launching further = how;
    if (how.found != nullptr) further.found = &own;
    launch_block(block, further, is_first);
    const std::int64_t columns = block.columns.last - block.columns.first;
    if (how.found != nullptr) add_block(*how.found, own, matrices * columns * block.columns.last, is_first);
  }
}

// Mirrors a matrix of each place of a stack, whose steps are `own`.
void mirror(const Axes& axes, std::ptrdiff_t Axis::* own, cuda::Mirrored matrix, cudaStream_t stream) {
  char* const data = matrix.data;
  Numbering(axes, own).for_lines([&](std::int64_t, const Axis& along, const Axis& offset) {
    matrix.data = data + offset.*own;
    matrix.matrices = along.extent;
    matrix.matrix_stride = along.*own;
    cuda::launch_mirror(matrix, stream);
  });
}

}  // namespace

GramProblem lay_out_gram(const Product& gram, const std::optional<KeptLines>& lines, const FindBlock& find,
                         std::int64_t least_columns) {
  if (!lines) return with_blocks(gram, std::nullopt, find, least_columns);
  GramProblem keeping = with_blocks(gram, lines, find, least_columns);
  if (keeping.bytes <= kSmallWorkspace) return keeping;
  GramProblem plain = with_blocks(gram, std::nullopt, find, least_columns);
  return keeping.bytes <= plain.bytes + plain.bytes / 4 ? keeping : plain;
}

std::shared_ptr<const GramProblem> find_gram(const Product& gram, const Options& options, std::int64_t least_columns,
                                             cudaStream_t stream) {
  const FindBlock find = [&](const Product& block) { return find_blocks(block, options, stream); };
  if (!has_blocks(gram.n, least_columns)) return std::make_shared<GramProblem>(lay_out_gram(gram, std::nullopt, find));
  check_inner(options, (gram.type.is_complex ? 2 : 1) * gram.k, gram.bound.exists());
  const Device device = current_device();
  Key key = key_of(gram, options, device.index);
  key.push_back(least_columns);
  const auto make = [&] {
    return std::make_shared<GramProblem>(lay_out_gram(gram, lines_of(gram, options, device, stream), find, least_columns));
  };
  return kept_or_made<GramProblem>(key, make, kMostGrams);
}

void launch(const GramProblem& problem, const Product& gram, const Options& options, char* workspace, const Launching& how) {
  const cudaStream_t stream = how.stream;
  if (problem.kept) problem.kept->launch(gram.a.data, workspace, stream);
  const bool is_complex = gram.type.is_complex, has_real_diagonal = is_complex && options.accuracy == Accuracy::standard;
  const auto launch_block = [&](const GramBlock& block, const Launching& further, bool is_first) {
    const BlockProduct own(gram, block.columns, problem.kept, workspace);
    Options asked = options;
    asked.adds_repaired = options.adds_repaired || !is_first;
    launch(block.product, own.product, asked, workspace + problem.behind, further);
    const auto& [first, last] = block.columns;
    mirror(gram.axes, &Axis::c,
           {gram.c.data, gram.type.part, is_complex, is_complex, gram.c.row_stride, gram.c.column_stride, first, last,
            has_real_diagonal},
           stream);
    if (!gram.bound.exists()) return;
    mirror(gram.axes, &Axis::bound,
           {gram.bound.data, ElementType::float64, is_complex, false, gram.bound.row_stride, gram.bound.column_stride, first,
            last, true},
           stream);
  };
  launch_blocks(problem.blocks, gram.count(), how, launch_block);
  if (how.found != nullptr) how.found->workspace = problem.bytes;
}

GramProblem lay_out_gram(const IntegerSum& gram, const FindIntegers& find, std::int64_t least_columns) {
  GramProblem problem;
  for (const ColumnRange& columns : blocks_of(gram.product.n, false, least_columns)) {
    problem.blocks.push_back({columns, {}, find(part_of(gram, columns))});
    problem.bytes = std::max(problem.bytes, problem.blocks.back().integers->places.bytes);
  }
  return problem;
}

std::shared_ptr<const GramProblem> find_gram(const IntegerSum& gram, const Options& options, std::int64_t least_columns,
                                             cudaStream_t stream) {
  const FindIntegers find = [&](const IntegerSum& block) { return find_problem(block, options, stream); };
  return std::make_shared<GramProblem>(lay_out_gram(gram, find, least_columns));
}

void launch(const GramProblem& problem, const IntegerSum& gram, const Options& options, char* workspace, const Launching& how) {
  const Product& p = gram.product;
  const ResultMatrix& c = p.c;
  const auto launch_block = [&](const GramBlock& block, const Launching& further, bool is_first) {
    launch(*block.integers, part_of(gram, block.columns), options, workspace, further, !is_first);
    const auto& [first, last] = block.columns;
    mirror(p.axes, &Axis::c, {c.data, p.type.part, false, false, c.row_stride, c.column_stride, first, last}, how.stream);
  };
  launch_blocks(problem.blocks, p.count(), how, launch_block);
}

}  // namespace ozfp4::product
