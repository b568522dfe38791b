#include "product/gpu/sum.hpp"

#include <algorithm>
#include <optional>

#include "arith/multiples.hpp"
#include "cuda/elementwise/matrices.hpp"
#include "cuda/places.hpp"
#include "plan/cuts.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/numbering.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

constexpr std::int64_t kBound = 2 * sizeof(double);  // of an entry

// Bytes of A B of a matrix, and of its bounds.
std::int64_t held_bytes(const Product& p) { return size_of({p.m, p.n, p.type.bytes()}); }
std::int64_t bound_bytes(const Product& p) { return size_of({p.m, p.n, kBound}); }

ResultMatrix rows_at(const Product& p, char* data, std::int64_t entry) {
  return {data, static_cast<std::ptrdiff_t>(p.n * entry), static_cast<std::ptrdiff_t>(entry)};
}

// A B, one matrix behind the other; what it differs by from `less` where that is not null. `lost`: where its bounds go, or null.
Product alone_of(const Product& p, char* data, char* less, char* lost) {
  Product alone = p;
  alone.alpha = 1.0;
  alone.beta = less != nullptr ? -1.0 : 0.0;
  alone.c = rows_at(p, data, p.type.bytes());
  alone.addend = less != nullptr ? rows_at(p, less, p.type.bytes()) : ResultMatrix{};
  alone.addend_part = p.type.part;
  alone.upper = {};
  alone.bound = lost != nullptr ? rows_at(p, lost, kBound) : ResultMatrix{};
  const Numbering numbers(p.axes, &Axis::c);
  for (std::size_t i = 0; i < p.axes.size(); ++i) {
    const std::int64_t step = numbers.step(i);
    Axis& axis = alone.axes[i];
    axis.c = axis.addend = step * held_bytes(p);
    axis.bound = step * bound_bytes(p);
  }
  return alone;
}

// Whether A B is the sum of two numbers.
bool keeps_rest(const Product& p, const Options& options) {
  return both_parts_entry_bytes(p.type, options.accuracy, p.k) > p.type.bytes();
}

SumPlaces places_of(const Product& p, const Options& options) {
  SumPlaces places;
  PlaceCount count;
  const std::int64_t matrices = p.count();
  places.product = count.take(size_of({matrices, held_bytes(p)}));
  places.rest = count.take(keeps_rest(p, options) ? size_of({matrices, held_bytes(p)}) : 0);
  places.lost = count.take(p.bound.exists() ? size_of({matrices, bound_bytes(p)}) : 0);
  places.stages = count.bytes;
  return places;
}

// A B, and what is left of it, at `workspace`; the bounds are those of the last one.
Product product_in(const Product& p, const SumPlaces& places, bool has_rest, char* workspace) {
  return alone_of(p, workspace + places.product, nullptr, p.bound.exists() && !has_rest ? workspace + places.lost : nullptr);
}
Product rest_in(const Product& p, const SumPlaces& places, char* workspace) {
  return alone_of(p, workspace + places.rest, workspace + places.product, p.bound.exists() ? workspace + places.lost : nullptr);
}

void launch_sums(const DeviceSum& sum, const Product& p, char* workspace, cudaStream_t stream) {
  const SumPlaces& places = sum.places;
  Numbering(p.axes, &Axis::c).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    const auto matrices = [](const ResultMatrix& x, std::ptrdiff_t Axis::* own, ElementType part, const Axis& from,
                             const Axis& to) {
      return x.exists() ? StridedMatrices{x.data + from.*own, part, x.row_stride, x.column_stride, to.*own} : StridedMatrices{};
    };
    ComplexMatrixSum own;
    own.extents = {along.extent, p.m, p.n};
    own.c = matrices(p.c, &Axis::c, p.type.part, offset, along);
    if (p.beta != 0.0) own.addend = matrices(p.addend, &Axis::addend, p.addend_part, offset, along);
    own.bound = matrices(p.bound, &Axis::bound, ElementType::float64, offset, along);
    if (sum.product) own.product = workspace + places.product + first * held_bytes(p);
    if (sum.rest) own.rest = workspace + places.rest + first * held_bytes(p);
    if (sum.product && p.bound.exists()) own.lost = workspace + places.lost + first * bound_bytes(p);
    own.alpha[0] = p.alpha.real(), own.alpha[1] = p.alpha.imag();
    own.beta[0] = p.beta.real(), own.beta[1] = p.beta.imag();
    launch_sum(own, stream);
  });
}

// Bytes of A B before the sum for each entry of the result; 0 where it is not kept.
std::int64_t sum_entry_bytes(const Product& p, const Options& options) {
  if (!has_both_parts(p) || !p.reads()) return 0;
  return p.count() * (both_parts_entry_bytes(p.type, options.accuracy, p.k) + (p.bound.exists() ? kBound : 0));
}

// ---- Blocks of complex matrices ----

constexpr std::int64_t kWholeTiles = 256;  // rows or columns of a block are a multiple
constexpr std::int64_t kLeastLines = 64;   // of a block, where no limit is given
constexpr double kCopiedBytes = 2e6;       // of copies, which are read, too, that an H200 makes in a microsecond
constexpr int kParts[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32}, kMostParts = 32;  // of the rows, and of the columns

// The time of a sum by the models.
double microseconds_of(const DeviceSum& sum) {
  double microseconds = 0;
  for (const DeviceProblem* problem : {sum.product.get(), sum.rest.get()}) {
    if (problem == nullptr) continue;
    microseconds += static_cast<double>(problem->places.stages) / kCopiedBytes + problem->layout.microseconds;
  }
  return microseconds;
}

