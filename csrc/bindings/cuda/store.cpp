// An operand on the GPU that is scaled and encoded by itself: where its parts go, and the launch that makes them.
#include "cuda/stored/store.hpp"

#include <pybind11/stl.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arith/narrow.hpp"
#include "bindings/cuda/register.hpp"
#include "bindings/interpreter_lock.hpp"
#include "cuda/runtime/device_guard.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;
using namespace ozfp4::cuda;

// Of all operands of the same extents, strides, types and alignment. `is_right`: columns of B, of which a complex plan encodes
// every second one.
class Store {
 public:
  Store(std::shared_ptr<CudaPlan> plan, const DeviceOperand& operand, const std::vector<std::int64_t>& extents,
        const std::vector<std::int64_t>& strides, bool is_right, int device)
      : plan_(std::move(plan)), operand_(operand), device_(device) {
    if (!plan_->promise.has_records()) throw std::invalid_argument("plan: its promise has no records of lines");
    if (plan_->plan.is_complex) take_pairs(is_right);
    const std::size_t most = static_cast<std::size_t>(kMaxStackRank - operand_.stack.rank);
    if (extents.size() > most) {
      throw std::invalid_argument("x: its matrices lie along " + std::to_string(extents.size()) +
                                  " axes that cannot be merged, at most " + std::to_string(most) +
                                  " are taken; x.contiguous() has one");
    }
    for (std::size_t i = 0; i < extents.size(); ++i) {
      operand_.stack.extent[operand_.stack.rank] = narrow<std::int32_t>(extents[i], "matrices of an operand");
      operand_.stack.stride[operand_.stack.rank++] = strides.at(i);
    }
    const DeviceGuard guard(device);
    check_store(*plan_, operand_, gpu_of(device));
    layout_ = make_stored_layout(*plan_, operand_.stack.count(), operand_.outer, operand_.inner, operand_.has_parts);
  }

  void launch(std::uintptr_t data, std::uintptr_t memory, std::uintptr_t scratch, std::uintptr_t clear_counters,
              std::uintptr_t stream, bool sync_stages) const {
    const Unlocked unlocked;
    const std::unique_lock<std::mutex> alone = launching(clear_counters);
    const DeviceGuard guard(device_);
    DeviceOperand operand = operand_;
    operand.data = reinterpret_cast<const char*>(data);
    LaunchOptions options;
    options.stream = reinterpret_cast<cudaStream_t>(stream);
    options.clear_counters = reinterpret_cast<void*>(clear_counters);
    options.sync_stages = sync_stages;
    launch_store(*plan_, operand, reinterpret_cast<char*>(memory), reinterpret_cast<char*>(scratch), options);
  }

  // Lines and matrices are those of both parts where B has such.
  py::dict describe() const {
    py::dict d;
    d["bytes"] = layout_.bytes;
    d["scratch"] = scale_scratch_bytes(operand_);
    d["special"] = layout_.place.special;
    d["record"] = layout_.place.record;
    d["matrices"] = operand_.stack.count();
    d["lines"] = operand_.outer;
    d["pitch"] = layout_.k_pitch;
    return d;
  }

 private:
  // As with_parts (cuda/layout/turns.hpp) sees the operands of a product.
  void take_pairs(bool is_right) {
    if (operand_.inner % kPair != 0 || (is_right && operand_.outer % kPair != 0)) {
      throw std::invalid_argument("a complex plan needs pairs along k and along the columns of b");
    }
    if (!is_right) return;
    operand_.has_parts = true;
    operand_.stack.extent[0] = kPair;
    operand_.stack.stride[0] = operand_.outer_stride;
    operand_.stack.rank = 1;
    operand_.outer /= kPair;
    operand_.outer_stride *= kPair;
  }

  std::shared_ptr<CudaPlan> plan_;
  DeviceOperand operand_;
  int device_;
  StoredLayout layout_;
};

}  // namespace

void register_store(py::module_& module) {
  py::class_<Store>(module, "Store")
      .def(py::init<std::shared_ptr<CudaPlan>, const DeviceOperand&, const std::vector<std::int64_t>&,
                    const std::vector<std::int64_t>&, bool, int>(),
           py::arg("plan"), py::arg("operand"), py::arg("extents"), py::arg("strides"), py::arg("is_right"), py::arg("device"))
      .def("describe", &Store::describe)
      .def("launch", &Store::launch, py::arg("data"), py::arg("memory"), py::arg("scratch"), py::arg("clear_counters"),
           py::arg("stream"), py::arg("sync_stages") = false);
}

}  // namespace ozfp4::bindings
