// Checks of arguments that every face of the product has, wherever it runs.
#pragma once

#include <complex>
#include <cstdint>

#include "product/integers.hpp"
#include "product/matrices.hpp"
#include "product/options.hpp"
#include "product/prepared.hpp"

namespace ozfp4::product {

// Throws Refusal for a direction of rounding where a factor has a real and an imaginary part: A B is rounded before the sum then.
void check_factors(std::complex<double> alpha, std::complex<double> beta, const Options& options);

// Throws Refusal for a rounding of complex matrices by which C = X X^H would not be Hermitian.
void check_gram_rounding(const EntryType& type, const Options& options);

// Throws Refusal where entries that do not fit are to be an error, or counted, of more than the product alone.
void check_overflow(const IntegerSum& sum, const Options& options);

// Throws Refusal for lines that are longer than what certificates count.
void check_lines(const ToPrepare& own);

// Where bounds go, in entries of C from line to line and from matrix to matrix.
struct BoundStrides {
  std::int64_t line, matrix;
};

// Strides for a batch of matrices of so many lines; a given 0 stands for no gap. Throws Refusal where bounds would overlap.
BoundStrides bound_strides(const BoundStrides& given, std::int64_t line, std::int64_t lines, std::int64_t batch);

}  // namespace ozfp4::product
