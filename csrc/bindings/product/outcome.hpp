// The outcome of a product on the CPU as a dictionary, from which Python makes its report.
#pragma once

#include <pybind11/pybind11.h>

#include "cpu/matmul.hpp"

namespace ozfp4::bindings {

pybind11::dict outcome_dict(const MatmulOutcome& total);

}  // namespace ozfp4::bindings
