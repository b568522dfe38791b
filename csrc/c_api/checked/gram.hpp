// The arguments of ozfp4_?gram, checked once for the CPU and for a GPU.
#pragma once

#include <cstdint>

#include "c_api/checked/gemm.hpp"
#include "c_api/checked/options.hpp"
#include "product/gram.hpp"

namespace ozfp4::c_api {

struct GramCall {
  EntryType type;
  int order, transpose;
  std::int64_t n, k;
  const void* a;
  std::int64_t lda;
  void* c;
  std::int64_t ldc;
};

// C = X X^H as a product of X, n x k, and its adjoint. Throws Refusal for what no Gram matrix is made of.
MatrixProduct check_gram(const GramCall& call, const CallOptions& options);

}  // namespace ozfp4::c_api
