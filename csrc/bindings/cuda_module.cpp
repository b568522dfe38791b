// The extension module `ozfp4._cuda`: products on an NVIDIA GPU. Pointers, strides and the stream come in as integers, all
// memory belongs to the caller, nothing synchronises. Needs `ozfp4._core` for the type of plans.
#include <cuda_runtime_api.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/cuda_matmul.hpp"

namespace {

namespace py = pybind11;
using namespace ozfp4;
using namespace ozfp4::cuda;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // else the caller's next look for errors, in work that has nothing to do with it, finds this one
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

// Makes a device current for its lifetime.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) : device_(device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    if (previous_ != device_) check(cudaSetDevice(device_), "cudaSetDevice");
  }
  ~DeviceGuard() {
    if (previous_ != device_) cudaSetDevice(previous_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int device_, previous_ = 0;
};

constexpr std::uintptr_t kPointerAlignment = 16;  // the widest loads and stores

using Extents = std::vector<std::int64_t>;

Stack make_stack(const Extents& extents, const Extents& strides) {
  if (extents.size() != strides.size() || extents.size() > static_cast<std::size_t>(kMaxStackRank)) {
    throw std::invalid_argument("stack: at most " + std::to_string(kMaxStackRank) + " axes");
  }
  Stack stack;
  stack.rank = static_cast<int>(extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    stack.extent[i] = static_cast<std::int32_t>(extents[i]);
    stack.stride[i] = strides[i];
  }
  return stack;
}

DeviceOperand make_operand(std::uintptr_t data, ElementType type, std::int32_t outer, std::int32_t inner,
                           std::int64_t outer_stride, std::int64_t inner_stride, const Extents& extents, const Extents& strides) {
  return {reinterpret_cast<const char*>(data), type, outer, inner, outer_stride, inner_stride, make_stack(extents, strides)};
}

DeviceResult make_result(std::uintptr_t data, ElementType type, std::int32_t rows, std::int32_t columns, std::int64_t row_stride,
                         std::int64_t column_stride, const Extents& extents, const Extents& strides, const Extents& a_step,
                         const Extents& b_step) {
  DeviceResult result{reinterpret_cast<char*>(data), type, rows, columns, row_stride, column_stride,
                      make_stack(extents, strides)};
  for (std::size_t i = 0; i < extents.size(); ++i) {
    result.a_step[i] = static_cast<std::int32_t>(a_step.at(i));
    result.b_step[i] = static_cast<std::int32_t>(b_step.at(i));
  }
  return result;
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
  Problem(std::shared_ptr<CudaPlan> plan, const DeviceOperand& a, const DeviceOperand& b, const DeviceResult& result, int device,
          std::int64_t cap, std::uintptr_t device_steps)
      : plan_(std::move(plan)),
        a_(a),
        b_(b),
        result_(result),
        device_(device),
        device_steps_(reinterpret_cast<const GemmStep*>(device_steps)) {
    const DeviceGuard guard(device);
    const Gpu gpu = gpu_of(device);
    layout_ = make_layout(*plan_, a_, b_, result_, gpu, cap);
    check_matmul(*plan_, layout_, a_, b_, result_, device_steps_, gpu);
  }

  std::int64_t bytes() const { return layout_.bytes; }
  const CudaLayout& layout() const { return layout_; }
  const CudaPlan& plan() const { return *plan_; }
  std::int64_t lines_a() const { return std::int64_t(a_.stack.count()) * a_.outer; }
  std::int64_t lines_b() const { return std::int64_t(b_.stack.count()) * b_.outer; }

  void launch(std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, std::uintptr_t workspace, std::uintptr_t clear_counters,
              std::uintptr_t stream, std::uintptr_t after_scale, std::uintptr_t after_encode,
              std::uintptr_t after_multiply) const {
    const DeviceGuard guard(device_);
    const StageEvents events{reinterpret_cast<cudaEvent_t>(after_scale), reinterpret_cast<cudaEvent_t>(after_encode),
                             reinterpret_cast<cudaEvent_t>(after_multiply)};
    launch_matmul(*plan_, layout_, at(a_, a), at(b_, b), at(result_, c), reinterpret_cast<char*>(workspace),
                  reinterpret_cast<void*>(clear_counters), device_steps_, reinterpret_cast<cudaStream_t>(stream), events);
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
  DeviceOperand a_, b_;
  DeviceResult result_;
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
  d["block"] = py::make_tuple(layout.rows, layout.columns);
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
           py::arg("inner_stride"), py::arg("extents"), py::arg("strides"));
  py::class_<DeviceResult>(module, "Result")
      .def(py::init(&make_result), py::arg("data"), py::arg("type"), py::arg("rows"), py::arg("columns"), py::arg("row_stride"),
           py::arg("column_stride"), py::arg("extents"), py::arg("strides"), py::arg("a_step"), py::arg("b_step"));
  py::class_<CudaPlan, std::shared_ptr<CudaPlan>>(module, "CudaPlan")
      .def(py::init([](const Plan& plan, int k, int kernel) {
             return std::make_shared<CudaPlan>(make_cuda_plan(plan, k, kernel_of(kernel)));
           }),
           py::arg("plan"), py::arg("k"), py::arg("kernel"))
      .def_property_readonly("device_steps", &device_steps);
  py::class_<Problem>(module, "Problem")
      .def(py::init<std::shared_ptr<CudaPlan>, const DeviceOperand&, const DeviceOperand&, const DeviceResult&, int, std::int64_t,
                    std::uintptr_t>(),
           py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("result"), py::arg("device"), py::arg("workspace_limit"),
           py::arg("device_steps"))
      .def_property_readonly("bytes", &Problem::bytes)
      .def_property_readonly("lines_a", &Problem::lines_a)
      .def_property_readonly("lines_b", &Problem::lines_b)
      .def("describe", &describe)
      .def("launch", &Problem::launch, py::arg("a"), py::arg("b"), py::arg("c"), py::arg("workspace"), py::arg("clear_counters"),
           py::arg("stream"), py::arg("after_scale") = 0, py::arg("after_encode") = 0, py::arg("after_multiply") = 0);
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