// The extents of the fastest blocks with a workspace within the limit. Each block scales and encodes its lines anew; larger ones
// have more copies, which leave the stages less. Where copies are few, the whole product is one block. Where no such blocks are
// found, copies take half of the limit or less, if those of a row and a column do.
Extents extents_of_blocks(const Product& p, const Options& options, const FindProblem& find) {
  CopyBytes bytes = copy_bytes(p);
  bytes.entry += sum_entry_bytes(p, options);
  const auto copied = [&](const Extents& block) {
    const auto rows = static_cast<double>(block.rows), columns = static_cast<double>(block.columns);
    return rows * static_cast<double>(bytes.row) + columns * static_cast<double>(bytes.column) +
           rows * columns * static_cast<double>(bytes.entry);
  };
  const auto limit = static_cast<double>(options.workspace_limit);
  if (copied({p.m, p.n}) <= limit / 8) return {p.m, p.n};
  const bool cuts_rows = !bytes.has_whole_rows && bytes.row + bytes.entry > 0;
  const bool cuts_columns = !bytes.has_whole_columns && bytes.column + bytes.entry > 0;
  const auto part = [](std::int64_t extent, int count) {
    return std::min(extent, round_up(ceil_div(extent, count), kWholeTiles));
  };
  Options asked = options;
  asked.has_limit = true;
  std::optional<Extents> best;
  double least = 0;
  for (const int of_rows : kParts) {
    for (const int of_columns : kParts) {
      if ((of_rows > 1 && !cuts_rows) || (of_columns > 1 && !cuts_columns)) continue;
      const Extents own{part(p.m, of_rows), part(p.n, of_columns)};
      if (copied(own) > limit / 2) continue;
      try {
        const DeviceSum sum = lay_out_sum(part_of(p, {0, own.rows, 0, own.columns}), asked, find);
        const double blocks = static_cast<double>(p.m) / own.rows * static_cast<double>(p.n) / own.columns;
        const double microseconds = blocks * microseconds_of(sum);
        if (!best || microseconds < least) best = own, least = microseconds;
      } catch (const WorkspaceError&) {
      }
    }
  }
  if (best) return *best;
  const Extents cut = cut_for_copies(p.m, p.n, bytes, options.workspace_limit / 2);
  // A stack's blocks are of all its matrices. Narrow ones would take much longer, which memory without a limit is not worth.
  const bool is_narrow = cut.rows < std::min(p.m, kLeastLines) || cut.columns < std::min(p.n, kLeastLines);
  if (options.has_limit || !is_narrow) return cut;
  return {cuts_rows ? part(p.m, kMostParts) : p.m, cuts_columns ? part(p.n, kMostParts) : p.n};
}

}  // namespace

DeviceSum lay_out_sum(const Product& p, const Options& options, const FindProblem& find) {
  DeviceSum sum;
  if (!has_both_parts(p)) {
    sum.product = find(p, options);
    sum.places.bytes = sum.product->places.bytes;
    return sum;
  }
  if (!p.reads()) return sum;
  sum.places = places_of(p, options);
  const auto found = [&](const Product& alone) {
    const auto problem = lay_out_behind(sum.places.stages, options, [&](std::int64_t left) {
      Options own = options;
      own.workspace_limit = left;
      return find(alone, own);
    });
    sum.places.bytes = std::max(sum.places.bytes, sum.places.stages + problem->places.bytes);
    return problem;
  };
  const bool has_rest = keeps_rest(p, options);
  sum.product = found(product_in(p, sum.places, has_rest, nowhere()));
  if (has_rest) sum.rest = found(rest_in(p, sum.places, nowhere()));
  return sum;
}

void launch(const DeviceSum& sum, const Product& p, const Options& options, char* workspace, const Launching& how, bool adds) {
  if (!has_both_parts(p)) return launch(*sum.product, p, options, workspace, how, adds);
  char* const stages = workspace + sum.places.stages;
  if (sum.product) launch(*sum.product, product_in(p, sum.places, sum.rest != nullptr, workspace), options, stages, how, adds);
  Launching further = how;
  further.found = nullptr;  // the operands are those of the product
  if (sum.rest) launch(*sum.rest, rest_in(p, sum.places, workspace), options, stages, further, true);
  if (!sum.product) {
    current_device();  // refuses where there is none: no problem was looked for
    if (options.repaired != nullptr && !adds) store_no_repairs(options, how.stream);
  }
  launch_sums(sum, p, workspace, how.stream);
}

DeviceBlocks lay_out_blocks(const Product& p, const Options& options, const FindProblem& find) {
  DeviceBlocks found;
  const Extents extents = p.type.is_complex ? extents_of_blocks(p, options, find) : Extents{p.m, p.n};
  for (std::int64_t row = 0; row < p.m; row += extents.rows) {
    for (std::int64_t column = 0; column < p.n; column += extents.columns) {
      const Block at{row, std::min(extents.rows, p.m - row), column, std::min(extents.columns, p.n - column)};
      found.blocks.push_back({at, lay_out_sum(part_of(p, at), options, find)});
      found.bytes = std::max(found.bytes, found.blocks.back().sum.places.bytes);
    }
  }
  return found;
}

DeviceBlocks find_blocks(const Product& p, const Options& options, cudaStream_t stream) {
  return lay_out_blocks(p, options, [&](const Product& own, const Options& asked) { return find_problem(own, asked, stream); });
}

void launch(const DeviceBlocks& found, const Product& p, const Options& options, char* workspace, const Launching& how) {
  if (how.found != nullptr && !found.blocks.empty()) {
    how.found->workspace = found.bytes;
    if (const auto& problem = found.blocks.front().sum.product) describe(*problem, found.bytes, *how.found);
  }
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
