// A product of floating-point matrices, or a batch of them, as it is passed.
#pragma once

#include <complex>

#include "c_api/arguments.hpp"
#include "c_api/options.hpp"
#include "product/product.hpp"

namespace ozfp4::c_api {

// alpha op(A) op(B) + beta C; all matrices have one type.
struct GemmCall {
  GivenProduct product;
  std::complex<double> alpha, beta;
};

Product to_product(const GemmCall& call, const CallOptions& options);

// On the CPU, and on a GPU in that place.
void multiply(const GemmCall& call, const ozfp4_options* given);
void multiply(const GemmCall& call, const ozfp4_options* given, const DevicePlace& place);

}  // namespace ozfp4::c_api
