// A product on the GPU: its views and its layout, made once and launched any number of times.
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arith/narrow.hpp"
#include "bindings/cuda/register.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/tensors/python.hpp"
#include "cuda/matmul.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/stored/layout.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;
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

std::vector<StackAxis> make_axes(const Extents& extents, const Extents& a, const Extents& b, const Extents& c,
                                 const Extents& addend) {
  std::vector<StackAxis> axes;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 1) throw std::invalid_argument("stack: an extent of " + std::to_string(extents[i]));
    axes.push_back({extents[i], a.at(i), b.at(i), c.at(i), 0, addend.empty() ? 0 : addend.at(i)});
  }
  return axes;
}

// What the promise has beside the result: matrices one behind the other, their rows too.
DeviceResult add_second(const Promise& promise, const DeviceResult& result, std::vector<StackAxis>& axes) {
  if (promise.second == Second::none || promise.second == Second::overflows) return {};
  const ElementType type = promise.second == Second::bound ? ElementType::float64 : result.type;
  const std::int64_t entry = type == ElementType::float64 ? 8 : 4;
  DeviceResult second = make_result(0, type, result.rows, result.columns, entry * result.columns, entry);
  std::int64_t behind = result.rows * second.row_stride;
  for (std::size_t i = axes.size(); i-- > 0;) {
    axes[i].second_stride = behind;
    behind *= axes[i].extent;
  }
  return second;
}

template <class T>
T value_of(const std::map<std::string, T>& values, const char* argument, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) throw std::invalid_argument(std::string(argument) + ": " + name + " is unknown");
  return found->second;
}

Promise make_promise(const std::string& accuracy, const std::string& rounding, const std::string& second, int precision,
                     bool updates, std::uint64_t modulus, bool may_lengthen) {
  static const std::map<std::string, Accuracy> accuracies{
      {"scaled", Accuracy::scaled}, {"standard", Accuracy::standard}, {"correct", Accuracy::correct}};
  static const std::map<std::string, Rounding> roundings{
      {"nearest", Rounding::nearest}, {"down", Rounding::down}, {"up", Rounding::up}, {"zero", Rounding::zero}};
  static const std::map<std::string, Second> seconds{
      {"none", Second::none}, {"bound", Second::bound}, {"upper", Second::upper}, {"overflows", Second::overflows}};
  const bool is_whole = accuracy == "exact";  // of integers
  const Promise promise{is_whole ? Accuracy::scaled : value_of(accuracies, "accuracy", accuracy),
                        value_of(roundings, "rounding", rounding),
                        value_of(seconds, "second", second),
                        precision,
                        updates,
                        is_whole,
                        modulus,
                        may_lengthen};
  if (precision != 53 && precision != 24) throw std::invalid_argument("precision: " + std::to_string(precision));
  if (promise.accuracy != Accuracy::correct && (promise.rounding != Rounding::nearest || promise.second == Second::upper)) {
    throw std::invalid_argument("rounding: " + rounding + " needs the accuracy correct, this one is " + accuracy);
  }
  return promise;
}

// Lines of a matrix and matrices of an operand that is kept (cuda/stored); none where it is scaled and encoded with the product.
using Kept = std::optional<std::pair<std::int64_t, std::int64_t>>;

StoredOperand make_stored(const Kept& kept) {
  StoredOperand stored;
  if (kept) {
    stored.lines = narrow<std::int32_t>(kept->first, "lines of an operand that is kept");
    stored.matrices = kept->second;
  }
  return stored;
}

// Where launches of the calling thread tell how many entries they repair, each beside those before it. The thread's, as a product
// may be several launches, and much lies between it and them.
thread_local RepairOrder order_here;

// 0: nobody asks. Returns whether there was a launch that tells since the last call.
bool tell_repaired(std::uintptr_t address) {
  const bool was_told = order_here.adds;
  order_here = {reinterpret_cast<long long*>(address), false};
  return was_told;
}

