// The environment of products on the CPU, for Python: kernels for the INT8 units, a name and a setting each, threads, the
// floating-point mode. Also copies of arrays by several threads, for operands that travel to a device and results that come back.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/interpreter_lock.hpp"
#include "bindings/register.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/limbs/unit.hpp"
#include "cpu/runtime/copies.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/runtime/threads.hpp"
#include "product/measured.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

// The name of a kernel for bytes and its setting; None for floating point.
using NamedKernel = std::pair<std::string, std::string>;
std::optional<NamedKernel> named(const ByteKernel* kernel) {
  return kernel == nullptr ? std::nullopt : std::optional<NamedKernel>(std::in_place, kernel->name, kernel->setting);
}

// A context: products that this thread begins within it take the kernel of a setting.
struct Forcing {
  const ByteKernel* kernel;
  std::unique_ptr<ForcedKernel> forced = nullptr;
};

// A context: its thread is in the default floating-point mode.
struct FpModeContext {
  std::optional<DefaultFpMode> mode;
};

// Precondition: up to three axes.
StridedEntries entries_of(const py::array& x, char* data) {
  StridedEntries entries{data, {0, 0, 0}};
  for (py::ssize_t axis = 0; axis < x.ndim(); ++axis) entries.strides[3 - x.ndim() + axis] = x.strides(axis);
  return entries;
}

void copy(py::array destination, const py::array& source) {
  const py::ssize_t item = source.itemsize();
  if (destination.ndim() != source.ndim() || source.ndim() > 3 || destination.itemsize() != item) {
    throw std::invalid_argument("destination: " + std::to_string(destination.ndim()) + " axes of entries of " +
                                std::to_string(destination.itemsize()) + " bytes, the source has " +
                                std::to_string(source.ndim()) + " of " + std::to_string(item) +
                                "; alike and at most 3 are needed");
  }
  if (item != 1 && item != 2 && item != 4 && item != 8 && item != 16) {
    throw std::invalid_argument("source: entries of " + std::to_string(item) + " bytes; allowed are 1, 2, 4, 8 and 16");
  }
  std::array<std::int64_t, 3> extents{1, 1, 1};
  for (py::ssize_t axis = 0; axis < source.ndim(); ++axis) {
    if (destination.shape(axis) != source.shape(axis)) {
      throw std::invalid_argument("destination: extent " + std::to_string(destination.shape(axis)) + " of axis " +
                                  std::to_string(axis) + " is not the source's, " + std::to_string(source.shape(axis)));
    }
    extents[3 - source.ndim() + axis] = source.shape(axis);
  }
  const StridedEntries to = entries_of(destination, static_cast<char*>(destination.mutable_data()));
  const StridedEntries from = entries_of(source, static_cast<char*>(const_cast<void*>(source.data())));
  const Unlocked unlocked;
  copy_entries(to, from, extents, static_cast<int>(item));
}

}  // namespace

void register_runtime(py::module_& module) {
  module.def("byte_kernels", [] {
    std::vector<NamedKernel> found;
    for (const ByteKernel* kernel : byte_kernels()) found.push_back(*named(kernel));
    return found;
  });
  module.def("serving_byte_kernel", [] { return named(serving_byte_kernel()); });
  module.def("has_limb_unit", [] { return amx_limbs.is_here(); });
  module.def("disable_limb_unit", &disable_limb_unit);
  py::class_<Forcing>(module, "ForcedKernel")
      .def(py::init([](const std::string& setting) { return Forcing{find_byte_kernel(setting, "setting")}; }))
      .def("__enter__", [](Forcing& forcing) { forcing.forced = std::make_unique<ForcedKernel>(forcing.kernel); })
      .def("__exit__", [](Forcing& forcing, const py::args&) { forcing.forced.reset(); });
  module.def("thread_count", &thread_count);
  module.def("set_thread_count", &set_thread_count);
  module.def("read_environment", &read_measured);
  py::class_<FpModeContext>(module, "DefaultFpMode")
      .def(py::init())
      .def("__enter__", [](FpModeContext& context) { context.mode.emplace(); })
      .def("__exit__", [](FpModeContext& context, const py::args&) { context.mode.reset(); });
  module.def("copy_entries", &copy, py::arg("destination").noconvert(), py::arg("source").noconvert());
}

}  // namespace ozfp4::bindings
