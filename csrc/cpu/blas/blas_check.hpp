// Whether a BLAS multiplies exactly what the CPU's plane products ask of it: integers whose sums its type holds.
#pragma once

#include <string>

#include "cpu/blas/blas.hpp"

namespace ozfp4 {

// Empty where both are right on a few products of odd extents, with sums up to 2^53 and 2^24 and gaps between lines; else which
// is wrong, and where. Takes a millisecond.
std::string wrong_gemm(DgemmPointer dgemm, SgemmPointer sgemm);

}  // namespace ozfp4