// What calls of the same shapes, strides, types and alignments share: views, layout. The data pointers that it is made with
// matter by their alignment to kPointerAlignment alone; every launch brings its own.
class Problem {
 public:
  Problem(std::shared_ptr<CudaPlan> plan, const DeviceOperand& a, const DeviceOperand& b, const DeviceResult& result,
          const Extents& extents, const Extents& strides_a, const Extents& strides_b, const Extents& strides_c, int device,
          std::int64_t cap, std::uintptr_t device_steps, const std::optional<std::string>& tile, std::optional<int> splits,
          std::optional<bool> overlap, const Kept& kept_a, const Kept& kept_b, const std::optional<DeviceResult>& addend,
          const Extents& strides_addend, const std::string& direct, const std::array<double, 4>& factors)
      : plan_(std::move(plan)),
        product_{a,
                 b,
                 result,
                 make_axes(extents, strides_a, strides_b, strides_c, strides_addend),
                 {},
                 {},
                 make_stored(kept_a),
                 make_stored(kept_b),
                 {}},
        device_(device),
        device_steps_(reinterpret_cast<const GemmStep*>(device_steps)) {
    product_.second = add_second(plan_->promise, result, product_.axes);
    product_.update.is_asked = plan_->promise.updates;
    if (addend) product_.update.c = *addend;
    if (addend && !is_float(addend->type)) throw std::invalid_argument("addend: float64 or float32 is needed");
    if (addend && !plan_->promise.updates) throw std::invalid_argument("addend: the plan's promise says whether there is one");
    const int precision = result.type == ElementType::float64 ? 53 : 24;
    if (plan_->promise.has_records() && plan_->promise.precision != precision) {
      throw std::invalid_argument("precision: the plan's is " + std::to_string(plan_->promise.precision) + ", the result's " +
                                  std::to_string(precision));
    }
    const DeviceGuard guard(device);
    const Gpu gpu = gpu_of(device);
    ForcedChoice forced{std::nullopt, splits, overlap};
    if (tile) forced.shape = tile_of(plan_->kernel, *tile);
    static const std::map<std::string, Direct> directs{{"never", Direct::never},
                                                       {"where it pays", Direct::where_it_pays},
                                                       {"always", Direct::always},
                                                       {"thin", Direct::thin},
                                                       {"tiles", Direct::tiles}};
    for (const double factor : factors) {
      if (!(factor > 0 && std::isfinite(factor)))
        throw std::invalid_argument("factors: " + std::to_string(factor) + " is not a finite number above 0");
    }
    const OfWays factors_of{factors[0], factors[1], factors[2], factors[3]};
    const auto one = make_direct_layout(*plan_, product_, gpu, cap, forced, value_of(directs, "direct", direct), factors_of);
    if (plan_->plan.is_complex && !one) product_ = with_parts(product_);
    layout_ = one ? *one : make_layout(*plan_, product_, gpu, cap, forced);
    check_matmul(*plan_, layout_, product_, device_steps_, gpu);
  }

  std::int64_t bytes() const { return layout_.bytes; }
  std::int64_t turns() const { return layout_.turns.count; }
  const CudaLayout& layout() const { return layout_; }
  const CudaPlan& plan() const { return *plan_; }
  // Of a plan of real products.
  std::array<double, 4> model_times() const {
    if (plan_->plan.is_complex) throw std::invalid_argument("model_times: the plan is of complex products");
    const OfWays times = cuda::model_times(*plan_, product_, gpu_of(device_));
    return {times.direct, times.thin, times.tiles, times.stages};
  }

  // Lines of A and of B of a turn, 0 where an earlier turn had the same matrices, or they are kept.
  std::pair<std::int64_t, std::int64_t> new_lines(std::int64_t index) const {
    const Turn turn = turn_at(product_, layout_.turns, index);
    const bool has_a = turn.is_new_a && !turn.stored_a.exists(), has_b = turn.is_new_b && !turn.stored_b.exists();
    return {has_a ? turn.a.stack.count() * turn.a.outer : 0, has_b ? turn.b.stack.count() * turn.b.outer : 0};
  }

