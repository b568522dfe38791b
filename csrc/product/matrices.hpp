// The matrices of a product, checked, wherever they lie.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "arith/element_type.hpp"

namespace ozfp4::product {

// Addresses are computed in 64 bits: lines of so many entries, and so many of them.
inline constexpr std::int64_t kMostEntries = std::int64_t(1) << 48;

// A number, or a pair of numbers.
struct EntryType {
  ElementType part;
  bool is_complex;

  int part_bytes() const { return entry_bytes(part); }
  int bytes() const { return part_bytes() * (is_complex ? 2 : 1); }
  int precision() const { return part == ElementType::float64 ? 53 : 24; }
};

// By the letters of BLAS.
inline constexpr EntryType kS{ElementType::float32, false}, kD{ElementType::float64, false}, kC{ElementType::float32, true},
    kZ{ElementType::float64, true};

// rows x columns, strides in bytes; `is_conjugated`: what lies in memory is the conjugate.
struct Operand {
  const char* data;
  std::int64_t rows, columns;
  std::ptrdiff_t row_stride, column_stride;
  bool is_conjugated;
};

inline Operand transposed(const Operand& x) {
  return {x.data, x.columns, x.rows, x.column_stride, x.row_stride, x.is_conjugated};
}

// c = alpha a b + beta c: m x k times k x n, row-major, as a column-major C = A B is C^T = B^T A^T, whose entries have the same
// bits where chains of imaginary parts begin with the operand that was passed first. c and bound have entries side by side and so
// many bytes from row to row.
struct MatrixProduct {
  EntryType type;
  std::int64_t m, n, k;
  Operand a, b;
  char* c;
  std::ptrdiff_t c_stride;
  std::complex<double> alpha, beta;
  double* bound;  // null: none is wanted
  std::ptrdiff_t bound_stride;
  bool is_exchanged = false;  // a is the operand that was passed second

  bool is_there() const { return m > 0 && n > 0; }
  bool reads() const { return is_there() && k > 0 && alpha != 0.0; }  // the operands at all
};

// `count` products: the first, and how many bytes further the matrices of the next one lie; of one product 0.
struct BatchedProduct : MatrixProduct {
  std::ptrdiff_t a_step = 0, b_step = 0, c_step = 0, bound_step = 0;
  std::int64_t count = 1;

  bool is_there() const { return count > 0 && MatrixProduct::is_there(); }

  // All may be the rows of one product, `most` of them or fewer: B is one, and each matrix of A follows the one before.
  bool is_tall(std::int64_t most) const {
    return count > 1 && m > 0 && count <= most / m && b_step == 0 && a_step == m * a.row_stride && c_step == m * c_stride &&
           (bound == nullptr || bound_step == m * bound_stride);
  }

  // That product: B is then encoded once. Precondition: one matrix of B.
  BatchedProduct flattened() const {
    BatchedProduct tall = *this;
    tall.m = tall.a.rows = m * count;
    tall.a_step = tall.b_step = tall.c_step = tall.bound_step = 0;
    tall.count = 1;
    return tall;
  }
};

// A factor by which products round nothing is real or imaginary.
inline bool has_both_parts(std::complex<double> factor) { return factor.real() != 0 && factor.imag() != 0; }
inline bool is_imaginary(std::complex<double> factor) { return factor.real() == 0 && factor.imag() != 0; }
inline bool has_both_parts(const MatrixProduct& product) { return has_both_parts(product.alpha) || has_both_parts(product.beta); }

// Bytes that a product with such a factor takes for each entry of A B before the sum: "correct" keeps it as two numbers.
inline std::int64_t both_parts_entry_bytes(const EntryType& type, Accuracy accuracy, std::int64_t k) {
  return accuracy == Accuracy::correct && k != 0 ? 2 * type.bytes() : type.bytes();
}

}  // namespace ozfp4::product
