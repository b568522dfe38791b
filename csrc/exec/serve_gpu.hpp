// A product on a GPU made by ozfp4.
#pragma once

#include "exec/cublas_types.hpp"
#include "exec/product.hpp"
#include "exec/real_routine.hpp"
#include "exec/reason.hpp"

namespace ozfp4::exec::cublas {

// A call of cuBLAS, from the decision to the count: why ozfp4 has enqueued the product, which is then counted, or why the caller
// is to call the real routine. `status`: what the program gets in the first case.
Reason serve_or_leave(const Real& real, Handle handle, const Product& product, Status* status);

}  // namespace ozfp4::exec::cublas
