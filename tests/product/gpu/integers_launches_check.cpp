// The launches of sums and Gram matrices of integers give the bits of a CPU, with kernels that run there. Tested are the copies
// that are made, where they lie, and how they are combined. Functions on memory of the host replace the launches.
#include "arith/modulo.hpp"
#include "cuda/elementwise/matrices.hpp"
#include "plan/choice.hpp"
#include "product/choose.hpp"
#include "product/gpu/gram.hpp"
#include "product/gpu/on_host.hpp"

namespace ozfp4::cuda {
namespace {

std::uint64_t word_at(const StridedMatrices& x, std::int64_t matrix, std::int64_t row, std::int64_t column) {
  const char* const at = x.data + matrix * x.matrix_stride + row * x.row_stride + column * x.column_stride;
  return with_integer(x.type, [&](auto zero) { return static_cast<std::uint64_t>(load<decltype(zero)>(at)); });
}

}  // namespace

void launch_widen(const IntegerLines& from, char* to, cudaStream_t) {
  for (std::int64_t at = 0; at < from.matrices * from.lines * from.entries; ++at, to += 8) {
    const std::int64_t line = at / from.entries, matrix = line / from.lines;
    const char* const own =
        from.data + matrix * from.matrix_stride + line % from.lines * from.line_stride + at % from.entries * from.entry_stride;
    with_integer(from.type, [&](auto zero) {
      const auto x = load<decltype(zero)>(own);
      store(to, from.modulus == 0 ? static_cast<std::int64_t>(x) : nearest_residue(x, from.modulus));
    });
  }
}

void launch_combine(const IntegerMatrixSum& sum, cudaStream_t, Stage) {
  const auto& [matrices, rows, columns] = sum.extents;
  for (std::int64_t at = 0; at < matrices * rows * columns; ++at) {
    const std::int64_t matrix = at / (rows * columns), row = at / columns % rows, column = at % columns;
    std::uint64_t word = sum.x.data != nullptr ? sum.alpha * word_at(sum.x, matrix, row, column) : 0;
    if (sum.beta != 0) word += sum.beta * word_at(sum.addend, matrix, row, column);
    if (sum.is_truth) word = word != 0;
    const StridedMatrices& to = sum.to;
    char* const place = to.data + matrix * to.matrix_stride + row * to.row_stride + column * to.column_stride;
    with_integer(to.type, [&](auto zero) { store(place, static_cast<decltype(zero)>(word)); });
  }
}

void launch_mirror(const Mirrored& m, cudaStream_t) {
  for (std::int64_t matrix = 0; matrix < m.matrices; ++matrix) {
    for (std::int64_t row = m.first; row < m.last; ++row) {
      for (std::int64_t column = 0; column < m.first; ++column) {
        char* const own = m.data + matrix * m.matrix_stride;
        std::memcpy(own + row * m.row_stride + column * m.column_stride, own + column * m.row_stride + row * m.column_stride,
                    static_cast<std::size_t>(entry_bytes(m.part)));
      }
    }
  }
}

void launch_matmul(const CudaPlan& plan, const CudaLayout&, const Turn& turn, char*, const GemmStep*, const LaunchOptions&) {
  using namespace product;
  const DeviceResult& c = turn.result;
  for (std::int64_t matrix = 0; matrix < c.stack.count(); ++matrix) {
    const OperandsOf operands(turn, matrix);
    const bool counts = plan.promise.second == Second::overflows;
    const std::int64_t k = turn.a.inner;
    product::IntegerSum sum{{{c.type, false},
                             c.rows,
                             c.columns,
                             k,
                             {operands.a, c.rows, k, turn.a.outer_stride, turn.a.inner_stride, false},
                             {operands.b, k, c.columns, turn.b.inner_stride, turn.b.outer_stride, false},
                             {turn.a.type, false},
                             {turn.b.type, false},
                             {c.data + offset_of(c.stack, matrix), c.row_stride, c.column_stride}}};
    sum.modulus = static_cast<std::int64_t>(plan.promise.modulus);
    const IntegersRan ran = multiply_integers(sum, Options{}, counts);
    if (counts) *reinterpret_cast<std::int64_t*>(turn.second.data) += ran.overflows;
  }
}

}  // namespace ozfp4::cuda

