// The findings of products on the CPU, as dictionaries from which Python makes its reports.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

#include "product/cpu/product.hpp"

namespace ozfp4::bindings {

// With the plan, None where the options have one, and why it was taken. `k` and `precision`: those by which it was chosen.
pybind11::dict outcome_dict(const product::Ran& ran, const product::Options& options, int precision, std::int64_t k);

// The same of integers, by a plan for so many bits; in words alone there is no "plan". `is_exact`: words serve where they wrap
// nothing.
pybind11::dict outcome_dict(const product::IntegersRan& ran, const product::Options& options, int bits, std::int64_t k,
                            bool is_exact);

}  // namespace ozfp4::bindings
