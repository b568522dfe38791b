// Parts of the extension module ozfp4._cuda.
#pragma once

#include <pybind11/pybind11.h>

#include "cuda/multiply/contract.hpp"

namespace ozfp4::bindings {

void register_kernels(pybind11::module_& module);
void register_partial(pybind11::module_& module);
void register_product(pybind11::module_& module);
void register_trust(pybind11::module_& module);

using cuda::gpu_of;

// Throws std::invalid_argument for a number that no kernel has.
cuda::Kernel kernel_of(int number);

const char* element_name(Element element);

}  // namespace ozfp4::bindings
