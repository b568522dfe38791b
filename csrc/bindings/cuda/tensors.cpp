#include "bindings/cuda/tensors.hpp"

#include <utility>
#include <vector>

#include "bindings/tensors/python.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

namespace {

const Torch* connected = nullptr;

py::object called(const py::object& function, std::initializer_list<PyObject*> given, const py::object& keywords,
                  std::size_t named) {
  return answer_of(PyObject_Vectorcall(function.ptr(), given.begin(), given.size() - named, keywords.ptr()));
}

}  // namespace

Torch::Torch(const py::dict& functions)
    : reader_(functions["api"], functions["unwatched"], dlpack::kCuda, functions["dtypes"]),
      empty_(functions["empty"]),
      empty_strided_(functions["empty_strided"]),
      uint8_(functions["uint8"]),
      find_stream_(functions["find_stream"]),
      find_current_stream_(functions["find_current_stream"]),
      increment_version_(functions["increment_version"]),
      out_of_memory_(functions["out_of_memory"]) {
  for (const auto& [dtype, type] : py::dict(functions["dtypes"])) {
    const auto pair = py::reinterpret_borrow<py::tuple>(type);
    const int code = pair[0].cast<int>(), bits = pair[1].cast<int>();
    if (code != dlpack::kFloat && code != dlpack::kComplex) continue;
    const bool is_complex = code == dlpack::kComplex;
    by_type_[bits == (is_complex ? 128 : 64)][is_complex] = py::reinterpret_borrow<py::object>(dtype);
  }
}

void Torch::connect(const py::dict& functions) { connected = new Torch(functions); }  // it outlives the interpreter

bool Torch::is_connected() { return connected != nullptr; }

const Torch& Torch::get() {
  if (connected == nullptr) throw std::runtime_error("torch: connect was not called");
  return *connected;
}

std::pair<py::object, TensorView> Torch::empty(const std::vector<py::ssize_t>& shape, const product::EntryType& type,
                                               py::handle device) const {
  const auto& [extents, strides] = dense_layout(shape);
  const py::object& dtype = by_type_[type.part == ElementType::float64][type.is_complex];
  return reader_.read_made(called(empty_strided_, {extents.ptr(), strides.ptr(), dtype.ptr(), device.ptr()}, keywords_, 2));
}

py::object Torch::empty_bytes(std::int64_t bytes, py::handle device, bool raises) const {
  try {
    return called(empty_, {py::int_(bytes).ptr(), uint8_.ptr(), device.ptr()}, keywords_, 2);
  } catch (const py::error_already_set& error) {
    if (raises || !error.matches(out_of_memory_)) throw;
    return {};
  }
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
