// Products of which this device holds a piece of K: facts of the pieces of lines, planes, residues, results of the sums.
#include "cuda/partial/partial.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "arith/accuracy/line_facts.hpp"
#include "arith/narrow.hpp"
#include "bindings/cuda/register.hpp"
#include "bindings/cuda/tensors.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/product/options.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/scale/scale.hpp"
#include "product/gpu/layout.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;
using namespace ozfp4::cuda;

template <class T>
T* pointer(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

TensorView matrix_of(const py::object& x) {
  std::optional<TensorView> view = Torch::get().reader().read(x);
  if (!view || view->ndim() != 2 || !view->float_type() || view->float_type()->is_complex) {
    throw std::invalid_argument("a matrix of float64 or float32 on a CUDA device is needed");
  }
  if (!view->has_entries()) throw std::invalid_argument("the matrix has no entries");
  return *view;
}

// Rows of A or columns of B.
DeviceOperand operand_of(const py::object& x, bool is_right) {
  const TensorView view = matrix_of(x);
  const py::ssize_t outer = is_right ? 1 : 0, inner = is_right ? 0 : 1;
  return product::operand_of({static_cast<const char*>(view.data()), view.float_type()->part, view.shape(outer),
                              view.shape(inner), view.strides(outer), view.strides(inner)});
}

void piece_facts(const py::object& x, bool is_right, std::uintptr_t words, std::uintptr_t scratch, int device,
                 std::uintptr_t stream) {
  const DeviceOperand operand = operand_of(x, is_right);
  const Unlocked unlocked;
  const DeviceGuard guard(device);
  launch_piece_facts(operand, pointer<std::int64_t>(words), pointer<void>(scratch), pointer<CUstream_st>(stream));
}

// A piece's stages by the plan of its inner dimension, and those of the whole lines by the plan of theirs.
class Partial {
 public:
  Partial(const std::shared_ptr<Plan>& plan, std::int64_t piece_k, std::int64_t whole_k, int kernel, const std::string& accuracy,
          const std::string& rounding, int precision, int device)
      : device_(device), gpu_(make_gpu(device)) {
    cuda::Promise promise;
    promise.accuracy = accuracy_named(accuracy);
    promise.rounding = rounding_named(rounding);
    promise.precision = precision;
    piece_ = product::find_cuda_plan(plan, piece_k, kernel_of(kernel), promise);
    whole_ = product::find_cuda_plan(plan, whole_k, kernel_of(kernel), promise);
  }

  std::int64_t plane_bytes(std::int64_t lines) const {
    return make_piece_layout(*piece_, narrow<std::int32_t>(lines, "lines"), piece_->k).bytes;
  }

  // Bytes of the residues modulo the first `count` moduli of a part of the result.
  std::int64_t residue_bytes(std::int64_t count, std::int64_t rows, std::int64_t columns) const {
    return count * piece_->schedule.planes_per_modulus() * rows * residue_pitch(columns);
  }

  // Planes that finish may read behind those of `count` moduli.
  std::int64_t spare_planes(std::int64_t count) const {
    return (whole_->plan.count() - count) * whole_->schedule.planes_per_modulus();
  }

  void encode(const py::object& x, bool is_right, std::uintptr_t shift, std::uintptr_t record, std::uintptr_t planes,
              std::uintptr_t decision, std::uintptr_t stream) const {
    const DeviceOperand operand = operand_of(x, is_right);
    const Unlocked unlocked;
    run(*piece_, stream, [&](const Stages& stages) {
      encode_piece(*piece_, scaled(operand, shift, record), pointer<std::uint8_t>(planes), pointer<ScaleDecision>(decision),
                   stages);
    });
  }

  void multiply(std::uintptr_t planes_a, std::int64_t lines_a, std::int64_t first_row, std::int64_t rows, std::uintptr_t planes_b,
                std::int64_t lines_b, std::int64_t first_column, std::int64_t columns, std::uintptr_t out,
                std::uintptr_t decision, std::uintptr_t stream) const {
    const PieceLines a = lines_of(planes_a, lines_a, first_row, rows), b = lines_of(planes_b, lines_b, first_column, columns);
    const Unlocked unlocked;
    const DeviceGuard guard(device_);
    const GemmStep* const steps = product::steps_on({device_, gpu_}, *piece_, pointer<CUstream_st>(stream));
    run(*piece_, stream, [&](const Stages& stages) {
      multiply_piece(*piece_, a, b, piece_->k, pointer<std::uint8_t>(out), pointer<ScaleDecision>(decision), steps, gpu_, stages);
    });
  }

  // Shifts and records are those of the part's first row and column.
  void finish(std::uintptr_t residues, int pieces, std::int64_t piece_bytes, std::uintptr_t shift_a, std::uintptr_t record_a,
              std::uintptr_t shift_b, std::uintptr_t record_b, const py::object& out, std::uintptr_t listed,
              std::uintptr_t counts, std::uintptr_t decision, std::uintptr_t stream) const {
    if (pieces < 1 || pieces > kMaxSplits) throw std::invalid_argument("pieces: 1 to " + std::to_string(kMaxSplits));
    const DeviceResult result = result_of(out);
    DeviceOperand lines;
    lines.inner = whole_->k;
    lines.outer = result.rows;
    const ScaledOperand a = scaled(lines, shift_a, record_a);
    lines.outer = result.columns;
    const ScaledOperand b = scaled(lines, shift_b, record_b);
    cuda::Listed list;
    list.word = pointer<std::uint32_t>(listed);
    list.pitch = listed_pitch(result.columns);
    list.matrix_stride = result.rows * list.pitch;
    list.counts = pointer<RepairCounts>(counts);
    const Unlocked unlocked;
    run(*whole_, stream, [&](const Stages& stages) {
      finish_pieces(*whole_, pointer<std::uint8_t>(residues), pieces, piece_bytes, a, b, result, list,
                    pointer<ScaleDecision>(decision), stages);
    });
  }

 private:
  static DeviceResult result_of(const py::object& out) {
    TensorView view = matrix_of(out);
    return product::result_of({static_cast<char*>(view.mutable_data()), view.float_type()->part, view.shape(0), view.shape(1),
                               view.strides(0), view.strides(1)});
  }

  static Gpu make_gpu(int device) {
    const DeviceGuard guard(device);
    return gpu_of(device);
  }

  // First asks the stages, which refuse with a reason, then enqueues.
  template <class Work>
  void run(const CudaPlan& plan, std::uintptr_t stream, const Work& work) const {
    const DeviceGuard guard(device_);
    work(Stages(plan, gpu_));
    LaunchOptions options;
    options.stream = pointer<CUstream_st>(stream);
    work(Stages(plan, options));
  }

  ScaledOperand scaled(const DeviceOperand& view, std::uintptr_t shift, std::uintptr_t record) const {
    ScaledOperand operand;
    operand.view = view;
    operand.shift = pointer<std::int32_t>(shift);
    operand.record = whole_->promise.has_records() ? pointer<LineRecord>(record) : nullptr;
    return operand;
  }

  static PieceLines lines_of(std::uintptr_t planes, std::int64_t lines, std::int64_t first, std::int64_t count) {
    return {pointer<std::uint8_t>(planes), narrow<std::int32_t>(lines, "lines"), narrow<std::int32_t>(first, "first line"),
            narrow<std::int32_t>(count, "lines of a part")};
  }

  std::shared_ptr<const CudaPlan> piece_, whole_;
  int device_;
  Gpu gpu_;
};

}  // namespace

void register_partial(py::module_& module) {
  module.def("piece_facts_scratch",
             [](const py::object& x, bool is_right) { return scale_scratch_bytes(operand_of(x, is_right)); });
  module.def("piece_facts", &piece_facts);
  module.def("listed_words", &listed_pitch);
  module.attr("repair_count_bytes") = kRepairCounterBytes;
  module.attr("most_prefixes") = kMaxPrefixes;
  py::class_<Partial>(module, "Partial")
      .def(py::init<const std::shared_ptr<Plan>&, std::int64_t, std::int64_t, int, const std::string&, const std::string&, int,
                    int>())
      .def("plane_bytes", &Partial::plane_bytes)
      .def("residue_bytes", &Partial::residue_bytes)
      .def("spare_planes", &Partial::spare_planes)
      .def("encode", &Partial::encode)
      .def("multiply", &Partial::multiply)
      .def("finish", &Partial::finish);
}

}  // namespace ozfp4::bindings
