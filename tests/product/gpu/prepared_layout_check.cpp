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

// Blocks of a Gram matrix, whose operands are lines of one that is kept.
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
    const std::optional<KeptLines> kept = KeptLines::of(gram, options, chosen, device);
    if (!report("lines are kept " + name, kept && kept->bytes() % 256 == 0 && kept->bytes() > n * k)) return;
    for (const ColumnRange& columns : gram_blocks(n, 256)) {
      const DevicePrepared left = kept->part(0, columns.last, true, gram.a.data, workspace),
                           right = kept->part(columns.first, columns.last, false, gram.a.data, workspace);
      Product product = part_of(gram, columns);
      product.prepared_a = &left;
      product.prepared_b = &right;
      const auto problem = lay_out(product, options, chosen.plan, chosen.kernel, kGpu, cuda::WithoutPlanes::never);
      report("a block " + name, problem->places.stages == 0 && problem->places.bytes > 0);
    }
  } catch (const std::exception& error) {
    report(name, false, error.what());
  }
}

// A Gram matrix of n x k, laid out, and its bytes without lines that are kept.
struct LaidOutGram {
  GramProblem problem;
  std::int64_t plain;
};

LaidOutGram lay_out_gram(std::int64_t n, std::int64_t k, Accuracy accuracy) {
  auto* const at = reinterpret_cast<char*>(std::uintptr_t(4096));
  Options options;
  options.accuracy = accuracy;
  const Product gram = gram_of(kD, {at, n, k, k * 8, 8, false}, at);
  const Chosen chosen{plan_of(options, 53, k, false), cuda::Kernel::mma_copy};
  const FindBlock find = [&](const Product& block) {
    DeviceSum sum;
    sum.product = lay_out(block, options, chosen.plan, chosen.kernel, kGpu, cuda::WithoutPlanes::never);
    return DeviceBlocks{{{{0, block.m, 0, block.n}, sum}}, sum.product->places.bytes};
  };
  const std::optional<KeptLines> lines = KeptLines::of(gram, options, chosen, {0, kGpu});
  return {product::lay_out_gram(gram, lines, find), product::lay_out_gram(gram, std::nullopt, find).bytes};
}

// Lines are kept where that takes less, or all of it little.
void check_grams() {
  constexpr std::int64_t small = std::int64_t(1) << 34;
  struct Gram {
    std::int64_t n, k;
    Accuracy accuracy;
    bool is_kept;
  };
  constexpr Gram grams[] = {{6144, 512, Accuracy::standard, true},    {8192, 8192, Accuracy::standard, true},
                            {16384, 16384, Accuracy::standard, true}, {39000, 2500, Accuracy::standard, true},
                            {32768, 32768, Accuracy::standard, true}, {39000, 39000, Accuracy::standard, true},
                            {16384, 65536, Accuracy::standard, true}, {39000, 39000, Accuracy::scaled, true},
                            {39000, 39000, Accuracy::correct, true},  {60000, 60000, Accuracy::scaled, false}};
  for (const Gram& own : grams) {
    const std::string name = "a Gram matrix " + std::to_string(own.n) + " x " + std::to_string(own.k) + " accuracy " +
                             std::to_string(static_cast<int>(own.accuracy));
    try {
      const auto [problem, plain] = lay_out_gram(own.n, own.k, own.accuracy);
      const std::int64_t bytes = problem.bytes;
      report(name, problem.kept.has_value() == own.is_kept, std::to_string(bytes) + " and " + std::to_string(plain));
      report(name + " bytes", own.is_kept ? bytes <= small || bytes <= plain + plain / 4 : bytes == plain,
             std::to_string(bytes) + " and " + std::to_string(plain));
      std::int64_t columns = 0;
      for (const GramBlock& block : problem.blocks) {
        columns += block.columns.last - block.columns.first;
        report(name + " block", problem.behind + block.product.bytes <= bytes);
      }
      report(name + " columns", columns == own.n && problem.blocks.front().columns.last == own.n);
    } catch (const std::exception& error) {
      report(name, false, error.what());
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
