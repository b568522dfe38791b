// The arguments of a product of floating-point matrices, or of a batch of them, checked once for the CPU and for a GPU.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "c_api/checked/arguments.hpp"
#include "c_api/checked/options.hpp"

namespace ozfp4::c_api {

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

// Throws Refusal for what no product takes.
BatchedProduct check_gemm(const GemmCall& call, const CallOptions& options);

}  // namespace ozfp4::c_api
