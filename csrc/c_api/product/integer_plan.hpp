// The plan of a product of integers.
#pragma once

#include "c_api/checked/integers.hpp"
#include "c_api/product/product.hpp"

namespace ozfp4::c_api {

// The options by which plan_for finds it, with a precision of 53 bits, which they have in its place. Throws Refusal where
// options.plan has too few bits.
Options integer_plan_options(const Options& options, const IntegerProduct& product);

}  // namespace ozfp4::c_api
