// What ozfp4_cuda_prepare and products of what it makes come to before anything is launched: scale and encode take the operand,
// the stages the product, in memory and in a workspace that are as large as the queries say, whatever lies where.
#include <algorithm>
#include <string>
#include <vector>

#include "c_api/checked/gram.hpp"
#include "c_api/checked/prepared.hpp"
#include "c_api/cuda/call.hpp"
#include "check.hpp"
#include "cuda/multiply/registry.hpp"
#include "product/choose.hpp"
#include "product/cpu/product.hpp"
#include "product/gpu/gram.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/lines.hpp"
#include "product/gpu/operand.hpp"
#include "product/gpu/problem.hpp"

using namespace ozfp4;
using namespace ozfp4::c_api;

namespace {

constexpr ozfp4_type kTypes[] = {OZFP4_FLOAT64, OZFP4_FLOAT32, OZFP4_COMPLEX128, OZFP4_COMPLEX64};
constexpr cuda::Gpu kGpu{90, 132, 100 * 1024};

struct Extents {
  std::int64_t m, n, k;
};

struct Case {
  ozfp4_type type;
  int order, transa, transb;
  Extents extents;
  Accuracy accuracy;

  std::string text() const {
    std::string text;
    for (const std::int64_t x : {std::int64_t(type), std::int64_t(order), std::int64_t(transa), std::int64_t(transb), extents.m,
                                 extents.n, extents.k, static_cast<std::int64_t>(accuracy)}) {
      text += std::to_string(x) + " ";
    }
    return text;
  }
};

Case random_case() {
  const auto transpose = [] { return random_int(int(OZFP4_NO_TRANS), int(OZFP4_CONJ_TRANS)); };
  const auto extent = [] { return std::int64_t(random_int(0, 3) == 0 ? random_int(1, 1500) : random_int(1, 80)); };
  constexpr Accuracy accuracies[] = {Accuracy::scaled, Accuracy::standard, Accuracy::correct};
  return {kTypes[random_int(0, 3)],
          random_int(int(OZFP4_ROW_MAJOR), int(OZFP4_COL_MAJOR)),
          transpose(),
          transpose(),
          {extent(), extent(), random_int(0, 3) == 0 ? random_int(1, 60000) : extent()},
          accuracies[random_int(0, 2)]};
}

std::int64_t least_leading(int order, int transpose, std::int64_t rows, std::int64_t columns) {
  return std::max<std::int64_t>((order == OZFP4_ROW_MAJOR) == (transpose == OZFP4_NO_TRANS) ? columns : rows, 1);
}

// One side of the case, its matrix `gap` entries from line to line more than it needs.
DevicePrepared prepared_side(const Case& own, const CallOptions& options, bool is_a, std::int64_t gap, std::int64_t* bytes) {
  const auto [m, n, k] = own.extents;
  const std::int64_t rows = is_a ? m : k, columns = is_a ? k : n;
  const int trans = is_a ? own.transa : own.transb;
  const PrepareCall call{own.type,
                         is_a ? OZFP4_LEFT : OZFP4_RIGHT,
                         own.order,
                         trans,
                         rows,
                         columns,
                         reinterpret_cast<const char*>(std::uintptr_t(4096)),
                         least_leading(own.order, trans, rows, columns) + gap};
  const ToPrepare to = check_prepare(call, options);
  const std::shared_ptr<const Plan> plan =
      plan_for(options, to.type.precision(), to.inner, to.type.is_complex, {{&Alphabet::int8, 1.0}});
  const PreparedProblem problem = lay_out(to, options.accuracy, plan, cuda::Kernel::mma_copy, kGpu);
  DevicePrepared made{};
  static_cast<Prepared&>(made) = {to.type, to.is_left, to.is_row_major, rows, columns, plan, options.accuracy};
  made.kernel = cuda::Kernel::mma_copy;
  place(made, problem, reinterpret_cast<char*>(std::uintptr_t(1) << 30));
  const PreparedPlaces& places = problem.places;
  const std::int64_t lines = std::max(to.outer * to.inner, rows * columns) * to.type.part_bytes();
  report("the places of an operand " + own.text(), places.entries == 0 && places.stored >= lines && places.stored % 256 == 0 &&
                                                       places.scratch > places.stored && places.scratch % 256 == 0 &&
                                                       places.bytes >= places.scratch);
  report("the lines of an operand " + own.text(),
         made.stored.lines * made.stored.matrices == to.outer && made.view.outer == to.outer && made.view.inner == to.inner);
  *bytes = places.bytes;
  return made;
}

GemmCall call_of(const Case& own, bool has_a, bool has_b) {
  const double one[2] = {1, 0};
  const float single[2] = {1, 0};
  const auto [m, n, k] = own.extents;
  GemmCall call{float_type("type", own.type), own.order, own.transa, own.transb, m, n, k, 1.0, 0.0, {nullptr, 0, 0, has_a},
                {nullptr, 0, 0, has_b},       nullptr,   0,          0,          1};
  const bool is_double = call.type.part == ElementType::float64;
  call.alpha = check_factor("alpha", is_double ? static_cast<const void*>(one) : single, call.type);
  place_anywhere(call);
  return call;
}

// The same with whatever a program may pass.
GemmCall varied(GemmCall call, bool may_turn) {
  const auto place = [&] { return reinterpret_cast<char*>(std::uintptr_t(4096 + random_int(0, 4) * call.type.bytes())); };
  for (GivenMatrix* given : {&call.a, &call.b}) {
    if (given->is_prepared) continue;
    given->data = place();
    given->leading += random_int(0, 5);
  }
  call.c = place();
  call.ldc += random_int(0, 5);
  const double factors[] = {0.0, 1.0, -0.5};
  call.alpha = factors[random_int(0, 2)];
  if (may_turn && call.type.is_complex && random_int(0, 1) == 1) call.alpha *= std::complex<double>(0, 1);
  call.beta = factors[random_int(0, 2)];
  return call;
}

void check_products(const Case& own, const CallOptions& options, const DevicePrepared& a, const DevicePrepared& b) {
  for (const auto& [has_a, has_b] : {std::make_pair(true, false), {false, true}, {true, true}}) {
    const DevicePrepared *made_a = has_a ? &a : nullptr, *made_b = has_b ? &b : nullptr;
    const PreparedSides sides = own.order == OZFP4_ROW_MAJOR ? PreparedSides{made_a, made_b} : PreparedSides{made_b, made_a};
    const auto laid_out = [&](const BatchedProduct& product) {
      return lay_out(product, options, sides.any()->plan, cuda::Kernel::mma_copy, kGpu, cuda::Direct::never, sides)->places;
    };
    const GemmCall call = call_of(own, has_a, has_b);
    std::int64_t most = 0;
    for (const BatchedProduct& product : widest(call, options)) {
      if (product.alpha.imag() == 0 || sides.left == nullptr) most = std::max(most, laid_out(product).bytes);
    }
    for (int i = 0; i < 4; ++i) {
      const DevicePlaces places = laid_out(check_device_gemm(varied(call, sides.left == nullptr), options));
      report("the workspace " + own.text(), places.bytes <= most, std::to_string(places.bytes) + " of " + std::to_string(most));
      if (has_a && has_b) report("no copies " + own.text(), places.left == places.stages || places.zero < places.left);
    }
  }
}

void check_one() {
  const Case own = random_case();
  CallOptions options;
  options.accuracy = own.accuracy;
  try {
    std::int64_t bytes_a = 0, bytes_b = 0, wide_a = 0, wide_b = 0;
    prepared_side(own, options, true, random_int(1, 9), &wide_a);
    prepared_side(own, options, false, random_int(1, 9), &wide_b);
    const DevicePrepared a = prepared_side(own, options, true, 0, &bytes_a);
    const DevicePrepared b = prepared_side(own, options, false, 0, &bytes_b);
    const auto [m, n, k] = own.extents;
    if (m > 1 && k > 1) report("the memory of A " + own.text(), bytes_a == wide_a);
    if (n > 1 && k > 1) report("the memory of B " + own.text(), bytes_b == wide_b);
    check_products(own, options, a, b);
  } catch (const std::exception& error) {
    report(own.text(), false, error.what());
  }
}

// Blocks of a Gram matrix, whose operands are lines of one that is kept.
void check_lines() {
  constexpr ElementType parts[] = {ElementType::float64, ElementType::float32};
  const std::int64_t n = random_int(1, 3000), k = random_int(1, 3000), gap = random_int(0, 3);
  const EntryType type{parts[random_int(0, 1)], false};
  const int transpose = random_int(0, 1) == 0 ? OZFP4_NO_TRANS : OZFP4_TRANS;
  const std::string name = std::to_string(n) + " x " + std::to_string(k) + " gap " + std::to_string(gap) + " " +
                           std::to_string(transpose) + " " + std::to_string(type.bytes());
  CallOptions options;
  options.accuracy = random_int(0, 1) == 0 ? Accuracy::standard : Accuracy::scaled;
  try {
    const auto place = [&] { return reinterpret_cast<char*>(std::uintptr_t(4096 + random_int(0, 4) * type.bytes())); };
    const MatrixProduct gram = check_gram(
        {type, OZFP4_ROW_MAJOR, transpose, n, k, place(), (transpose == OZFP4_NO_TRANS ? k : n) + gap, place(), n}, options);
    const Device device{0, kGpu};
    const Chosen chosen{plan_for(options, type.precision(), k, false, {{&Alphabet::int8, 1.0}}), cuda::Kernel::mma_copy};
    char* const workspace = reinterpret_cast<char*>(std::uintptr_t(1) << 30);
    const std::optional<KeptLines> kept = KeptLines::of(gram, options, chosen, device);
    if (!report("lines are kept " + name, kept && kept->bytes() % 256 == 0 && kept->bytes() > n * k)) return;
    for (const ColumnRange& columns : gram_blocks(n, 256)) {
      const DevicePrepared left = kept->part(0, columns.last, true, gram.a.data, workspace),
                           right = kept->part(columns.first, columns.last, false, gram.a.data, workspace);
      const BatchedProduct product{part_of(gram, columns)};
      const auto problem =
          lay_out(product, options, chosen.plan, chosen.kernel, kGpu, cuda::Direct::never, PreparedSides{&left, &right});
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
  auto* const nowhere = reinterpret_cast<char*>(std::uintptr_t(4096));
  CallOptions options;
  options.accuracy = accuracy;
  const MatrixProduct gram = check_gram({kD, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, n, k, nowhere, k, nowhere, n}, options);
  const Chosen chosen{plan_for(options, 53, k, false, {{&Alphabet::int8, 1.0}}), cuda::Kernel::mma_copy};
  const FindBlock find = [&](const BatchedProduct& block, const PreparedSides& sides) {
    return lay_out(block, options, chosen.plan, chosen.kernel, kGpu, cuda::Direct::never, sides);
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
        report(name + " block", problem.behind + block.problem->places.bytes <= bytes);
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
  for (int i = 0; i < 300; ++i) check_one();
  for (int i = 0; i < 60; ++i) check_lines();
  return finish();
}
