#include "bindings/cuda/tensors.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/tensors/python.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

namespace {

const Torch* connected = nullptr;

py::tuple tuple_of(const std::vector<std::int64_t>& numbers) {
  py::tuple made(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) made[i] = py::int_(numbers[i]);
  return made;
}

py::object called(const py::object& function, std::initializer_list<PyObject*> given, const py::object& keywords,
                  std::size_t named) {
  return answer_of(PyObject_Vectorcall(function.ptr(), given.begin(), given.size() - named, keywords.ptr()));
}

}  // namespace

TensorView TensorView::transposed(bool conjugates) const {
  TensorView view = *this;
  const auto last = static_cast<std::size_t>(rank_ - 1);
  std::swap(view.shape_[last], view.shape_[last - 1]);
  std::swap(view.strides_[last], view.strides_[last - 1]);
  view.is_conjugated_ = is_conjugated_ != (conjugates && type_.code == dlpack::kComplex);
  return view;
}

void Torch::connect(py::object api, py::object unwatched, py::dict dtypes, py::object empty, py::object empty_strided,
                    py::object uint8, py::object find_stream, py::object find_current_stream, py::object increment_version,
                    py::object out_of_memory) {
  auto* const torch = new Torch(std::move(unwatched));  // it outlives the interpreter
  if (!api.is_none()) {
    try {
      torch->reader_.emplace(py::reinterpret_borrow<py::capsule>(api), torch->held_, dlpack::kCuda);
    } catch (const std::invalid_argument&) {  // of another version
    }
  }
  for (const auto& [dtype, type] : dtypes) {
    const auto pair = py::reinterpret_borrow<py::tuple>(type);
    const int code = pair[0].cast<int>(), bits = pair[1].cast<int>();
    if (code != dlpack::kFloat && code != dlpack::kComplex) continue;
    const bool is_complex = code == dlpack::kComplex;
    torch->by_type_[bits == (is_complex ? 128 : 64)][is_complex] = py::reinterpret_borrow<py::object>(dtype);
  }
  torch->dtypes_ = std::move(dtypes);
  torch->empty_ = std::move(empty);
  torch->empty_strided_ = std::move(empty_strided);
  torch->uint8_ = std::move(uint8);
  torch->find_stream_ = std::move(find_stream);
  torch->find_current_stream_ = std::move(find_current_stream);
  torch->increment_version_ = std::move(increment_version);
  torch->out_of_memory_ = std::move(out_of_memory);
  connected = torch;
}

bool Torch::is_connected() { return connected != nullptr; }

const Torch& Torch::get() {
  if (connected == nullptr) throw std::runtime_error("torch: connect was not called");
  return *connected;
}

// By the tensor's attributes, where torch offers no structure.
bool Torch::read_fields(py::handle x, dlpack::Tensor& to, TensorView& view) const {
  if (!is_set(x, is_cuda_)) return false;
  const auto shape = py::reinterpret_borrow<py::tuple>(answer_of(PyObject_GetAttr(x.ptr(), shape_.ptr())));
  const auto strides = py::reinterpret_borrow<py::tuple>(answer_of(PyObject_CallMethodNoArgs(x.ptr(), stride_.ptr())));
  const py::object dtype = answer_of(PyObject_GetAttr(x.ptr(), dtype_.ptr()));
  const std::optional<py::object> type = found_in(dtypes_, dtype);
  if (!type || !*type || shape.size() > kMostAxes) return false;
  const auto pair = py::reinterpret_borrow<py::tuple>(*type);
  to.dtype = {pair[0].cast<std::uint8_t>(), pair[1].cast<std::uint8_t>(), 1};
  to.ndim = static_cast<std::int32_t>(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    view.shape_[axis] = shape[axis].cast<std::int64_t>();
    view.strides_[axis] = strides[axis].cast<std::int64_t>();
  }
  to.shape = view.shape_.data();
  to.strides = view.strides_.data();
  to.data = address_of(x);
  to.device = {dlpack::kCuda,
               static_cast<std::int32_t>(number_of(answer_of(PyObject_CallMethodNoArgs(x.ptr(), get_device_.ptr()))))};
  to.byte_offset = 0;
  return true;
}

