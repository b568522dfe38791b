// The multiply kernels: which there are, where they run, and their self-test.
#include <pybind11/stl.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "bindings/cuda/register.hpp"
#include "bindings/verdicts.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/scale/scale.hpp"
#include "cuda/thin/thin.hpp"
#include "product/trust/gpu.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;
using namespace ozfp4::cuda;

Kernel kernel_of(int number) {
  if (number < 0 || number >= kKernelCount) throw std::invalid_argument("kernel: " + std::to_string(number) + " is no kernel");
  return static_cast<Kernel>(number);
}

const char* element_name(Element element) { return element == Element::u8 ? "u8" : element == Element::s8 ? "s8" : "e2m1"; }

namespace {

Element element_of_name(const std::string& name) {
  if (name == "u8") return Element::u8;
  if (name == "s8") return Element::s8;
  if (name == "e2m1") return Element::e2m1;
  throw std::invalid_argument("element: '" + name + "'; one of 'u8', 's8', 'e2m1'");
}

py::tuple capabilities() {
  py::list held;
  for (const int* capability = held_capabilities(); *capability != 0; ++capability) {
    held.append(py::make_tuple(*capability / 10, *capability % 10));
  }
  return py::tuple(held);
}

py::tuple kernel_names() {
  py::list names;
  for (int i = 0; i < kKernelCount; ++i) names.append(kernel_name(static_cast<Kernel>(i)));
  return py::tuple(names);
}

py::tuple tile_names(int kernel) {
  py::list names;
  for (const TileShape shape : kernel_tiles(kernel_of(kernel))) names.append(tile_geometry(shape).name);
  return py::tuple(names);
}

}  // namespace

void register_kernels(py::module_& module) {
  module.attr("compute_capabilities") = capabilities();
  module.attr("kernels") = kernel_names();
  module.def("tiles", &tile_names);
  module.def("kernel_error", [](int kernel, const std::string& element, int device) {  // None where there is none
    return find_kernel_error(kernel_of(kernel), element_of_name(element), gpu_of(device));
  });
  module.def("find_kernel", [](const std::string& element, int device, bool residues) {
    Kernel kernel = Kernel::hopper;
    const bool is_found = find_kernel(element_of_name(element), gpu_of(device), residues, &kernel);
    return is_found ? std::make_optional(static_cast<int>(kernel)) : std::nullopt;
  });
  module.def("has_thin_kernels", [](int device) {
    const DeviceGuard guard(device);
    return has_thin_kernels();
  });
  module.def("code_version", [](int device) {
    const DeviceGuard guard(device);
    const CodeVersion code = built_code();
    return py::make_tuple(code.ptx, code.binary);
  });
}

// As bindings/cpu/register_trust of the kernels of the CPU.
void register_trust(py::module_& module) {
  module.def("kernels_of", [](int device, const Plan* plan) {
    NamedElements named;
    for (const product::KernelName& kernel : product::device_kernels(device, plan)) {
      named.emplace_back(kernel.name, kernel.element);
    }
    return named;
  });
  module.def("device_facts", [](int device) { return as_dict(product::find_device_facts(device)); });
  register_verdicts<int>(module, product::find_device_verdict, product::known_device_verdict, product::test_on_device);
  module.def("failed_kernels", [] {
    py::list found;
    for (const auto& [device, kernel] : product::failed_device_kernels()) {
      found.append(py::make_tuple(device, kernel.name, kernel.element));
    }
    return found;
  });
  module.def("forget_verdicts", [] { product::forget_device_verdicts(); });
  module.def("break_kernels", [](const NamedElements& kernels) { product::break_device_kernels(kernel_names(kernels)); });
}

}  // namespace ozfp4::bindings
