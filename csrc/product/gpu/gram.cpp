#include "product/gpu/gram.hpp"

#include <algorithm>
#include <utility>

#include "arith/multiples.hpp"
#include "cuda/elementwise/matrices.hpp"
#include "product/choose.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/numbering.hpp"

namespace ozfp4::product {
namespace {

// Where planes of A are made anew for each block there are few, else they are as narrow as the kernels multiply well.
constexpr std::int64_t kBlocks = 4, kLeastColumns = 1024;

constexpr std::int64_t kMostGroups = 16;    // of lines that are kept
constexpr std::int64_t kLineMultiple = 64;  // of the first one of a group, see lines_of
constexpr std::size_t kMostGrams = 256;     // of blocks, each of which is a problem

bool has_blocks(std::int64_t n, std::int64_t least_columns) { return n >= kLeastGramExtent || least_columns != 0; }

// The largest first.
std::vector<ColumnRange> blocks_of(std::int64_t n, bool keeps, std::int64_t least_columns) {
  const std::int64_t least = least_columns != 0 ? least_columns : keeps ? kLeastColumns : n / kBlocks;
  std::vector<ColumnRange> blocks = gram_blocks(n, has_blocks(n, least_columns) ? least : std::max<std::int64_t>(n, 1));
  std::reverse(blocks.begin(), blocks.end());
  return blocks;
}

// The product of the columns' lines and of those before, down to the diagonal.
ColumnRange down_to_diagonal(const ColumnRange& columns) { return {0, columns.last}; }

// A block as a product, by the lines of its group that are kept: on the right, and on the left where its rows are among them.
struct BlockProduct {
  Product product;
  DevicePrepared left{}, right{};

  BlockProduct(const Product& gram, const GramGroup& group, const GramBlock& block, char* workspace)
      : product(part_of(gram, block.place())) {
    if (!group.kept) return;
    const char* const data = line_of(gram, group.first);
    const auto part = [&](const ColumnRange& lines, bool is_left) {
      return group.kept->part(lines.first - group.first, lines.last - group.first, is_left, data, workspace);
    };
    right = part(block.columns, false);
    product.prepared_b = &right;
    if (block.rows.first < group.first) return;
    left = part(block.rows, true);
    product.prepared_a = &left;
  }
  BlockProduct(const BlockProduct&) = delete;

