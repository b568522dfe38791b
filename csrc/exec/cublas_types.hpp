// Constants of cuBLAS's functions, as cublas_api.h and library_types.h have them (tests/exec compares): a build needs neither.
#pragma once

#include "exec/product.hpp"

namespace ozfp4::exec::cublas {

constexpr int success = 0;
enum : int { op_n = 0, op_t = 1, op_c = 2 };
constexpr int pointers_to_host = 0;
enum : int { real_32 = 0, real_64 = 1, complex_32 = 4, complex_64 = 5 };                              // cudaDataType
enum : int { compute_32 = 68, compute_32_pedantic = 69, compute_64 = 70, compute_64_pedantic = 71 };  // cublasComputeType_t

// 0, which is none, where cuBLAS has no such operation.
inline int transpose_of(int op) {
  return op == op_n ? no_transpose : op == op_t ? transpose : op == op_c ? conjugate_transpose : 0;
}

// That of a product of this library with matrices of these types, all alike, and sums of this one; else Type::other.
inline Type type_of(int a, int b, int c, int compute) {
  const bool is_double = compute == compute_64 || compute == compute_64_pedantic;
  const bool is_single = compute == compute_32 || compute == compute_32_pedantic;
  if (a != b || a != c) return Type::other;
  if (is_double) return a == real_64 ? Type::float64 : a == complex_64 ? Type::complex128 : Type::other;
  if (is_single) return a == real_32 ? Type::float32 : a == complex_32 ? Type::complex64 : Type::other;
  return Type::other;
}

}  // namespace ozfp4::exec::cublas
