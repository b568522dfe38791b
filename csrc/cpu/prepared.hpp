// An operand that was scaled and encoded once, for any number of products: what stages 1 and 2 leave of all of it.
#pragma once

#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

struct PreparedOperand {
  Scales scales;       // with records, for products that ask for them
  Buffer planes;       // of all moduli or groups: how many a product takes is known with its other operand
  std::int64_t bytes;  // of the planes
  bool is_packed;      // they are tiles for a kernel for bytes, else [plane][outer][inner]
};

// `is_right`: it is B. Precondition: float64 or float32 entries, at least one; request.bits as for cpu_matmul; of a complex plan
// expanded as kPair says.
PreparedOperand cpu_prepare(const Plan& plan, const OperandView& view, const ScaleRequest& request, bool is_right);

// An operand of a product, prepared or not. `prepared` is of all lines of the view, and outlives the product.
struct MatmulOperand {
  MatmulOperand(const OperandView& operand, const PreparedOperand* made = nullptr) : view(operand), prepared(made) {}

  OperandView view;
  const PreparedOperand* prepared;
};

}  // namespace ozfp4
