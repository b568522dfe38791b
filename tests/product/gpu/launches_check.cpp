// The launches of a product, or of a Gram matrix, give its bits, with kernels that run on the CPU. Tested are the copies that are
// made, where they lie, and which real product is multiplied. Functions on memory of the host replace the launches.
#include "arith/accuracy/bound.hpp"
#include "arith/exact/conjugate.hpp"
#include "arith/update/part_sum.hpp"
#include "cuda/elementwise/matrices.hpp"
#include "cuda/multiply/registry.hpp"
#include "plan/choice.hpp"
#include "product/choose.hpp"
#include "product/gpu/gram.hpp"
#include "product/gpu/on_host.hpp"
#include "product/gpu/problem.hpp"
#include "product/gpu/sum.hpp"

// The factors of an update, which it keeps as integers.
namespace {
double number_of_parts(const ozfp4::FloatParts& x) {
  const double value = std::ldexp(static_cast<double>(x.significand), x.weight);
  return x.is_negative ? -value : value;
}
}  // namespace

namespace ozfp4::cuda {
namespace {

char* place_of(const StridedMatrices& x, std::int64_t matrix, std::int64_t row, std::int64_t column) {
  return x.data + matrix * x.matrix_stride + row * x.row_stride + column * x.column_stride;
}

template <class Body>
void for_entries(const MatrixExtents& extents, const Body& body) {
  for (std::int64_t matrix = 0; matrix < extents.matrices; ++matrix) {
    for (std::int64_t row = 0; row < extents.rows; ++row) {
      for (std::int64_t column = 0; column < extents.columns; ++column) body(matrix, row, column);
    }
  }
}

template <class T>
T rounded(const PartSum& of) {
  if (!of.are_finite) return special_sum<T>(of);
  ExactSum sum;
  return exact_sum<T>(of, sum.digit);
}

template <class T>
void add_sums(const ComplexMatrixSum& sum) {
  const MatrixExtents& extents = sum.extents;
  for_entries(extents, [&](std::int64_t matrix, std::int64_t row, std::int64_t column) {
    const std::int64_t at = 2 * ((matrix * extents.rows + row) * extents.columns + column);
    ComplexSum of;
    const auto held = [&](const char* data, std::int64_t part) {
      T x;
      std::memcpy(&x, data + (at + part) * static_cast<std::int64_t>(sizeof x), sizeof x);
      return x;
    };
    const auto add = [&](int index, double re, double im, const double* factor) { of.add(index, re, im, factor[0], factor[1]); };
    if (sum.product != nullptr) add(0, held(sum.product, 0), held(sum.product, 1), sum.alpha);
    if (sum.rest != nullptr) {
      const T re = held(sum.rest, 0), im = held(sum.rest, 1);
      add(1, is_finite(re) ? re : T(0), is_finite(im) ? im : T(0), sum.alpha);
    }
    if (sum.addend.data != nullptr) {
      with_float(sum.addend.type, [&](auto zero) {
        decltype(zero) x[2];
        std::memcpy(x, place_of(sum.addend, matrix, row, column), sizeof x);
        add(2, x[0], x[1], sum.beta);
      });
    }
    const T parts[] = {rounded<T>(of.real), rounded<T>(of.imaginary)};
    std::memcpy(place_of(sum.c, matrix, row, column), parts, sizeof parts);
    if (sum.bound.data == nullptr) return;
    double lost[2] = {0, 0}, bound[2];
    if (sum.lost != nullptr) std::memcpy(lost, sum.lost + at * 8, sizeof lost);
    for (const int part : {0, 1}) {
      const double rounding = rounding_bound(parts[part], Rounding::nearest);
      ExactSum digits;
      bound[part] = is_finite(rounding) && is_finite(lost[0]) && is_finite(lost[1])
                        ? sum_bound(digits.digit, rounding, sum.alpha[0], lost[part], sum.alpha[1], lost[1 - part])
                        : float_from_bits<double>(kInfinityBits<double>);
    }
    std::memcpy(place_of(sum.bound, matrix, row, column), bound, sizeof bound);
  });
}

template <class T>
void expand(const ComplexMatrices& from, char* to) {
  constexpr std::int64_t pair = 2 * sizeof(T);
  for_entries({from.matrices, from.k, from.n}, [&](std::int64_t matrix, std::int64_t k, std::int64_t n) {
    T x[2];
    std::memcpy(
        x, static_cast<const char*>(from.data) + pair * (matrix * from.matrix_stride + k * from.k_stride + n * from.n_stride),
        sizeof x);
    if (from.is_conjugated) x[1] = -x[1];
    const T meant[2] = {from.is_turned ? -x[1] : x[0], from.is_turned ? x[0] : x[1]};
    const T even[2] = {meant[0], -meant[1]}, odd[2] = {meant[1], meant[0]};
    char* column = to + pair * (2 * (matrix * from.n + n) * from.k + k);
    std::memcpy(column, even, sizeof even);
    std::memcpy(column + pair * from.k, odd, sizeof odd);
  });
}

}  // namespace

void launch_copy(const MatrixExtents& extents, const StridedMatrices& from, const StridedMatrices& to, bool is_turned,
                 cudaStream_t) {
  with_float(from.type, [&](auto zero) {
    for_entries(extents, [&](std::int64_t matrix, std::int64_t row, std::int64_t column) {
      decltype(zero) x[2];
      std::memcpy(x, place_of(from, matrix, row, column), sizeof x);
      const decltype(zero) meant[2] = {is_turned ? -x[1] : x[0], is_turned ? x[0] : x[1]};
      std::memcpy(place_of(to, matrix, row, column), meant, sizeof meant);
    });
  });
}

void launch_sum(const ComplexMatrixSum& sum, cudaStream_t) {
  with_float(sum.c.type, [&](auto zero) { add_sums<decltype(zero)>(sum); });
}

void launch_expand(const ComplexMatrices& from, void* to, cudaStream_t) {
  with_float(from.type, [&](auto zero) { expand<decltype(zero)>(from, static_cast<char*>(to)); });
}

void launch_mirror(const Mirrored& m, cudaStream_t) {
  with_float(m.part, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t matrix = 0; matrix < m.matrices; ++matrix) {
      const auto at = [&](std::int64_t row, std::int64_t column) {
        return m.data + matrix * m.matrix_stride + row * m.row_stride + column * m.column_stride;
      };
      for (std::int64_t row = m.first; row < m.last; ++row) {
        for (std::int64_t column = 0; column < (m.has_real_diagonal ? row : m.first); ++column) {
          std::memcpy(at(row, column), at(column, row), (m.is_complex ? 2 : 1) * sizeof(T));
          if (m.is_conjugated) store(at(row, column) + sizeof(T), conjugated(load<T>(at(column, row) + sizeof(T))));
        }
        char* const imaginary = at(row, row) + sizeof(T);
        if (m.has_real_diagonal && m.is_conjugated && !std::isnan(load<T>(imaginary))) store(imaginary, T(0));
      }
    }
  });
}