  // The turns from first_turn to before last_turn; `second`: where what the promise has beside the result goes; `alpha`, `beta`
  // and where `addend` lies: of an update. With sync_stages each stage is waited for. The interpreter is free meanwhile: launches
  // wait where the stream is full.
  void launch(std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, std::uintptr_t workspace, std::uintptr_t clear_counters,
              std::uintptr_t stream, std::uintptr_t after_scale, std::uintptr_t after_encode, std::uintptr_t after_multiply,
              std::int64_t first_turn, std::int64_t last_turn, bool sync_stages, std::uintptr_t second, std::uintptr_t kept_a,
              std::uintptr_t kept_b, std::int64_t first_line_a, std::int64_t first_line_b, double alpha, double beta,
              std::uintptr_t addend) const {
    if ((second == 0) != (plan_->promise.second == Second::none)) {
      throw std::invalid_argument("second: the plan's promise says whether there is one");
    }
    const bool is_plain = alpha == 1.0 && beta == 0.0 && addend == 0;
    if (!std::isfinite(alpha) || alpha == 0.0 || !std::isfinite(beta) || (beta != 0.0) != (addend != 0) ||
        (!is_plain && !plan_->promise.updates)) {
      throw std::invalid_argument("alpha, beta, addend: out of range, or not what the plan's promise has");
    }
    const Unlocked unlocked;
    const std::unique_lock<std::mutex> alone = launching(clear_counters);
    const DeviceGuard guard(device_);
    LaunchOptions options;
    options.stream = reinterpret_cast<cudaStream_t>(stream);
    options.clear_counters = reinterpret_cast<void*>(clear_counters);
    options.events = {reinterpret_cast<cudaEvent_t>(after_scale), reinterpret_cast<cudaEvent_t>(after_encode),
                      reinterpret_cast<cudaEvent_t>(after_multiply)};
    options.sync_stages = sync_stages;
    CudaProduct product{at(product_.a, a),
                        at(product_.b, b),
                        at(product_.result, c),
                        product_.axes,
                        product_.second,
                        product_.parts,
                        kept_at(product_.stored_a, product_.a, kept_a, first_line_a),
                        kept_at(product_.stored_b, product_.b, kept_b, first_line_b),
                        product_.update};
    product.second.data = reinterpret_cast<char*>(second);
    product.update.factors = Update::of(alpha, beta);
    const std::uintptr_t entry = product.update.c.type == ElementType::float64 ? 8 : 4;
    if (addend % entry != 0) throw std::invalid_argument("addend: its entries are not aligned");
    product.update.c.data = reinterpret_cast<char*>(addend);
    const bool tells = order_here.told != nullptr && plan_->promise.certifies();
    for (std::int64_t index = first_turn; index < std::min(last_turn, turns()); ++index) {
      if (tells) options.repair = order_here;
      launch_matmul(*plan_, layout_, turn_at(product, layout_.turns, index), reinterpret_cast<char*>(workspace), device_steps_,
                    options);
      order_here.adds = tells || order_here.adds;
    }
  }

  // All turns of a product that leaves nothing but its result, of operands that are not kept.
  void relaunch(std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, std::uintptr_t workspace, std::uintptr_t clear_counters,
                std::uintptr_t stream, double alpha, double beta, std::uintptr_t addend) const {
    launch(a, b, c, workspace, clear_counters, stream, 0, 0, 0, 0, turns(), false, 0, 0, 0, 0, 0, alpha, beta, addend);
  }

