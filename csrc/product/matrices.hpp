// The matrices of a product, checked, wherever they lie.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "arith/element_type.hpp"
#include "arith/modes.hpp"

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

// A factor by which products round nothing is real or imaginary.
inline bool has_both_parts(std::complex<double> factor) { return factor.real() != 0 && factor.imag() != 0; }
inline bool is_imaginary(std::complex<double> factor) { return factor.real() == 0 && factor.imag() != 0; }

// Bytes that a product with such a factor takes for each entry of A B before the sum: "correct" keeps it as two numbers.
inline std::int64_t both_parts_entry_bytes(const EntryType& type, Accuracy accuracy, std::int64_t k) {
  return accuracy == Accuracy::correct && k != 0 ? 2 * type.bytes() : type.bytes();
}

}  // namespace ozfp4::product
