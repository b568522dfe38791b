// Parts of the extension module ozfp4._cuda.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <mutex>

#include "cuda/multiply/gpu.hpp"

namespace ozfp4::bindings {

void register_kernels(pybind11::module_& module);
void register_problem(pybind11::module_& module);
void register_store(pybind11::module_& module);    // after the types of register_problem
void register_partial(pybind11::module_& module);  // likewise
void register_complex(pybind11::module_& module);  // behind that of problems, whose types it takes
void register_trust(pybind11::module_& module);

using cuda::gpu_of;

// Throws std::invalid_argument for a number that no kernel has.
cuda::Kernel kernel_of(int number);

const char* element_name(Element element);

// Held while the launches of a product or a store are enqueued that share counters at this address, or a workspace beside them:
// threads on one stream enqueue one after the other. Each address has a lock of its own, as a launch waits where its stream is
// full; of 0, nothing shared, there is none.
std::unique_lock<std::mutex> launching(std::uintptr_t clear_counters);

}  // namespace ozfp4::bindings
