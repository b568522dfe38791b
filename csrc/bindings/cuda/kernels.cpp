// The multiply kernels: which there are and where they run, and one by itself.
#include <pybind11/stl.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/cuda/register.hpp"
#include "bindings/interpreter_lock.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/thin/thin.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;
using namespace ozfp4::cuda;

Kernel kernel_of(int number) {
  if (number < 0 || number >= kKernels) throw std::invalid_argument("kernel: " + std::to_string(number) + " is no kernel");
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
  for (int i = 0; i < kKernels; ++i) names.append(kernel_name(static_cast<Kernel>(i)));
  return py::tuple(names);
}

py::tuple tile_names(int kernel) {
  py::list names;
  for (const TileShape shape : kernel_tiles(kernel_of(kernel))) names.append(tile_geometry(shape).name);
  return py::tuple(names);
}

// out[u][i][j] = (sum over k of A[i][k] B[j][k]) mod moduli[u], for tests of a kernel by itself.
void multiply(int kernel, const std::string& element_name, int m, int n, int k, std::uintptr_t a, std::int64_t pitch_a,
              std::uintptr_t b, std::int64_t pitch_b, const std::vector<std::uint32_t>& moduli, std::uintptr_t out,
              std::int64_t out_pitch, std::uintptr_t stream, int device) {
  const DeviceGuard guard(device);
  const Element element = element_of_name(element_name);
  const Gpu gpu = gpu_of(device);
  if (const char* error = find_kernel_error(kernel_of(kernel), element, gpu))
    throw std::invalid_argument(std::string("kernel: ") + error);
  if (moduli.empty() || moduli.size() > static_cast<std::size_t>(kMaxUnits))
    throw std::invalid_argument("moduli: 1 to 64 of them");
  GemmProblem problem;
  problem.m = m, problem.n = n, problem.k = k;
  problem.a = {reinterpret_cast<const void*>(a), 1, 1, pitch_a, m * pitch_a, m * pitch_a};
  problem.b = {reinterpret_cast<const void*>(b), 1, 1, pitch_b, n * pitch_b, n * pitch_b};
  problem.out = reinterpret_cast<void*>(out);
  problem.out_pitch = out_pitch;
  problem.out_matrix_stride = m * out_pitch;
  Schedule schedule;
  schedule.element = element;
  schedule.product_bound = element == Element::u8 ? 255 * 255 : element == Element::s8 ? 128 * 128 : 144;
  schedule.out_planes = static_cast<int>(moduli.size());
  schedule.unit_begin.push_back(0);
  const std::uint32_t bound = is_signed(element) ? schedule.product_bound * static_cast<std::uint32_t>(k) : 0;
  for (const std::uint32_t modulus : moduli) {
    if (modulus < 2 || modulus > 256) throw std::invalid_argument("moduli: " + std::to_string(modulus) + " is not in 2..256");
    schedule.steps.push_back(make_step(0, 0, 0, k, Action::store_residue, modulus, 1, schedule.unit_count(), bound));
    schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
  }
  problem.attach(schedule);
  GemmShape shape;
  shape.m = m, shape.n = n, shape.k = k;
  shape.units = shape.steps = shape.folds = schedule.unit_count();
  const TileChoice choice = choose_tile(shape, kernel_of(kernel), element, gpu);
  if (const char* error = find_launch_error(problem, choice, kernel_of(kernel), gpu)) throw std::invalid_argument(error);
  const Unlocked unlocked;  // a launch waits where the stream is full
  launch_gemm(problem, choice, kernel_of(kernel), reinterpret_cast<cudaStream_t>(stream));
}

}  // namespace

void register_kernels(py::module_& module) {
  module.attr("compute_capabilities") = capabilities();
  module.attr("kernels") = kernel_names();
  module.def("tiles", &tile_names, py::arg("kernel"));
  module.def(
      "kernel_error",
      [](int kernel, const std::string& element, int device) -> py::object {
        const char* error = find_kernel_error(kernel_of(kernel), element_of_name(element), gpu_of(device));
        return error == nullptr ? py::object(py::none()) : py::object(py::str(error));
      },
      py::arg("kernel"), py::arg("element"), py::arg("device"));
  module.def(
      "find_kernel",
      [](const std::string& element, int device, bool residues) -> py::object {
        Kernel kernel = Kernel::hopper;
        if (!find_kernel(element_of_name(element), gpu_of(device), residues, &kernel)) return py::none();
        return py::int_(static_cast<int>(kernel));
      },
      py::arg("element"), py::arg("device"), py::arg("residues") = true);
  module.def(
      "has_thin_kernels",
      [](int device) {
        const DeviceGuard guard(device);
        return has_thin_kernels();
      },
      py::arg("device"));
  module.def("multiply", &multiply, py::arg("kernel"), py::arg("element"), py::arg("m"), py::arg("n"), py::arg("k"), py::arg("a"),
             py::arg("pitch_a"), py::arg("b"), py::arg("pitch_b"), py::arg("moduli"), py::arg("out"), py::arg("out_pitch"),
             py::arg("stream"), py::arg("device"));
}

}  // namespace ozfp4::bindings
