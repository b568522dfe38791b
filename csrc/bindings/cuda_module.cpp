// The extension module `ozfp4._cuda`: products on an NVIDIA GPU. Pointers, strides and the stream come in as integers, all
// memory belongs to the caller, nothing synchronises. Needs `ozfp4._core` for the type of plans.
#include <cuda_runtime_api.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arith/narrow.hpp"
#include "cuda/device_guard.hpp"
#include "cuda/matmul.hpp"

namespace {

namespace py = pybind11;
using namespace ozfp4;
using namespace ozfp4::cuda;

constexpr std::uintptr_t kPointerAlignment = 16;  // the widest loads and stores

using Extents = std::vector<std::int64_t>;

DeviceOperand make_operand(std::uintptr_t data, ElementType type, std::int64_t outer, std::int64_t inner,
                           std::int64_t outer_stride, std::int64_t inner_stride) {
  return {reinterpret_cast<const char*>(data),
          type,
          narrow<std::int32_t>(outer, "rows of a or columns of b"),
          narrow<std::int32_t>(inner, "k"),
          outer_stride,
          inner_stride,
          {}};
}

DeviceResult make_result(std::uintptr_t data, ElementType type, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                         std::int64_t column_stride) {
  DeviceResult result;
  result.data = reinterpret_cast<char*>(data);
  result.type = type;
  result.rows = narrow<std::int32_t>(rows, "rows of c");
  result.columns = narrow<std::int32_t>(columns, "columns of c");
  result.row_stride = row_stride;
  result.column_stride = column_stride;
  return result;
}

std::vector<StackAxis> make_axes(const Extents& extents, const Extents& a, const Extents& b, const Extents& c) {
  std::vector<StackAxis> axes;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 1) throw std::invalid_argument("stack: an extent of " + std::to_string(extents[i]));
    axes.push_back({extents[i], a.at(i), b.at(i), c.at(i)});
  }
  return axes;
}

Gpu gpu_of(int device) {
  int major = 0, minor = 0;
  Gpu gpu;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&gpu.multiprocessors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  gpu.capability = 10 * major + minor;
  return gpu;
}

// What calls of the same shapes, strides, types and alignments share: views, layout. The data pointers that it is made with
// matter by their alignment to kPointerAlignment alone; every launch brings its own.
class Problem {
 public:
  Problem(std::shared_ptr<CudaPlan> plan, const DeviceOperand& a, const DeviceOperand& b, const DeviceResult& result,
          const Extents& extents, const Extents& strides_a, const Extents& strides_b, const Extents& strides_c, int device,
          std::int64_t cap, std::uintptr_t device_steps)
      : plan_(std::move(plan)),
        product_{a, b, result, make_axes(extents, strides_a, strides_b, strides_c)},
        device_(device),
        device_steps_(reinterpret_cast<const GemmStep*>(device_steps)) {
    const DeviceGuard guard(device);
    const Gpu gpu = gpu_of(device);
    layout_ = make_layout(*plan_, product_, gpu, cap);
    check_matmul(*plan_, layout_, product_, device_steps_, gpu);
  }

  std::int64_t bytes() const { return layout_.bytes; }
  std::int64_t turns() const { return layout_.turns.count; }
  const CudaLayout& layout() const { return layout_; }
  const CudaPlan& plan() const { return *plan_; }

  // Lines of A and of B of a turn, 0 where an earlier turn had the same matrices.
  std::pair<std::int64_t, std::int64_t> new_lines(std::int64_t index) const {
    const Turn turn = turn_at(product_, layout_.turns, index);
    return {turn.is_new_a ? turn.a.stack.count() * turn.a.outer : 0, turn.is_new_b ? turn.b.stack.count() * turn.b.outer : 0};
  }

  // The turns from first_turn to before last_turn. The interpreter is free meanwhile: launches wait where the stream is full.
  void launch(std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, std::uintptr_t workspace, std::uintptr_t clear_counters,
              std::uintptr_t stream, std::uintptr_t after_scale, std::uintptr_t after_encode, std::uintptr_t after_multiply,
              std::int64_t first_turn, std::int64_t last_turn) const {
    const py::gil_scoped_release unlocked;
    const DeviceGuard guard(device_);
    const StageEvents events{reinterpret_cast<cudaEvent_t>(after_scale), reinterpret_cast<cudaEvent_t>(after_encode),
                             reinterpret_cast<cudaEvent_t>(after_multiply)};
    const CudaProduct product{at(product_.a, a), at(product_.b, b), at(product_.result, c), product_.axes};
    for (std::int64_t index = first_turn; index < std::min(last_turn, turns()); ++index) {
      launch_matmul(*plan_, layout_, turn_at(product, layout_.turns, index), reinterpret_cast<char*>(workspace),
                    reinterpret_cast<void*>(clear_counters), device_steps_, reinterpret_cast<cudaStream_t>(stream), events);
    }
  }

