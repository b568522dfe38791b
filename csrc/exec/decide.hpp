// Whether ozfp4 makes a product, by what was asked for and by the thresholds of the device.
#pragma once

#include <cstdint>

#include "exec/product.hpp"
#include "exec/real_routine.hpp"
#include "exec/reason.hpp"

namespace ozfp4::exec {

// Each is Reason::none, or why the call is left. By routine, type and extents; where the mode is `fastest`, `threshold` is the
// least of the extents that gain. By alpha and beta, and the mode in which they are multiplied.
Reason by_request(const Real& real, const Product& product);
Reason by_threshold(const Product& product, std::int64_t threshold);
Reason by_factors(const Product& product);

// A call of a CPU's BLAS, from the decision to the count: why ozfp4 has made the product, which is then counted, or why the
// caller is to call the real routine.
Reason serve_or_leave(const Real& real, const Product& product);

}  // namespace ozfp4::exec