 private:
  // Kept in this memory, of which the product takes the lines from `first_line` on.
  StoredOperand kept_at(StoredOperand stored, const DeviceOperand& own, std::uintptr_t memory, std::int64_t first_line) const {
    if (stored.exists() != (memory != 0)) throw std::invalid_argument("kept: the problem was made for another kind of operand");
    if (!stored.exists()) return stored;
    const std::int64_t pitch = plane_pitch(plan_->schedule.element, own.inner / plan_->plan.width());
    if (memory % 256 != 0 || first_line < 0 || first_line * pitch % 128 != 0 || first_line + own.outer > stored.lines) {
      throw std::invalid_argument("kept: lines from " + std::to_string(first_line) + " on are not there, or not aligned");
    }
    stored.memory = reinterpret_cast<char*>(memory);
    stored.first_line = static_cast<std::int32_t>(first_line);
    return stored;
  }

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

// The same of Python's objects: addresses of A, B, the result, the workspace and the counters, the stream, alpha, beta, and the
// address of an addend.
py::object relaunch(const Problem& problem, PyObject* const* given, Py_ssize_t count) {
  constexpr Py_ssize_t kAlpha = 6, kBeta = 7, kCount = 9;
  if (count != kCount) throw py::type_error("relaunch: takes 9 arguments, not " + std::to_string(count));
  std::array<std::uintptr_t, kCount> numbers{};
  for (Py_ssize_t i = 0; i < kCount; ++i) {
    if (i != kAlpha && i != kBeta) numbers[static_cast<std::size_t>(i)] = PyLong_AsUnsignedLongLong(given[i]);
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  }
  const double alpha = PyFloat_AsDouble(given[kAlpha]), beta = PyFloat_AsDouble(given[kBeta]);
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  problem.relaunch(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], alpha, beta, numbers[8]);
  return py::none();
}

py::dict describe(const Problem& problem) {
  const CudaLayout& layout = problem.layout();
  const TileGeometry& geometry = tile_geometry(layout.tile.shape);
  py::dict d;
  d["direct"] = layout.is_direct && layout.thin == 0 && !layout.is_tiled;
  d["tiles"] = layout.is_tiled;
  d["thin"] = layout.thin != 0;
  d["kernel"] = std::string(kernel_name(problem.plan().kernel));
  d["tile"] = std::string(geometry.name);
  d["splits"] = layout.tile.splits;
  d["overlap"] = layout.tile.overlap_previous;
  d["scales_and_encodes"] = layout.scales_and_encodes;
  d["block"] = py::make_tuple(layout.rows, layout.columns, layout.inners);
  d["bytes"] = layout.bytes;
  d["units_used"] = layout.verdict;  // its first member
  d["shift_a"] = layout.a.shift;
  d["shift_b"] = layout.b.shift;
  d["special_a"] = layout.a.special;
  d["special_b"] = layout.b.special;
  d["planes_a"] = layout.a.planes;
  d["planes_b"] = layout.b.planes;
  d["outputs"] = layout.outputs;
  if (problem.plan().promise.has_records()) {
    d["record_a"] = layout.a.record;
    d["record_b"] = layout.b.record;
  }
  if (problem.plan().promise.certifies()) d["counts"] = layout.counts;
  d["element"] = std::string(element_name(problem.plan().schedule.element));
  d["plane_count"] = problem.plan().schedule.planes;
  d["output_planes"] = problem.plan().schedule.out_planes;
  d["k_pitch"] = layout.k_pitch;
  d["out_pitch"] = layout.out_pitch;
  return d;
}

// The steps of a schedule that is too long for the kernel's parameters, as bytes to be brought to the device; else none.
py::bytes device_steps(const CudaPlan& plan) {
  const auto& steps = plan.schedule.steps;
  if (steps.size() <= static_cast<std::size_t>(kMaxInlineSteps)) return py::bytes();
  return py::bytes(reinterpret_cast<const char*>(steps.data()), steps.size() * sizeof(GemmStep));
}

}  // namespace

std::unique_lock<std::mutex> launching(std::uintptr_t clear_counters) {
  if (clear_counters == 0) return {};
  static std::mutex lock;
  static std::map<std::uintptr_t, std::mutex> locks;
  std::unique_lock<std::mutex> hold(lock);
  std::mutex& own = locks[clear_counters];  // its place in memory stays
  hold.unlock();
  return std::unique_lock<std::mutex>(own);
}

