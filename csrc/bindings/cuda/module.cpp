// The extension module `ozfp4._cuda`: products of torch's tensors on an NVIDIA GPU, enqueued on torch's current stream in memory
// that torch allocates. Nothing synchronises but for a report. Needs `ozfp4._core` for the type of plans.
#include "bindings/cuda/register.hpp"
#include "bindings/errors.hpp"

namespace py = pybind11;

PYBIND11_MODULE(_cuda, module) {
  module.doc() = "Products on an NVIDIA GPU, enqueued on the caller's stream.";
  py::module_::import("ozfp4._core");
  ozfp4::bindings::translate_errors();
  ozfp4::bindings::register_kernels(module);
  ozfp4::bindings::register_partial(module);
  ozfp4::bindings::register_product(module);
  ozfp4::bindings::register_trust(module);
}
