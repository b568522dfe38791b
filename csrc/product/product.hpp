// A product of matrices, or of stacks of them, as a value: checked, wherever the matrices lie.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/runtime/matrix_view.hpp"
#include "product/matrices.hpp"
#include "product/prepared.hpp"

namespace ozfp4::product {

// Where results go, strides in bytes; data null: nowhere.
struct ResultMatrix {
  char* data = nullptr;
  std::ptrdiff_t row_stride = 0, column_stride = 0;

  bool exists() const { return data != nullptr; }
};

// An axis of a stack: matrices of it, and bytes from one to the next; 0 along an axis that repeats an operand.
struct Axis {
  std::int64_t extent;
  std::ptrdiff_t a = 0, b = 0, c = 0, addend = 0, upper = 0, bound = 0;
};

inline constexpr std::ptrdiff_t Axis::* kSteps[] = {&Axis::a, &Axis::b, &Axis::c, &Axis::addend, &Axis::upper, &Axis::bound};

// From the outermost to the innermost.
using Axes = std::vector<Axis>;

inline std::int64_t count_of(const Axes& axes) {
  std::int64_t matrices = 1;
  for (const Axis& axis : axes) matrices *= axis.extent;
  return matrices;
}

// The fewest axes that visit the same matrices in the same order.
Axes merged(const Axes& axes);

// Calls body(axis, i) for each axis, along which the matrix of this number is the i-th.
template <class Body>
void for_places(const Axes& axes, std::int64_t number, const Body& body) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    body(*axis, number % axis->extent);
    number /= axis->extent;
  }
}

// c = alpha a b + beta addend: m x k times k x n, row-major. A column-major C = A B is C^T = B^T A^T. Its entries have the same
// bits where chains of imaginary parts begin with the operand that was passed first. Real and complex operands, of 24 and of 53
// bits, may meet; the result has the type that both promote to, or a wider one.
struct Product {
  EntryType type;  // of the result
  std::int64_t m, n, k;
  Operand a, b;
  EntryType type_a, type_b;
  ResultMatrix c;
  std::complex<double> alpha = 1.0, beta = 0.0;
  ResultMatrix addend{};                           // may be c itself
  ElementType addend_part = ElementType::float64;  // it is complex where the result is
  ResultMatrix upper{};                            // the same product rounded up, next to c, which is rounded down
  ResultMatrix bound{};                            // of the errors: float64, for each part
  bool is_exchanged = false;  // the transpose of the product that was passed: a is the operand that was passed second
  Axes axes{};
  // Null: not prepared. Else the operand's data and the axes' steps are those of the prepared copy.
  const Prepared *prepared_a = nullptr, *prepared_b = nullptr;

  std::int64_t count() const { return count_of(axes); }
  bool is_there() const { return m > 0 && n > 0 && count() > 0; }
  bool reads() const { return k > 0 && alpha != 0.0; }  // the operands at all
};

// The lines along K of an operand as it lies, and a result of that type.
inline OperandView left_view(const Product& p) { return {p.a.data, p.type_a.part, p.m, p.k, p.a.row_stride, p.a.column_stride}; }
inline OperandView right_view(const Product& p) { return {p.b.data, p.type_b.part, p.n, p.k, p.b.column_stride, p.b.row_stride}; }
inline ResultView view_of(const Product& p, const ResultMatrix& x, ElementType part) {
  return {x.data, part, p.m, p.n, x.row_stride, x.column_stride};
}

inline bool has_both_parts(const Product& product) { return has_both_parts(product.alpha) || has_both_parts(product.beta); }

// The product with the fewest axes that visit the same matrices. A stack of A times one B is one tall product of so many rows at
// most, where it may be: B is then encoded once.
Product merged(Product product, std::int64_t most_rows = kMostEntries);

// The matrix of this number, without axes.
Product matrix_at(const Product& product, std::int64_t number);

// Rows and columns of each matrix.
struct Block {
  std::int64_t row, rows, column, columns;
};
Product part_of(const Product& product, const Block& at);

// How a complex product is made of real ones. `paired`: two complex operands, expanded by kPair of plan/plan.hpp. `columns`: a
// real A, and the parts of B as twice as many columns. `matrices`: the parts of A as two matrices, and a real B.
enum class ComplexForm : std::uint8_t { paired, columns, matrices };
inline ComplexForm form_of(const Product& product) {
  return !product.type_b.is_complex   ? ComplexForm::matrices
         : !product.type_a.is_complex ? ComplexForm::columns
                                      : ComplexForm::paired;
}

}  // namespace ozfp4::product
