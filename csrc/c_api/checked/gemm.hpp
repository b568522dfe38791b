// The arguments of a product of floating-point matrices, or of a batch of them, checked once for the CPU and for a GPU.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "c_api/checked/arguments.hpp"
#include "c_api/checked/options.hpp"

namespace ozfp4::c_api {

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

  // Whether all may be the rows of one product, `most` of them or fewer: B is one, and each matrix of A follows the one before.
  bool is_tall(std::int64_t most) const;
  // That product: B is then encoded once. Range: one matrix of B.
  BatchedProduct flattened() const;
};

// A matrix as it is passed: entries, and where the next matrix of a batch begins.
struct GivenMatrix {
  const void* data;
  std::int64_t leading, stride;
  bool is_prepared;  // and nothing else of it is looked at
};

// Of a function with the arguments of ozfp4_?gemm_strided_batched; strides of a single product are not looked at.
struct GemmCall {
  EntryType type;
  int order, transa, transb;
  std::int64_t m, n, k;
  std::complex<double> alpha, beta;
  GivenMatrix a, b;
  void* c;
  std::int64_t ldc, stride_c;
  std::int64_t batch;
};

// A factor by which products round nothing is real or imaginary.
inline bool has_both_parts(std::complex<double> factor) { return factor.real() != 0 && factor.imag() != 0; }
inline bool is_imaginary(std::complex<double> factor) { return factor.real() == 0 && factor.imag() != 0; }
inline bool has_both_parts(const MatrixProduct& product) { return has_both_parts(product.alpha) || has_both_parts(product.beta); }

// Throws Refusal for what no product takes.
BatchedProduct check_gemm(const GemmCall& call, const Options& options);

}  // namespace ozfp4::c_api
