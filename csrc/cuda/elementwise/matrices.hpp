// Matrices of operands and results, entry by entry: copies, sums with factors, and the mirrored half of a Gram matrix. No launch
// synchronises or allocates; all may be captured, and throw LaunchError. Precondition: every extent at least 1, entries aligned
// to their parts.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/element_type.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {

struct MatrixExtents {
  std::int64_t matrices = 1, rows = 0, columns = 0;
};

// Entries of `type`, or pairs (re, im) of it where they are complex; bytes from row to row, from column to column, from matrix to
// matrix. Null: there are none.
struct StridedMatrices {
  char* data = nullptr;
  ElementType type = ElementType::float64;
  std::int64_t row_stride = 0, column_stride = 0, matrix_stride = 0;
};

// ---- Complex matrices, of float64 or float32 -----------------------------------------------------------------------------

// A copy, or i times it. Precondition: matrices of one type, apart from each other.
void launch_copy(const MatrixExtents& extents, const StridedMatrices& from, const StridedMatrices& to, bool is_turned,
                 cudaStream_t stream);

// K x N matrices, one behind the other; strides in entries.
struct ComplexMatrices {
  const void* data = nullptr;
  ElementType type = ElementType::float64;
  std::int64_t matrices = 1, k = 0, n = 0;
  std::int64_t matrix_stride = 0, k_stride = 0, n_stride = 0;
  bool is_conjugated = false;  // what lies in memory is the conjugate
  bool is_turned = false;      // i times what lies in memory, conjugated or not, is meant
};

// The right operand of a complex product as the real matrix that plans of it take (plan/plan.hpp, kPair). It has columns of 2 K
// numbers one behind the other: (re, -im) of a column along K, then (im, re). Precondition: both aligned to two numbers.
void launch_expand(const ComplexMatrices& from, void* to, cudaStream_t stream);

// Matrices of A B lie one behind the other, as their rows do, in pairs of c's type.
struct ComplexMatrixSum {
  MatrixExtents extents;
  StridedMatrices c;              // what is written
  StridedMatrices addend;         // of c's type or float32; may be c itself; null: beta is 0
  const char* product = nullptr;  // null: zeros
  const char* rest = nullptr;     // A B less `product`, 0 where a part of it is not finite; null: zeros
  StridedMatrices bound;          // float64: of the errors of c
  const char* lost = nullptr;     // likewise of `product`, or of both, float64, side by side as its entries are; null: zeros
  double alpha[2] = {1, 0}, beta[2] = {0, 0};
};

// c = alpha (product + rest) + beta addend, as combine_complex on the CPU (cpu/complex/combine.hpp). Bounds are half a unit in
// the last place of each part and |alpha| times the loss before, rounded up (arith/update/part_sum.hpp). Precondition: finite
// factors.
void launch_sum(const ComplexMatrixSum& sum, cudaStream_t stream);

// ---- Integers --------------------------------------------------------------------------------------------------------------

// Lines of matrices, strides in bytes; along `entry_stride` neighbours are read together.
struct IntegerLines {
  const char* data = nullptr;
  ElementType type = ElementType::int32;
  std::int64_t lines = 0, entries = 0, line_stride = 0, entry_stride = 0;
  std::int64_t modulus = 0;  // 0: none
  std::int64_t matrices = 1, matrix_stride = 0;
};

// As the int64 that scale and encode take, or nearest to zero modulo the modulus; lines and matrices one behind the other.
// Precondition: `to` aligned to 8; integers of at most 32 bits, or a modulus.
void launch_widen(const IntegerLines& from, char* to, cudaStream_t stream);

struct IntegerMatrixSum {
  MatrixExtents extents;
  StridedMatrices to, x, addend;  // x.data null: zeros; the addend may be the result
  std::uint64_t alpha = 1, beta = 0;
  bool is_truth = false;  // the result is 1 where the sum is not 0, else 0
};

// alpha X + beta C modulo 2^w of the w bits of the result's type; where beta is 0 the addend is not read.
void launch_combine(const IntegerMatrixSum& sum, cudaStream_t stream, Stage stage = Stage::reconstruct);

// ---- Gram matrices ---------------------------------------------------------------------------------------------------------

// Square matrices of numbers or of pairs of them, strides in bytes.
struct Mirrored {
  char* data = nullptr;
  ElementType part = ElementType::float64;
  bool is_complex = false;
  bool is_conjugated = false;  // pairs: the adjoint, else the transpose
  std::int64_t row_stride = 0, column_stride = 0, first = 0, last = 0;
  // Also the square of these rows and columns. Imaginary parts of an adjoint on its diagonal become +0 where they are no NaN, as
  // where lines are finite: chains of fused multiply-adds leave roundings and infinities there.
  bool has_real_diagonal = false;
  std::int64_t matrices = 1, matrix_stride = 0;
};

// Rows [first, last) left of column `first` from the columns above. Precondition: 0 <= first <= last < 2^31; parts of pairs are
// floating-point numbers.
void launch_mirror(const Mirrored& matrix, cudaStream_t stream);

}  // namespace ozfp4::cuda