 private:
  template <class View>
  static View at(View view, std::uintptr_t data) {
    if ((reinterpret_cast<std::uintptr_t>(view.data) ^ data) % kPointerAlignment != 0) {
      throw std::invalid_argument("a pointer is aligned otherwise than the one the problem was made with");
    }
    view.data = reinterpret_cast<decltype(view.data)>(data);
    return view;
  }

  std::shared_ptr<CudaPlan> plan_;
  CudaProduct product_;
  int device_;
  const GemmStep* device_steps_;
  CudaLayout layout_;
};

// The stream's number, unique in the process for all time; -1 where the stream is being captured.
std::int64_t stream_id(std::uintptr_t stream, int device) {
  const DeviceGuard guard(device);
  const auto handle = reinterpret_cast<cudaStream_t>(stream);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  if (cudaStreamIsCapturing(handle, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone ||
      cudaStreamGetId(handle, &id) != cudaSuccess) {
    cudaGetLastError();  // of the queries: the caller then does without the number
    return -1;
  }
  return static_cast<std::int64_t>(id);
}

const char* element_name(Element element) { return element == Element::u8 ? "u8" : element == Element::s8 ? "s8" : "e2m1"; }

py::dict describe(const Problem& problem) {
  const CudaLayout& layout = problem.layout();
  const TileGeometry& geometry = tile_geometry(layout.tile.shape);
  py::dict d;
  d["kernel"] = std::string(kernel_name(problem.plan().kernel));
  d["tile"] = std::string(geometry.name);
  d["splits"] = layout.tile.splits;
  d["scales_and_encodes"] = layout.scales_and_encodes;
  d["block"] = py::make_tuple(layout.rows, layout.columns, layout.inners);
  d["bytes"] = layout.bytes;
  d["units_used"] = layout.units_used;
  d["shift_a"] = layout.shift_a;
  d["shift_b"] = layout.shift_b;
  d["special_a"] = layout.special_a;
  d["special_b"] = layout.special_b;
  d["planes_a"] = layout.planes_a;
  d["planes_b"] = layout.planes_b;
  d["outputs"] = layout.outputs;
  d["element"] = std::string(element_name(problem.plan().schedule.element));
  d["plane_count"] = problem.plan().schedule.planes;
  d["output_planes"] = problem.plan().schedule.out_planes;
  d["k_pitch"] = layout.k_pitch;
  d["out_pitch"] = layout.out_pitch;
  return d;
}

Kernel kernel_of(int number) {
  if (number < 0 || number >= kKernels) throw std::invalid_argument("kernel: " + std::to_string(number) + " is no kernel");
  return static_cast<Kernel>(number);
}

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

// The steps of a schedule that is too long for the kernel's parameters, as bytes to be brought to the device; else none.
py::bytes device_steps(const CudaPlan& plan) {
  const auto& steps = plan.schedule.steps;
  if (steps.size() <= static_cast<std::size_t>(kMaxInlineSteps)) return py::bytes();
  return py::bytes(reinterpret_cast<const char*>(steps.data()), steps.size() * sizeof(GemmStep));
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
  problem.element = element;
  problem.product_bound = element == Element::u8 ? 255 * 255 : element == Element::s8 ? 128 * 128 : 144;
  problem.a = {reinterpret_cast<const void*>(a), 1, 1, pitch_a, m * pitch_a, m * pitch_a};
  problem.b = {reinterpret_cast<const void*>(b), 1, 1, pitch_b, n * pitch_b, n * pitch_b};
  problem.out = reinterpret_cast<void*>(out);
  problem.out_planes = static_cast<int>(moduli.size());
  problem.out_pitch = out_pitch;
  problem.out_matrix_stride = m * out_pitch;
  const std::uint32_t bound = is_signed(element) ? problem.product_bound * static_cast<std::uint32_t>(k) : 0;
  std::vector<GemmStep> steps;
  std::vector<int> unit_begin(1, 0);
  for (const std::uint32_t modulus : moduli) {
    if (modulus < 2 || modulus > 256) throw std::invalid_argument("moduli: " + std::to_string(modulus) + " is not in 2..256");
    steps.push_back(make_step(0, 0, 0, k, Action::store_residue, modulus, 1, static_cast<int>(steps.size()), bound));
    unit_begin.push_back(static_cast<int>(steps.size()));
  }
  problem.steps = steps.data();
  problem.unit_begin = unit_begin.data();
  problem.unit_count = static_cast<int>(moduli.size());
  GemmShape shape;
  shape.m = m, shape.n = n, shape.k = k;
  shape.units = shape.steps = shape.folds = problem.unit_count;
  const TileChoice choice = choose_tile(shape, kernel_of(kernel), element, gpu);
  if (const char* error = find_launch_error(problem, choice, kernel_of(kernel), gpu)) throw std::invalid_argument(error);
  launch_gemm(problem, choice, kernel_of(kernel), reinterpret_cast<cudaStream_t>(stream));
}

}  // namespace