  static const char* line_of(const Product& gram, std::int64_t line) { return gram.a.data + line * gram.a.row_stride; }
};

std::int64_t behind(const GramGroup& group) { return group.kept ? group.kept->bytes() : 0; }

void add_block(GramProblem& problem, GramGroup& group, const Product& gram, const ColumnRange& rows, const ColumnRange& columns,
               const FindBlock& find) {
  GramBlock block{rows, columns, {}, nullptr};
  const BlockProduct own(gram, group, block, nullptr);
  block.product = find(own.product, behind(group));
  problem.bytes = std::max(problem.bytes, behind(group) + block.product.bytes);
  group.blocks.push_back(std::move(block));
}

GramProblem without_lines(const Product& gram, const FindBlock& find, std::int64_t least_columns) {
  GramProblem problem;
  GramGroup group;
  for (const ColumnRange& columns : blocks_of(gram.n, false, least_columns)) {
    add_block(problem, group, gram, down_to_diagonal(columns), columns, find);
  }
  problem.groups.push_back(std::move(group));
  return problem;
}

// Groups of `width` lines or less.
GramProblem with_lines(const Product& gram, std::int64_t width, const KeepLines& keep, const FindBlock& find,
                       std::int64_t least_columns) {
  GramProblem problem;
  for (std::int64_t first = (ceil_div(gram.n, width) - 1) * width; first >= 0; first -= width) {
    const std::int64_t count = std::min(width, gram.n - first);
    GramGroup group;
    group.first = first;
    group.kept = keep(part_of(gram, Block{first, count, first, count}));
    if (first > 0) add_block(problem, group, gram, {0, first}, {first, first + count}, find);
    for (const ColumnRange& columns : blocks_of(count, true, least_columns)) {
      add_block(problem, group, gram, {first, first + columns.last}, {first + columns.first, first + columns.last}, find);
    }
    problem.groups.push_back(std::move(group));
  }
  return problem;
}

// Whether planes of A may be kept for all blocks.
bool may_keep_lines(const Product& gram, const Options& options) {
  return !gram.type.is_complex && !options.has_limit && gram.reads() && gram.axes.empty();
}

// Every line of the operand is one of the rows of the first block, or of the columns behind them.
void add_findings(DeviceFindings& found, const DeviceFindings& block, const Block& at, std::int64_t matrices, bool is_first) {
  if (is_first) {
    found = block;
    if (at.row + at.rows == at.column) found.special_rows += block.special_columns;
  } else {
    found.listed += block.listed;
    found.exact += block.exact;
    found.moduli_used = std::max(found.moduli_used, block.moduli_used);
    found.workspace = std::max(found.workspace, block.workspace);
  }
  found.entries += matrices * at.rows * at.columns;
}

// Launches every block of a group by launch_block(block, how, whether it is the first of all).
template <class Launch>
void launch_blocks(const GramGroup& group, std::int64_t matrices, const Launching& how, bool has_first,
                   const Launch& launch_block) {
  for (const GramBlock& block : group.blocks) {
    const bool is_first = has_first && &block == &group.blocks.front();
    DeviceFindings own;
    Launching further = how;
    if (how.found != nullptr) further.found = &own;
    launch_block(block, further, is_first);
    if (how.found != nullptr) add_findings(*how.found, own, block.place(), matrices, is_first);
  }
}

// Mirrors a matrix of each place of a stack with the steps `own`.
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

GramProblem lay_out_gram(const Product& gram, std::int64_t limit, const KeepLines& keep, const FindBlock& find,
                         std::int64_t least_columns) {
  for (std::int64_t groups = 1; keep && groups <= kMostGroups; ++groups) {
    const std::int64_t width = round_up(ceil_div(gram.n, groups), kLineMultiple);
    if (keep(part_of(gram, Block{0, std::min(width, gram.n), 0, std::min(width, gram.n)})).bytes() >= limit) continue;
    GramProblem problem = with_lines(gram, width, keep, find, least_columns);
    if (problem.bytes <= limit) return problem;
  }
  return without_lines(gram, find, least_columns);
}

std::shared_ptr<const GramProblem> find_gram(const Product& gram, const Options& options, std::int64_t least_columns,
                                             cudaStream_t stream) {
  const FindBlock find = [&](const Product& block, std::int64_t behind) {
    Options own = options;
    own.workspace_limit -= behind;
    return find_blocks(block, own, stream);
  };
  const std::int64_t limit = options.workspace_limit;
  if (!has_blocks(gram.n, least_columns)) return std::make_shared<GramProblem>(lay_out_gram(gram, limit, nullptr, find));
  check_inner(options, (gram.type.is_complex ? 2 : 1) * gram.k, gram.bound.exists());
  const Device device = current_device();
  Key key = key_of(gram, options, device.index);
  key.push_back(least_columns);
  const auto make = [&] {
    KeepLines keep;
    if (may_keep_lines(gram, options)) {
      keep = [&, chosen = choose(options, gram.type.precision(), {gram.k}, false, device, stream)](const Product& lines) {
        return KeptLines::of(lines, options, chosen, device);
      };
    }
    return std::make_shared<GramProblem>(lay_out_gram(gram, limit, keep, find, least_columns));
  };
  return kept_or_made<GramProblem>(key, make, kMostGrams);
}

void launch(const GramProblem& problem, const Product& gram, const Options& options, char* workspace, const Launching& how) {
  const cudaStream_t stream = how.stream;
  const bool is_complex = gram.type.is_complex, has_real_diagonal = is_complex && options.accuracy == Accuracy::standard;
  for (const GramGroup& group : problem.groups) {
    if (group.kept) group.kept->launch(BlockProduct::line_of(gram, group.first), workspace, stream);
    const auto launch_block = [&](const GramBlock& block, const Launching& further, bool is_first) {
      const BlockProduct own(gram, group, block, workspace);
      Options asked = options;
      asked.adds_repaired = options.adds_repaired || !is_first;
      launch(block.product, own.product, asked, workspace + behind(group), further);
      const auto& [first, last] = block.columns;
      if (block.rows.last == first) return;  // its image comes with those of the diagonal below it
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
    launch_blocks(group, gram.count(), how, &group == &problem.groups.front(), launch_block);
  }
  if (how.found != nullptr) how.found->workspace = problem.bytes;
}

GramProblem lay_out_gram(const IntegerSum& gram, const FindIntegers& find, std::int64_t least_columns) {
  GramProblem problem;
  GramGroup group;
  for (const ColumnRange& columns : blocks_of(gram.product.n, false, least_columns)) {
    GramBlock block{down_to_diagonal(columns), columns, {}, nullptr};
    block.integers = find(part_of(gram, block.place()));
    problem.bytes = std::max(problem.bytes, block.integers->places.bytes);
    group.blocks.push_back(std::move(block));
  }
  problem.groups.push_back(std::move(group));
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
    launch(*block.integers, part_of(gram, block.place()), options, workspace, further, !is_first);
    const auto& [first, last] = block.columns;
    mirror(p.axes, &Axis::c, {c.data, p.type.part, false, false, c.row_stride, c.column_stride, first, last}, how.stream);
  };
  launch_blocks(problem.groups.front(), p.count(), how, true, launch_block);
}

}  // namespace ozfp4::product
