// Operands that are prepared once, for the CPU and for a GPU: the arguments that make one, and those of products that use it.
#pragma once

#include <cstdint>

#include "c_api/checked/gemm.hpp"
#include "c_api/checked/options.hpp"
#include "product/cpu/prepared.hpp"
#include "product/prepared.hpp"

struct ozfp4_prepared : ozfp4::product::PreparedMatrix {};

namespace ozfp4::c_api {

// The arguments of ozfp4_prepare.
struct PrepareCall {
  int type, side, order, trans;
  std::int64_t rows, columns;
  const void* x;
  std::int64_t ldx;
};

// Throws Refusal for what is no operand.
ToPrepare check_prepare(const PrepareCall& call, const CallOptions& options);

// The call of a product of them, either of which may be null, with the type and the factors that alpha and beta point to. Throws
// Refusal where both are, or where they do not belong to the product, or to each other.
GemmCall check_prepared(GemmCall call, const Prepared* a, const Prepared* b, const void* alpha, const void* beta);

// The options of such a product.
CallOptions options_of(const CallOptions& given, const Prepared& made);

}  // namespace ozfp4::c_api