PYBIND11_MODULE(_cuda, module) {
  module.doc() = "Products on an NVIDIA GPU, enqueued on the caller's stream.";
  py::module_::import("ozfp4._core");
  module.attr("compute_capabilities") = capabilities();
  module.attr("kernels") = kernel_names();
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
        Kernel kernel = Kernel::sm90;
        if (!find_kernel(element_of_name(element), gpu_of(device), residues, &kernel)) return py::none();
        return py::int_(static_cast<int>(kernel));
      },
      py::arg("element"), py::arg("device"), py::arg("residues") = true);
  module.def("multiply", &multiply, py::arg("kernel"), py::arg("element"), py::arg("m"), py::arg("n"), py::arg("k"), py::arg("a"),
             py::arg("pitch_a"), py::arg("b"), py::arg("pitch_b"), py::arg("moduli"), py::arg("out"), py::arg("out_pitch"),
             py::arg("stream"), py::arg("device"));

  py::enum_<ElementType>(module, "ElementType")
      .value("float64", ElementType::float64)
      .value("float32", ElementType::float32)
      .value("int8", ElementType::int8);
  py::class_<DeviceOperand>(module, "Operand")
      .def(py::init(&make_operand), py::arg("data"), py::arg("type"), py::arg("outer"), py::arg("inner"), py::arg("outer_stride"),
           py::arg("inner_stride"));
  py::class_<DeviceResult>(module, "Result")
      .def(py::init(&make_result), py::arg("data"), py::arg("type"), py::arg("rows"), py::arg("columns"), py::arg("row_stride"),
           py::arg("column_stride"));
  py::class_<CudaPlan, std::shared_ptr<CudaPlan>>(module, "CudaPlan")
      .def(py::init([](const Plan& plan, std::int64_t k, int kernel) {
             return std::make_shared<CudaPlan>(make_cuda_plan(plan, narrow<int>(k, "k"), kernel_of(kernel)));
           }),
           py::arg("plan"), py::arg("k"), py::arg("kernel"))
      .def_property_readonly("device_steps", &device_steps);
  py::class_<Problem>(module, "Problem")
      .def(py::init<std::shared_ptr<CudaPlan>, const DeviceOperand&, const DeviceOperand&, const DeviceResult&, const Extents&,
                    const Extents&, const Extents&, const Extents&, int, std::int64_t, std::uintptr_t>(),
           py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("result"), py::arg("extents"), py::arg("strides_a"),
           py::arg("strides_b"), py::arg("strides_c"), py::arg("device"), py::arg("workspace_limit"), py::arg("device_steps"))
      .def_property_readonly("bytes", &Problem::bytes)
      .def_property_readonly("turns", &Problem::turns)
      .def("new_lines", &Problem::new_lines, py::arg("turn"))
      .def("describe", &describe)
      .def("launch", &Problem::launch, py::arg("a"), py::arg("b"), py::arg("c"), py::arg("workspace"), py::arg("clear_counters"),
           py::arg("stream"), py::arg("after_scale") = 0, py::arg("after_encode") = 0, py::arg("after_multiply") = 0,
           py::arg("first_turn") = 0, py::arg("last_turn") = std::numeric_limits<std::int64_t>::max());
  module.attr("pointer_alignment") = kPointerAlignment;
  module.attr("counter_bytes") = kScaleCounterBytes;
  module.def(
      "code_version",
      [](int device) {
        const DeviceGuard guard(device);
        const CodeVersion code = built_code();
        return py::make_tuple(code.ptx, code.binary);
      },
      py::arg("device"));
  module.def("stream_id", &stream_id, py::arg("stream"), py::arg("device"));
}