std::optional<TensorView> Torch::read(py::handle x) const {
  std::optional<TensorView> found(std::in_place);
  TensorView& view = *found;
  dlpack::Tensor held{};
  if (!(reader_ ? reader_->read_entries(x, held) : read_fields(x, held, view))) return std::nullopt;
  if (held.device.type != dlpack::kCuda || held.ndim > kMostAxes || held.dtype.lanes != 1 || says(x, is_neg_))
    return std::nullopt;
  const std::int64_t entry = held.dtype.bits / 8;
  if (!storages_.reach(x, held.ndim, held.shape, held.strides, entry).fits()) return std::nullopt;
  view.type_ = held.dtype;
  view.device_ = held.device.id;
  view.rank_ = held.ndim;
  for (int axis = 0; axis < held.ndim; ++axis) {
    view.shape_[static_cast<std::size_t>(axis)] = held.shape[axis];
    view.strides_[static_cast<std::size_t>(axis)] = held.strides[axis] * entry;
  }
  view.data_ = static_cast<char*>(held.data) + held.byte_offset;
  view.is_conjugated_ = held.dtype.code == dlpack::kComplex && says(x, is_conj_);
  return found;
}

std::optional<TensorView> Torch::read_plain(py::handle x) const {
  if (!unwatched_.is_plain(x)) return std::nullopt;
  std::optional<TensorView> view = read(x);
  return view && view->data() != nullptr && view->has_entries() ? view : std::nullopt;
}

std::pair<py::object, TensorView> Torch::empty(const std::vector<std::int64_t>& shape, const product::EntryType& type,
                                               py::handle device, int index) const {
  std::pair<py::object, TensorView> made;
  TensorView& view = made.second;
  view.type_ = {type.is_complex ? dlpack::kComplex : dlpack::kFloat, static_cast<std::uint8_t>(8 * type.bytes()), 1};
  view.device_ = index;
  view.rank_ = static_cast<int>(shape.size());
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = step;
    view.shape_[axis] = shape[axis];
    view.strides_[axis] = step * type.bytes();
    step *= std::max<std::int64_t>(shape[axis], 1);
  }
  const py::object& dtype = by_type_[type.part == ElementType::float64][type.is_complex];
  made.first = called(empty_strided_, {tuple_of(shape).ptr(), tuple_of(strides).ptr(), dtype.ptr(), device.ptr()}, keywords_, 2);
  view.data_ = static_cast<char*>(address_of(made.first));
  return made;
}

py::object Torch::empty_bytes(std::int64_t bytes, py::handle device, bool raises) const {
  try {
    return called(empty_, {py::int_(bytes).ptr(), uint8_.ptr(), device.ptr()}, keywords_, 2);
  } catch (const py::error_already_set& error) {
    if (raises || !error.matches(out_of_memory_)) throw;
    return {};
  }
}

void* Torch::address_of(py::handle tensor) const {
  void* const address = PyLong_AsVoidPtr(answer_of(PyObject_CallMethodNoArgs(tensor.ptr(), data_ptr_.ptr())).ptr());
  if (address == nullptr && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return address;
}

std::uintptr_t Torch::stream_on(int device) const {
  return static_cast<std::uintptr_t>(number_of(answer_of(PyObject_CallOneArg(find_stream_.ptr(), py::int_(device).ptr()))));
}

void Torch::record_stream(py::handle tensor, int device) const {
  const py::object stream = answer_of(PyObject_CallOneArg(find_current_stream_.ptr(), py::int_(device).ptr()));
  answer_of(PyObject_CallMethodOneArg(tensor.ptr(), record_stream_.ptr(), stream.ptr()));
}

void Torch::mark_written(py::handle tensor) const { answer_of(PyObject_CallOneArg(increment_version_.ptr(), tensor.ptr())); }

}  // namespace ozfp4::bindings
