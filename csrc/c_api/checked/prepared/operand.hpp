// Operands that are prepared once, for the CPU and for a GPU: the arguments that make one, and those of products that use it.
#pragma once

#include <cstdint>
#include <memory>

#include "c_api/checked/gemm.hpp"
#include "c_api/checked/options.hpp"
#include "plan/plan.hpp"

namespace ozfp4::c_api {

// The arguments of ozfp4_prepare.
struct PrepareCall {
  int type, side, order, trans;
  std::int64_t rows, columns;
  const void* x;
  std::int64_t ldx;
};

// What they are: op(X) as it stands in the row-major product, X or X^T of it, and the real operand that becomes of it, `outer`
// lines of `inner` numbers along K.
struct ToPrepare {
  EntryType type;
  bool is_left, is_row_major;
  Operand x;
  std::int64_t outer, inner;

  bool is_there() const { return outer > 0 && inner > 0; }
};

// Throws Refusal for what is no operand.
ToPrepare check_prepare(const PrepareCall& call, const Options& options);

// What is known of an operand, wherever it lies.
struct Prepared {
  EntryType type;
  bool is_left;       // of the row-major product
  bool is_row_major;  // the order that it was given with
  std::int64_t rows, columns;
  std::shared_ptr<const Plan> plan;
  Accuracy accuracy;
};

// The call of a product of them, either of which may be null, with the type and the factors that alpha and beta point to. Throws
// Refusal where both are, or where they do not belong to the product, or to each other.
GemmCall check_prepared(GemmCall call, const Prepared* a, const Prepared* b, const void* alpha, const void* beta);

// The options of such a product: accuracy and plan are those of the operand, and others that are given are an error.
Options options_of_prepared(Options options, const Prepared& made);

}  // namespace ozfp4::c_api
