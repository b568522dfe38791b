// The extension module `ozfp4._cuda`: products on an NVIDIA GPU. Pointers, strides and the stream come in as integers, all
// memory belongs to the caller, nothing synchronises unless asked to. Needs `ozfp4._core` for the type of plans.
#include "bindings/cuda/register.hpp"
#include "bindings/errors.hpp"
#include "cuda/fused/tile.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/stream.hpp"
#include "cuda/stages.hpp"

namespace py = pybind11;
using namespace ozfp4::cuda;

PYBIND11_MODULE(_cuda, module) {
  module.doc() = "Products on an NVIDIA GPU, enqueued on the caller's stream.";
  py::module_::import("ozfp4._core");
  ozfp4::bindings::translate_errors();
  ozfp4::bindings::register_kernels(module);
  ozfp4::bindings::register_problem(module);
  ozfp4::bindings::register_store(module);
  ozfp4::bindings::register_partial(module);
  ozfp4::bindings::register_complex(module);
  ozfp4::bindings::register_trust(module);
  module.attr("counter_bytes") = kCounterBytes;
  module.attr("most_direct_inner") = kMostDirectInner;
  module.attr("most_tile_inner") = kMostTileInner;
  module.attr("most_thin_lines") = kMostThinLines;
  module.def(
      "code_version",
      [](int device) {
        const DeviceGuard guard(device);
        const CodeVersion code = built_code();
        return py::make_tuple(code.ptx, code.binary);
      },
      py::arg("device"));
  module.def(
      "stream_id", [](std::uintptr_t stream, int device) { return stream_id(reinterpret_cast<cudaStream_t>(stream), device); },
      py::arg("stream"), py::arg("device"));
}