void launch_matmul(const CudaPlan& plan, const CudaLayout&, const Turn& turn, char*, const GemmStep*, const LaunchOptions&) {
  using namespace product;
  const DeviceResult& c = turn.result;
  const Promise& promise = plan.promise;
  Options options;
  options.accuracy = promise.accuracy;
  options.rounding = promise.second == Second::upper ? Rounding::nearest : promise.rounding;
  for (std::int64_t matrix = 0; matrix < c.stack.count(); ++matrix) {
    const OperandsOf operands(turn, matrix);
    const auto result = [&](const DeviceResult& x) {
      return x.data == nullptr ? ResultMatrix{}
                               : ResultMatrix{x.data + offset_of(x.stack, matrix), x.row_stride, x.column_stride};
    };
    Product p{};
    p.type = {c.type, false};
    p.m = c.rows, p.n = c.columns, p.k = turn.a.inner;
    p.alpha = 1.0;
    p.a = {operands.a, p.m, p.k, turn.a.outer_stride, turn.a.inner_stride, false};
    p.b = {operands.b, p.k, p.n, turn.b.inner_stride, turn.b.outer_stride, false};
    p.type_a = {turn.a.type, false};
    p.type_b = {turn.b.type, false};
    p.c = result(c);
    if (promise.second == Second::bound) p.bound = result(turn.second);
    if (promise.second == Second::upper) p.upper = result(turn.second);
    if (turn.update.is_asked) {
      p.alpha = number_of_parts(turn.update.factors.alpha);
      p.beta = turn.update.c.data == nullptr ? 0.0 : number_of_parts(turn.update.factors.beta);
      p.addend = result(turn.update.c);
      p.addend_part = turn.update.c.type;
    }
    Ran ran;
    multiply(p, options, ran);
  }
}

}  // namespace ozfp4::cuda

using namespace ozfp4;
using namespace ozfp4::product;