using namespace ozfp4;
using namespace ozfp4::product;

namespace {

constexpr ElementType kIntegers[] = {ElementType::int8,  ElementType::int16,  ElementType::int32,  ElementType::int64,
                                     ElementType::uint8, ElementType::uint16, ElementType::uint32, ElementType::uint64};
ElementType random_type() { return kIntegers[random_int(0, 7)]; }

// Memory of integers of any size, or of truth values.
Bytes random_bytes(std::int64_t bytes, bool is_truth) {
  Bytes found(static_cast<std::size_t>(bytes));
  for (char& byte : found) byte = static_cast<char>(is_truth ? random_int(0, 5) == 0 : random_int(-128, 127));
  return found;
}

// A sum on the CPU and once more on other memory; what lies around the matrices of C counts, too.
struct Twice {
  Bytes a, b, addend, here, there;
  IntegerSum of_here{}, of_there{};
  std::int64_t overflows = -1;
  Options options{};

  Twice(std::int64_t m, std::int64_t n, std::int64_t k, bool is_truth) {
    options.accuracy = Accuracy::scaled;
    const auto step = [] { return random_int(0, 2) == 0 ? 0 : 1; };
    Product& p = of_here.product;
    for (int i = static_cast<int>(random_int(0, 2)); i > 0; --i) p.axes.push_back({random_int(1, 4), step(), step(), 1, step()});
    p.axes = merged(p.axes);
    const auto type = [&] { return is_truth ? ElementType::uint8 : random_type(); };
    of_here.is_truth = is_truth;
    const ElementType of_a = type(), of_b = type(), of_c = type(), of_addend = type();
    const Place at_a = put(a, &Axis::a, m, k, of_a), at_b = put(b, &Axis::b, k, n, of_b);
    const Place at_c = put(here, &Axis::c, m, n, of_c), at_addend = put(addend, &Axis::addend, m, n, of_addend);
    p.m = m, p.n = n, p.k = k;
    p.type = {of_c, false}, p.type_a = {of_a, false}, p.type_b = {of_b, false}, p.addend_part = of_addend;
    p.a = {a.data() + at_a.first, m, k, at_a.row_stride, at_a.column_stride, false};
    p.b = {b.data() + at_b.first, k, n, at_b.row_stride, at_b.column_stride, false};
    p.c = {here.data() + at_c.first, at_c.row_stride, at_c.column_stride};
    p.addend = {addend.data() + at_addend.first, at_addend.row_stride, at_addend.column_stride};
    there = here;
  }

  Place put(Bytes& memory, std::ptrdiff_t Axis::* own, std::int64_t rows, std::int64_t columns, ElementType type) {
    Axes& axes = of_here.product.axes;
    const Place place = random_place(of_here.product, own, rows, columns, entry_bytes(type));
    memory = random_bytes(place.bytes, of_here.is_truth);
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i].*own = place.steps[i];
    return place;
  }

  const IntegerSum& sum_there() {
    of_there = of_here;
    of_there.product.c.data = there.data() + (of_here.product.c.data - here.data());
    if (options.overflows != nullptr) options.overflows = &overflows;
    return of_there;
  }

  std::string text() const {
    const Product& p = of_here.product;
    std::string text = std::to_string(p.m) + " x " + std::to_string(p.n) + " x " + std::to_string(p.k);
    for (const std::int64_t x : {of_here.alpha, of_here.beta, of_here.modulus, static_cast<std::int64_t>(p.axes.size()),
                                 std::int64_t(p.type_a.part), std::int64_t(p.type_b.part), std::int64_t(p.type.part)}) {
      text += " " + std::to_string(x);
    }
    return text + (of_here.is_truth ? " truth" : "");
  }
};

