// The arguments of a product of integers, checked once for the CPU and for a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "c_api/checked/arguments.hpp"
#include "c_api/checked/options.hpp"
#include "product/integers.hpp"

namespace ozfp4::c_api {

// A matrix as it is passed.
struct GivenIntegers {
  ElementType type;
  const void* data;
  std::int64_t leading;
};

// Of a function with the arguments of ozfp4_igemm; `modulus`: of ozfp4_gemm_mod, else 0.
struct IntegerCall {
  int order, transa, transb;
  std::int64_t m, n, k;
  std::int64_t alpha, beta;
  GivenIntegers a, b, c;
  std::int64_t modulus;

  bool is_plain() const { return alpha == 1 && beta == 0; }  // the product and nothing else
};

// Throws Refusal for what no product takes.
IntegerSum check_integers(const IntegerCall& call, const CallOptions& options);

// At least 2.
std::int64_t check_modulus(std::int64_t modulus);

}  // namespace ozfp4::c_api