void register_problem(py::module_& module) {
  py::enum_<ElementType>(module, "ElementType")
      .value("float64", ElementType::float64)
      .value("float32", ElementType::float32)
      .value("int8", ElementType::int8)
      .value("uint8", ElementType::uint8)
      .value("int16", ElementType::int16)
      .value("uint16", ElementType::uint16)
      .value("int32", ElementType::int32)
      .value("uint32", ElementType::uint32)
      .value("int64", ElementType::int64)
      .value("uint64", ElementType::uint64);
  py::class_<DeviceOperand>(module, "Operand")
      .def(py::init(&make_operand), py::arg("data"), py::arg("type"), py::arg("outer"), py::arg("inner"), py::arg("outer_stride"),
           py::arg("inner_stride"));
  py::class_<DeviceResult>(module, "Result")
      .def(py::init(&make_result), py::arg("data"), py::arg("type"), py::arg("rows"), py::arg("columns"), py::arg("row_stride"),
           py::arg("column_stride"));
  py::class_<CudaPlan, std::shared_ptr<CudaPlan>>(module, "CudaPlan")
      .def(py::init([](const Plan& plan, std::int64_t k, int kernel, const std::string& accuracy, const std::string& rounding,
                       const std::string& second, int precision, bool updates, std::uint64_t modulus, bool may_lengthen) {
             return std::make_shared<CudaPlan>(
                 make_cuda_plan(plan, narrow<int>(k, "k"), kernel_of(kernel),
                                make_promise(accuracy, rounding, second, precision, updates, modulus, may_lengthen)));
           }),
           py::arg("plan"), py::arg("k"), py::arg("kernel"), py::arg("accuracy") = "scaled", py::arg("rounding") = "nearest",
           py::arg("second") = "none", py::arg("precision") = 53, py::arg("updates") = false, py::arg("modulus") = 0,
           py::arg("may_lengthen") = false)
      .def_property_readonly("device_steps", &device_steps)
      .def_property_readonly("element", [](const CudaPlan& plan) { return element_name(plan.schedule.element); });
  py::class_<Problem>(module, "Problem")
      .def(py::init<std::shared_ptr<CudaPlan>, const DeviceOperand&, const DeviceOperand&, const DeviceResult&, const Extents&,
                    const Extents&, const Extents&, const Extents&, int, std::int64_t, std::uintptr_t,
                    const std::optional<std::string>&, std::optional<int>, std::optional<bool>, const Kept&, const Kept&,
                    const std::optional<DeviceResult>&, const Extents&, const std::string&, const std::array<double, 4>&>(),
           py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("result"), py::arg("extents"), py::arg("strides_a"),
           py::arg("strides_b"), py::arg("strides_c"), py::arg("device"), py::arg("workspace_limit"), py::arg("device_steps"),
           py::arg("tile") = py::none(), py::arg("splits") = py::none(), py::arg("overlap") = py::none(),
           py::arg("kept_a") = py::none(), py::arg("kept_b") = py::none(), py::arg("addend") = py::none(),
           py::arg("strides_addend") = Extents(), py::arg("direct") = "never",
           py::arg("factors") = std::array<double, 4>{1, 1, 1, 1})
      .def_property_readonly("bytes", &Problem::bytes)
      .def_property_readonly("turns", &Problem::turns)
      .def("new_lines", &Problem::new_lines, py::arg("turn"))
      .def("describe", &describe)
      .def("model_times", &Problem::model_times)
      .def("launch", &Problem::launch, py::arg("a"), py::arg("b"), py::arg("c"), py::arg("workspace"), py::arg("clear_counters"),
           py::arg("stream"), py::arg("after_scale") = 0, py::arg("after_encode") = 0, py::arg("after_multiply") = 0,
           py::arg("first_turn") = 0, py::arg("last_turn") = std::numeric_limits<std::int64_t>::max(),
           py::arg("sync_stages") = false, py::arg("second") = 0, py::arg("kept_a") = 0, py::arg("kept_b") = 0,
           py::arg("first_line_a") = 0, py::arg("first_line_b") = 0, py::arg("alpha") = 1.0, py::arg("beta") = 0.0,
           py::arg("addend") = 0)
      .def_property_readonly("relaunch", [](const py::object& self) { return builtin_of<Problem, relaunch>(self, "relaunch"); });
  module.def("tell_repaired", &tell_repaired, py::arg("address"));
  module.attr("pointer_alignment") = kPointerAlignment;
}

}  // namespace ozfp4::bindings
