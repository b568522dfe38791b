// The right operand of a complex product, made real on the device.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "bindings/cuda/register.hpp"
#include "bindings/interpreter_lock.hpp"
#include "cuda/complex/expand.hpp"
#include "cuda/runtime/device_guard.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;
using namespace ozfp4::cuda;

void expand(std::uintptr_t data, ElementType type, std::int64_t matrices, std::int64_t k, std::int64_t n,
            std::int64_t matrix_stride, std::int64_t k_stride, std::int64_t n_stride, bool is_conjugated, std::uintptr_t to,
            std::uintptr_t stream, int device) {
  if (!is_float(type)) throw std::invalid_argument("type: complex numbers are of float64 or float32");
  if (matrices < 1 || k < 1 || n < 1) throw std::invalid_argument("every extent must be at least 1");
  const std::uintptr_t entry = type == ElementType::float64 ? 16 : 8;
  if (data % entry != 0 || to % entry != 0) {
    throw std::invalid_argument("the pointers must be aligned to " + std::to_string(entry) + " bytes");
  }
  const Unlocked unlocked;  // a launch waits where the stream is full
  const DeviceGuard guard(device);
  launch_expand({reinterpret_cast<const void*>(data), type, matrices, k, n, matrix_stride, k_stride, n_stride, is_conjugated},
                reinterpret_cast<void*>(to), reinterpret_cast<cudaStream_t>(stream));
}

}  // namespace

void register_complex(py::module_& module) {
  module.def("expand", &expand, py::arg("data"), py::arg("type"), py::arg("matrices"), py::arg("k"), py::arg("n"),
             py::arg("matrix_stride"), py::arg("k_stride"), py::arg("n_stride"), py::arg("is_conjugated"), py::arg("to"),
             py::arg("stream"), py::arg("device"));
}

}  // namespace ozfp4::bindings
