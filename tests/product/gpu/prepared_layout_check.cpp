// Prepared operands on a GPU, products of them and Gram matrices before anything is launched: scale and encode take
// the operand, the stages the product, whatever lies where.
#include <algorithm>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/multiply/registry.hpp"
#include "product/choose.hpp"
#include "product/gpu/gram.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/operand.hpp"
#include "product/gpu/problem.hpp"
#include "product/gpu/products.hpp"

using namespace ozfp4;
using namespace ozfp4::product;

namespace {

constexpr cuda::Gpu kGpu{90, 132, 100 * 1024};

std::shared_ptr<const Plan> plan_of(const Options& options, int precision, std::int64_t inner, bool is_paired) {
  return plan_for(options, precision, inner, is_paired, {{&Alphabet::int8, 1.0}});
}

// One side of the product.
DevicePrepared prepared_side(const Product& p, const Options& options, bool is_left) {
  const std::string name = text_of(p) + (is_left ? " left" : " right");
  const Operand& x = is_left ? p.a : p.b;
  const std::int64_t width = p.type.is_complex ? 2 : 1, lines = is_left ? p.m : p.n;
  const ToPrepare to{p.type, is_left, true, x, is_left ? lines : width * lines, width * p.k, p.type.precision()};
  const std::shared_ptr<const Plan> plan = plan_of(options, p.type.precision(), to.inner, p.type.is_complex);
  const PreparedProblem problem = lay_out(to, options.accuracy, plan, cuda::Kernel::mma_copy, kGpu);
  DevicePrepared made{};
  static_cast<Prepared&>(made) = {p.type, is_left, true, x.rows, x.columns, plan, options.accuracy};
  made.kernel = cuda::Kernel::mma_copy;
  place(made, problem, to, reinterpret_cast<char*>(std::uintptr_t(1) << 30));
  const PreparedPlaces& places = problem.places;
  const std::int64_t bytes = std::max(to.outer * to.inner, x.rows * x.columns) * p.type.part_bytes();
  report("the places of an operand " + name, places.entries == 0 && places.stored >= bytes && places.stored % 256 == 0 &&
                                                 places.scratch > places.stored && places.scratch % 256 == 0 &&
                                                 places.bytes >= places.scratch);
  report("the lines of an operand " + name,
         made.stored.lines * made.stored.matrices == to.outer && made.view.outer == to.outer && made.view.inner == to.inner);
  return made;
}

void check_one(const EntryType& type) {
  Options options;
  constexpr Accuracy accuracies[] = {Accuracy::scaled, Accuracy::standard, Accuracy::correct};
  options.accuracy = accuracies[random_int(0, 2)];
  Product own = random_product(type, false, true);
  own.axes.clear();
  own.k = std::min<std::int64_t>(own.k, 60000);
  place_anywhere(own);
  try {
    const DevicePrepared a = prepared_side(own, options, true), b = prepared_side(own, options, false);
    for (const auto& [has_a, has_b] : {std::make_pair(true, false), {false, true}, {true, true}}) {
      Product product = own;
      product.prepared_a = has_a ? &a : nullptr;
      product.prepared_b = has_b ? &b : nullptr;
      if (has_a && has_b) product.alpha = product.alpha.real();  // neither is multiplied by i
      if (has_a) product.a = {nullptr, own.m, own.k, 0, 0, false};
      if (has_b) product.b = {nullptr, own.k, own.n, 0, 0, false};
      const auto problem = lay_out(product, options, a.plan, cuda::Kernel::mma_copy, kGpu, cuda::WithoutPlanes::never);
      const DevicePlaces& places = problem->places;
      const Copies& copies = problem->copies;
      report("the places of a product " + text_of(own), places.stages % 256 == 0 && places.stages < places.bytes);
      if (has_a && has_b) report("no copies " + text_of(own), !copies.left.exists() && !copies.right.exists());
    }
  } catch (const std::exception& error) {
    report(text_of(own), false, error.what());
  }
}

// C = X X^H.
Product gram_of(const EntryType& type, const Operand& x, char* c) {
  Operand adjoint = transposed(x);
  adjoint.is_conjugated = type.is_complex && !x.is_conjugated;
  return {type, x.rows, x.rows, x.columns, x, adjoint, type, type, {c, x.rows * type.bytes(), type.bytes()}};
}

// Blocks of a Gram matrix, with operands that are lines of one that is kept.
void check_lines() {
  const EntryType type = random_int(0, 1) == 0 ? kD : kS;
  const std::int64_t n = random_int(1, 3000), k = random_int(1, 3000);
  const Operand x = random_operand(type, n, k);
  const std::string name = std::to_string(n) + " x " + std::to_string(k) + " strides " + std::to_string(x.row_stride) + " " +
                           std::to_string(x.column_stride);
  Options options;
  options.accuracy = random_int(0, 1) == 0 ? Accuracy::standard : Accuracy::scaled;
  try {
    const Product gram = gram_of(type, x, nowhere(type.bytes()));
    const Device device{0, kGpu};
    const Chosen chosen{plan_of(options, type.precision(), k, false), cuda::Kernel::mma_copy};
    char* const workspace = reinterpret_cast<char*>(std::uintptr_t(1) << 30);
    const KeptLines kept = KeptLines::of(gram, options, chosen, device);
    if (!report("lines are kept " + name, kept.bytes() % 256 == 0 && kept.bytes() > n * k)) return;
    for (const ColumnRange& columns : gram_blocks(n, 256)) {
      const DevicePrepared left = kept.part(0, columns.last, true, gram.a.data, workspace),
                           right = kept.part(columns.first, columns.last, false, gram.a.data, workspace);
      Product product = part_of(gram, Block{0, columns.last, columns.first, columns.last - columns.first});
      product.prepared_a = &left;
      product.prepared_b = &right;
      const auto problem = lay_out(product, options, chosen.plan, chosen.kernel, kGpu, cuda::WithoutPlanes::never);
      report("a block " + name, problem->places.stages == 0 && problem->places.bytes > 0);
    }
  } catch (const std::exception& error) {
    report(name, false, error.what());
  }
}

// A Gram matrix of n x k, laid out for a device of so much memory.
GramProblem lay_out_gram(std::int64_t n, std::int64_t k, Accuracy accuracy, std::int64_t memory) {
  auto* const at = reinterpret_cast<char*>(std::uintptr_t(4096));
  Options options;
  options.accuracy = accuracy;
  options.workspace_limit = usual_workspace_of(memory);
  const Product gram = gram_of(kD, {at, n, k, k * 8, 8, false}, at);
  const Chosen chosen{plan_of(options, 53, k, false), cuda::Kernel::mma_copy};
  const FindBlock find = [&](const Product& block, std::int64_t behind) {
    Options own = options;
    own.workspace_limit -= behind;
    return lay_out_blocks(block, own, [&](const Product& product, const Options& asked) {
      return lay_out(product, asked, chosen.plan, chosen.kernel, kGpu, cuda::WithoutPlanes::never);
    });
  };
  const KeepLines keep = [&](const Product& lines) { return KeptLines::of(lines, options, chosen, {0, kGpu}); };
  return product::lay_out_gram(gram, options.workspace_limit, keep, find);
}

// All lines are kept where they have room in the usual workspace, else groups of them. Every entry on or above the diagonal is
// multiplied, and lines are kept where they are columns.
void check_grams() {
  struct Gram {
    std::int64_t n, k;
    Accuracy accuracy;
    std::size_t groups;  // on a device of 141, and of 24 GB
    std::size_t groups_of_small;
  };
  constexpr Gram grams[] = {{6144, 512, Accuracy::standard, 1, 1},    {8192, 8192, Accuracy::standard, 1, 1},
                            {16384, 16384, Accuracy::standard, 1, 1}, {39000, 2500, Accuracy::standard, 1, 1},
                            {24576, 24576, Accuracy::standard, 2, 2}, {32768, 32768, Accuracy::standard, 3, 4},
                            {16384, 65536, Accuracy::standard, 3, 4}, {39000, 39000, Accuracy::scaled, 3, 5},
                            {39000, 39000, Accuracy::correct, 4, 6}};
  for (const Gram& own : grams) {
    for (const bool is_small : {false, true}) {
      const std::int64_t memory = is_small ? 24'000'000'000 : 141'000'000'000;
      const std::string name = "a Gram matrix " + std::to_string(own.n) + " x " + std::to_string(own.k) + " accuracy " +
                               std::to_string(static_cast<int>(own.accuracy)) + " memory " + std::to_string(memory);
      try {
        const GramProblem problem = lay_out_gram(own.n, own.k, own.accuracy, memory);
        report(name, problem.groups.size() == (is_small ? own.groups_of_small : own.groups),
               std::to_string(problem.groups.size()));
        report(name + " bytes", problem.bytes <= usual_workspace_of(memory), std::to_string(problem.bytes));
        std::int64_t entries = 0, below = 0;
        for (const GramGroup& group : problem.groups) {
          report(name + " lines", group.kept.has_value());
          for (const GramBlock& block : group.blocks) {
            const auto& [rows, columns] = std::make_pair(block.rows, block.columns);
            entries += (rows.last - rows.first) * (columns.last - columns.first);
            if (rows.last == columns.last) below += (columns.last - columns.first) * (columns.last - columns.first - 1) / 2;
            report(name + " block", group.kept->bytes() + block.product.bytes <= problem.bytes && columns.first >= group.first &&
                                        (rows.first == group.first || rows.last == group.first));
          }
        }
        report(name + " entries", entries - below == own.n * (own.n + 1) / 2);
        const GramBlock& first = problem.groups.front().blocks.front();
        report(name + " first block", first.columns.last == own.n &&
                                          (first.rows.last == own.n || first.rows.last == first.columns.first) &&
                                          first.rows.first == 0);
      } catch (const std::exception& error) {
        report(name, false, error.what());
      }
    }
  }
}

}  // namespace

int main() {
  check_grams();
  for (int i = 0; i < 75; ++i) {
    for (const EntryType& type : kTypes) check_one(type);
  }
  for (int i = 0; i < 60; ++i) check_lines();
  return finish();
}