std::shared_ptr<const DeviceProblem> laid_out(const IntegerSum& sum, const Options& options) {
  const auto plan = plan_for(integer_plan_options(options, sum.bits()), 53, sum.product.k, false, {{&Alphabet::int8, 1.0}});
  return lay_out(sum, options, plan, cuda::Kernel::mma_copy, kPlayedGpu, cuda::WithoutPlanes::where_it_pays);
}

std::int64_t random_number() { return random_int(0, 1) == 0 ? random_int(-3, 3) : random_int(INT64_MIN, INT64_MAX); }

void check_sum() {
  const bool is_truth = random_int(0, 4) == 0;
  Twice twice(random_int(1, 40), random_int(1, 40), random_int(1, 60), is_truth);
  IntegerSum& sum = twice.of_here;
  if (is_truth) {
    sum.alpha = random_int(0, 1), sum.beta = random_int(0, 1);
    sum.entry_bits = 2;
  } else if (random_int(0, 3) == 0 && sum.product.type.part == ElementType::int64) {
    sum.modulus = std::int64_t(1) << random_int(0, 62);
    sum.modulus += random_int(std::int64_t(0), sum.modulus - 1);
  } else if (random_int(0, 1) == 0) {
    sum.alpha = random_number(), sum.beta = random_number();
  }
  std::int64_t counted = 0;
  const bool counts = !is_truth && sum.modulus == 0 && random_int(0, 1) == 0;
  if (counts) twice.options.overflows = &counted;
  try {
    const IntegerSum& given = twice.sum_there();
    const IntegerSum there = sum_of(given, merged(given.product));
    if (!there.is_multiplied()) return;
    const auto problem = laid_out(there, twice.options);
    with_workspace(problem->places.bytes, [&](char* at) { launch(*problem, there, twice.options, at, Launching(nullptr)); });
    const IntegersRan ran = multiply_integers(sum, Options{}, counts);
    report("a sum " + twice.text(), twice.here == twice.there);
    report("overflows " + twice.text(), !counts || ran.overflows == twice.overflows);
  } catch (const std::exception& error) {
    report(twice.text(), false, error.what());
  }
}

void check_gram() {
  const std::int64_t n = random_int(1, 300);
  Twice twice(n, n, random_int(1, 9), random_int(0, 3) == 0);
  IntegerSum& gram = twice.of_here;
  Product& p = gram.product;
  p.b = transposed(p.a);
  p.type_b = p.type_a;
  for (Axis& axis : p.axes) axis.b = axis.a;
  std::int64_t counted = 0;
  const bool counts = !gram.is_truth && random_int(0, 1) == 0;
  if (counts) twice.options.overflows = &counted;
  const std::int64_t least_columns = random_int(0, 3) == 0 ? 0 : 64;
  try {
    const IntegerSum& there = twice.sum_there();
    const GramProblem problem =
        lay_out_gram(there, [&](const IntegerSum& block) { return laid_out(block, twice.options); }, least_columns);
    report("blocks " + twice.text(), (problem.groups.front().blocks.size() > 1) == (least_columns != 0 && n > 64 + 63));
    with_workspace(problem.bytes, [&](char* at) { launch(problem, there, twice.options, at, Launching(nullptr)); });
    const IntegersRan ran = multiply_gram(gram, Options{}, counts, least_columns != 0 ? least_columns : n);
    report("a Gram matrix " + twice.text(), twice.here == twice.there);
    report("overflows of a Gram matrix " + twice.text(), !counts || ran.overflows == twice.overflows);
  } catch (const std::exception& error) {
    report("a Gram matrix " + twice.text(), false, error.what());
  }
}

}  // namespace

int main() {
  for (int i = 0; i < 2000; ++i) check_sum();
  for (int i = 0; i < 200; ++i) check_gram();
  return finish();
}