namespace {

struct OnHost {
  static char* allocate(const Bytes& from) {
    char* data = new char[from.size() + 1];
    std::memcpy(data, from.data(), from.size());
    return data;
  }
  static void release(const char* data) { delete[] data; }
  static Bytes read(const char* data, std::size_t bytes) { return Bytes(data, data + bytes); }
};

std::shared_ptr<const DeviceProblem> find(const Product& own, const Options& asked) {
  const auto plan = plan_for(asked, own.type.precision(), inner_of(own), is_paired(own), {{&Alphabet::int8, 1.0}});
  const bool may_be_direct = asked.accuracy != Accuracy::correct && random_int(0, 1) == 0;
  return lay_out(own, asked, plan, cuda::Kernel::mma_copy, kPlayedGpu,
                 may_be_direct ? cuda::WithoutPlanes::where_it_pays : cuda::WithoutPlanes::never);
}

// In blocks where the usual workspace is small.
void multiply_there(const Product& given, const Options& options) {
  const Product product = merged(given, kLongestExtent / 2);
  Options own = options;
  if (random_int(0, 1) == 0) own.workspace_limit = std::int64_t(1) << random_int(12, 24);
  const DeviceBlocks blocks = lay_out_blocks(product, own, find);
  with_workspace(blocks.bytes, [&](char* workspace) { launch(blocks, product, options, workspace, nullptr); });
}

// X X^H, by blocks or not, of each matrix of a stack, wherever these and the bounds lie.
void check_gram(const EntryType& type, Accuracy accuracy, bool has_bound) {
  Product gram{};
  gram.type = gram.type_a = gram.type_b = type;
  gram.m = gram.n = random_int(1, 200);
  gram.k = random_int(1, 40);
  if (random_int(0, 2) == 0) gram.axes = {{random_int(2, 3), 1, 1, 1, 0, 0, 1}};
  const Place at_a = random_place(gram, &Axis::a, gram.m, gram.k, type.bytes());
  const Place at_c = random_place(gram, &Axis::c, gram.m, gram.n, type.bytes());
  const std::int64_t bound_entry = type.is_complex ? 16 : 8;
  const Place at_bound = random_place(gram, &Axis::bound, gram.m, gram.n, bound_entry);
  for (std::size_t i = 0; i < gram.axes.size(); ++i) {
    gram.axes[i] = {gram.axes[i].extent, at_a.steps[i], at_a.steps[i], at_c.steps[i], 0, 0, at_bound.steps[i]};
  }
  const Bytes a = random_numbers(at_a.bytes, type.part, random_int(0, 1) == 0);
  gram.a = {a.data() + at_a.first, gram.m, gram.k, at_a.row_stride, at_a.column_stride, type.is_complex && random_int(0, 1) == 0};
  gram.b = {gram.a.data, gram.k, gram.m, at_a.column_stride, at_a.row_stride, type.is_complex && !gram.a.is_conjugated};
  Bytes c[2], bound[2];
  Product own[2] = {gram, gram};
  for (int i = 0; i < 2; ++i) {
    c[i] = i == 0 ? random_numbers(at_c.bytes, type.part, false) : c[0];
    bound[i] = i == 0 ? random_numbers(at_bound.bytes, ElementType::float64, false) : bound[0];
    own[i].c = {c[i].data() + at_c.first, at_c.row_stride, at_c.column_stride};
    if (has_bound) own[i].bound = {bound[i].data() + at_bound.first, at_bound.row_stride, at_bound.column_stride};
  }
  Options options;
  options.accuracy = accuracy;
  const std::int64_t least = random_int(0, 1) == 0 ? 64 : 0;
  const std::string name = "a Gram matrix " + text_of(gram) + " accuracy " + std::to_string(static_cast<int>(accuracy));
  try {
    const FindBlock find_block = [&](const Product& block, std::int64_t) { return lay_out_blocks(block, options, find); };
    const GramProblem problem = product::lay_out_gram(own[1], options.workspace_limit, nullptr, find_block, least);
    with_workspace(problem.bytes, [&](char* workspace) { launch(problem, own[1], options, workspace, nullptr); });
    Ran ran;
    multiply_gram(own[0], options, ran, least != 0 ? least : gram.n);
    report(name, c[0] == c[1]);
    report("bounds of " + name, bound[0] == bound[1]);
  } catch (const std::exception& error) {
    report(name, false, error.what());
  }
}

}  // namespace

int main() {
  for (int i = 0; i < 30; ++i) {
    for (const EntryType& type : kTypes) {
      for (const Accuracy accuracy : {Accuracy::scaled, Accuracy::standard, Accuracy::correct}) {
        for (const Beside beside : {Beside::nothing, Beside::bound, Beside::upper}) {
          if (beside == Beside::upper && accuracy != Accuracy::correct) continue;
          Check<OnHost> check(type, accuracy, beside);
          const Product& p = check.product();
          // Kernels make chains of parts, which no real product of a CPU has.
          if (p.is_exchanged && type.is_complex && accuracy == Accuracy::standard) continue;
          if (has_both_parts(p) && !p.reads()) continue;
          check.run(multiply_there);
        }
        check_gram(type, accuracy, random_int(0, 1) == 0);
      }
    }
  }
  return finish();
}
