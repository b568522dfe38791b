// The arguments of ozfp4_cuda_?gemm.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "c_api/checked/arguments.hpp"
#include "c_api/checked/options.hpp"
#include "c_api/cuda/problem.hpp"

namespace ozfp4::c_api {

struct DeviceCall {
  EntryType type;
  int order, transa, transb;
  std::int64_t m, n, k;
  std::complex<double> alpha, beta;
  const void *a, *b;
  std::int64_t lda, ldb;
  void* c;
  std::int64_t ldc;
};

// The row-major product; pointers are not looked at. Throws Refusal for what no product takes, or none on a GPU.
DeviceProduct check(const DeviceCall& call, const Options& options);

// Calls of the same extents of which one takes as much workspace as any: what lines take depends on whether they are aligned, and
// operands are copied where alpha is imaginary. Their pointers point nowhere.
std::vector<DeviceCall> widest(const DeviceCall& call);

}  // namespace ozfp4::c_api
