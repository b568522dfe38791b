// A product that a program requested: C = alpha op(A) op(B) + beta C, whatever routine it called.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ozfp4::exec {

enum class Type : std::uint8_t { float32, float64, complex64, complex128, other };
constexpr int type_count = 4;  // of those that ozfp4 multiplies

constexpr bool is_complex(Type type) { return type == Type::complex64 || type == Type::complex128; }
constexpr bool is_single(Type type) { return type == Type::float32 || type == Type::complex64; }
constexpr std::int64_t size_of(Type type) { return (is_single(type) ? 4 : 8) * (is_complex(type) ? 2 : 1); }
constexpr char letter_of(Type type) { return "sdczx"[static_cast<int>(type)]; }
constexpr Type type_of(char letter) {
  int type = 0;
  while (letter_of(static_cast<Type>(type)) != letter) ++type;
  return static_cast<Type>(type);
}
inline const char* name_of(Type type) {
  static const char* const names[] = {"float32", "float64", "complex64", "complex128", "-"};
  return names[static_cast<int>(type)];
}

// Values of CBLAS, which are those of ozfp4.h too.
enum : int { row_major = 101, column_major = 102, no_transpose = 111, transpose = 112, conjugate_transpose = 113 };
enum : int { upper_triangle = 121, lower_triangle = 122 };

struct Product {
  Type type = Type::float64;
  int order = column_major;
  int transpose_a = no_transpose, transpose_b = no_transpose;
  std::int64_t m = 0, n = 0, k = 0;
  const void* alpha = nullptr;  // one entry of the type
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  const void* beta = nullptr;
  void* c = nullptr;
  std::int64_t ldc = 0;
  std::int64_t batch = 1;  // so many products, with matrices so many entries apart
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  // upper_triangle or lower_triangle: nothing else of C is read or written, B is A, m is n, and the transposes are each other's.
  int triangle = 0;
  bool is_hermitian = false;  // of ?herk: alpha and beta are real numbers, and so is the triangle's diagonal, whatever it was
};

inline Product gemm_of(Type type, int order, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                       const void* alpha, const void* a, std::int64_t lda, const void* b, std::int64_t ldb, const void* beta,
                       void* c, std::int64_t ldc) {
  return {type, order, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
}

// One of the batch.
inline Product matrix_of(const Product& p, std::int64_t index) {
  Product found = p;
  found.a = static_cast<const char*>(p.a) + index * p.stride_a * size_of(p.type);
  found.b = static_cast<const char*>(p.b) + index * p.stride_b * size_of(p.type);
  found.c = static_cast<char*>(p.c) + index * p.stride_c * size_of(p.type);
  found.batch = 1;
  return found;
}

// Whether BLAS takes the extents and leading dimensions. Transposes of 0 are none of BLAS's, as R of OpenBLAS alone.
inline bool is_valid(const Product& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0 || p.transpose_a == 0 || p.transpose_b == 0) return false;
  if (p.order != column_major && p.order != row_major) return false;
  // Contiguous entries of the matrix with an op of rows x columns.
  const auto line = [&p](int op, std::int64_t rows, std::int64_t columns) {
    const bool is_transposed = op != no_transpose, has_rows = p.order == row_major;
    return std::max<std::int64_t>(is_transposed == has_rows ? rows : columns, 1);
  };
  return p.lda >= line(p.transpose_a, p.m, p.k) && p.ldb >= line(p.transpose_b, p.k, p.n) &&
         p.ldc >= line(no_transpose, p.m, p.n);
}

// C = alpha X op(X) + beta C of a triangle, as ?syrk and ?herk have it. `turned`: of X, one of CBLAS's or 0. Arguments that
// these refuse give transposes of 0.
inline Product triangle_of(Type type, bool is_hermitian, int order, int triangle, int turned, std::int64_t n, std::int64_t k,
                           const void* alpha, const void* x, std::int64_t ldx, const void* beta, void* c, std::int64_t ldc) {
  Product p{type, order, 0, 0, n, n, k, alpha, x, ldx, x, ldx, beta, c, ldc};
  p.triangle = triangle, p.is_hermitian = is_hermitian;
  const int adjoint = is_hermitian ? conjugate_transpose : transpose;
  const bool is_turned = turned == adjoint || (turned == conjugate_transpose && !is_complex(type));
  if ((triangle != upper_triangle && triangle != lower_triangle) || (turned != no_transpose && !is_turned)) return p;
  p.transpose_a = is_turned ? adjoint : no_transpose, p.transpose_b = is_turned ? no_transpose : adjoint;
  return p;
}

// Whether an entry of C is the product's to write, and whether it is real whatever its type.
inline bool is_written(const Product& p, std::int64_t row, std::int64_t column) {
  return p.triangle == 0 || (p.triangle == lower_triangle ? row >= column : row <= column);
}
inline bool is_real(const Product& p, std::int64_t row, std::int64_t column) {
  return p.triangle != 0 && p.is_hermitian && row == column;
}

// How far an entry of a matrix lies from its first, in bytes.
inline std::ptrdiff_t place_of(const Product& p, std::int64_t leading, std::int64_t row, std::int64_t column) {
  return (p.order == row_major ? row * leading + column : row + column * leading) * size_of(p.type);
}
inline std::ptrdiff_t place_in_a(const Product& p, std::int64_t row, std::int64_t k) {
  return p.transpose_a == no_transpose ? place_of(p, p.lda, row, k) : place_of(p, p.lda, k, row);
}
inline std::ptrdiff_t place_in_b(const Product& p, std::int64_t k, std::int64_t column) {
  return p.transpose_b == no_transpose ? place_of(p, p.ldb, k, column) : place_of(p, p.ldb, column, k);
}

// A number of a real or a complex type.
template <class T>
T number_of(std::complex<double> x) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x.real());
  } else {
    return T(x);
  }
}
template <class T>
T conjugate(T x) {
  return number_of<T>(std::conj(x));
}

inline bool is_finite(std::complex<double> x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }

inline std::complex<double> number_at(const void* at, bool is_single, bool is_complex) {
  const auto part = [&](int i) -> double {
    return is_single ? static_cast<const float*>(at)[i] : static_cast<const double*>(at)[i];
  };
  return {part(0), is_complex ? part(1) : 0};
}
inline std::complex<double> alpha_of(const Product& p) {
  return number_at(p.alpha, is_single(p.type), is_complex(p.type) && !p.is_hermitian);
}
inline std::complex<double> beta_of(const Product& p) {
  return number_at(p.beta, is_single(p.type), is_complex(p.type) && !p.is_hermitian);
}

}  // namespace ozfp4::exec
