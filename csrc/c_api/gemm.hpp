// A product of floating-point matrices, or a batch of them, as it is passed, and what it is converted to.
#pragma once

#include <complex>
#include <cstdint>

#include "c_api/arguments.hpp"
#include "c_api/options.hpp"

namespace ozfp4::c_api {

struct GivenMatrix {
  const void* data;
  std::int64_t leading, stride;        // to the next matrix of a batch
  const Prepared* prepared = nullptr;  // else nothing else of it is looked at
};

// The arguments of ozfp4_?gemm_strided_batched; strides of a single product are not looked at.
struct GemmCall {
  EntryType type;
  int order, transa, transb;
  std::int64_t m, n, k;
  std::complex<double> alpha;
  GivenMatrix a, b;
  std::complex<double> beta;
  void* c;
  std::int64_t ldc, stride_c;
  std::int64_t batch;

  // As they stand in the row-major product.
  PreparedPair sides() const {
    return is_row_major(order) ? PreparedPair{a.prepared, b.prepared} : PreparedPair{b.prepared, a.prepared};
  }
};

// On the CPU, and on a GPU in that place.
void multiply(const GemmCall& call, const ozfp4_options* given);
void multiply(const GemmCall& call, const ozfp4_options* given, const DevicePlace& place);

}  // namespace ozfp4::c_api
