// Tensors of torch as products read them: by the C structures that torch offers, in a third of the time that attributes take, or
// where it offers none by attributes.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/tensors/python.hpp"
#include "bindings/tensors/unwatched.hpp"
#include "product/matrices.hpp"

// The part of DLPack's C structures that is read here: dlpack.h, versions 1.x (the major number is the layout's). torch offers
// them as torch.Tensor.__dlpack_c_exchange_api__ since 2.10.
namespace ozfp4::bindings::dlpack {

constexpr const char* kCapsule = "dlpack_exchange_api";
constexpr std::uint32_t kMajor = 1;
constexpr std::uint8_t kInt = 0, kUint = 1, kFloat = 2, kComplex = 5, kBool = 6;  // of DataType::code
constexpr std::int32_t kCpu = 1, kCuda = 2;                                       // of Device::type

struct Device {
  std::int32_t type, id;
};

struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t *shape, *strides;  // in entries; the tensor's own
  std::uint64_t byte_offset;
};

struct ExchangeApi {
  std::uint32_t major, minor;
  void* previous;
  void (*unread[3])();                                                   // allocates, takes and gives tensors
  int (*dltensor_from_py_object_no_sync)(void* object, Tensor* result);  // null, or 0 but with an error of Python
};

}  // namespace ozfp4::bindings::dlpack

namespace ozfp4::bindings {

constexpr int kMostAxes = 64;  // of a tensor

// Where the entries of a tensor lie; what lies in memory is the conjugate of those of one that is lazily conjugated.
class TensorView {
 public:
  pybind11::ssize_t ndim() const { return rank_; }
  pybind11::ssize_t shape(pybind11::ssize_t axis) const { return shape_[static_cast<std::size_t>(axis)]; }
  pybind11::ssize_t strides(pybind11::ssize_t axis) const { return strides_[static_cast<std::size_t>(axis)]; }
  pybind11::ssize_t itemsize() const { return type_.bits / 8; }
  const void* data() const { return data_; }
  void* mutable_data() { return data_; }
  int device() const { return device_.id; }
  bool is_conjugated() const { return is_conjugated_; }
  bool is_truth() const { return type_.code == dlpack::kBool; }

  // Nothing for other dtypes.
  std::optional<product::EntryType> float_type() const {
    const bool is_complex = type_.code == dlpack::kComplex;
    if (!is_complex && type_.code != dlpack::kFloat) return std::nullopt;
    const int bits = is_complex ? type_.bits / 2 : type_.bits;
    if (bits != 64 && bits != 32) return std::nullopt;
    return product::EntryType{bits == 64 ? ElementType::float64 : ElementType::float32, is_complex};
  }

  // Nothing for floating-point numbers; truth values count as uint8.
  std::optional<ElementType> integer_type() const {
    if (type_.code != dlpack::kInt && type_.code != dlpack::kUint && type_.code != dlpack::kBool) return std::nullopt;
    const bool is_signed = type_.code == dlpack::kInt;
    switch (type_.bits) {
      case 8: return is_signed ? ElementType::int8 : ElementType::uint8;
      case 16: return is_signed ? ElementType::int16 : ElementType::uint16;
      case 32: return is_signed ? ElementType::int32 : ElementType::uint32;
      default: return is_signed ? ElementType::int64 : ElementType::uint64;
    }
  }

  bool has_entries() const {
    return std::all_of(shape_.begin(), shape_.begin() + rank_, [](std::int64_t extent) { return extent != 0; });
  }

  // The same matrices, the last two axes exchanged. Precondition: it has two.
  TensorView transposed(bool conjugates) const {
    TensorView view = *this;
    const auto last = static_cast<std::size_t>(rank_ - 1);
    std::swap(view.shape_[last], view.shape_[last - 1]);
    std::swap(view.strides_[last], view.strides_[last - 1]);
    view.is_conjugated_ = is_conjugated_ != (conjugates && type_.code == dlpack::kComplex);
    return view;
  }

 private:
  friend class TensorReader;
  char* data_ = nullptr;
  dlpack::DataType type_{};
  dlpack::Device device_{};
  int rank_ = 0;
  bool is_conjugated_ = false;
  std::array<std::int64_t, kMostAxes> shape_, strides_;  // strides in bytes; set up to the rank
};

inline bool is_conjugated(const TensorView& x) { return x.is_conjugated(); }
inline bool is_truth(const TensorView& x) { return x.is_truth(); }
inline bool is_writeable(const TensorView&) { return true; }
inline TensorView transposed(const TensorView& x, bool conjugates) { return x.transposed(conjugates); }
inline ElementType integer_type(const TensorView& x) {
  if (const std::optional<ElementType> type = x.integer_type()) return *type;
  throw pybind11::type_error("a tensor's dtype is none of integers");
}
inline std::optional<product::EntryType> own_type(const TensorView& x) { return x.float_type(); }
inline product::EntryType type_of(const char* name, const TensorView& x) {
  const std::optional<product::EntryType> type = x.float_type();
  if (!type) throw pybind11::type_error(std::string(name) + ": its dtype is no floating-point one of 32 or 64 bits");
  return *type;
}

// The arguments of torch.empty_strided for entries row by row.
inline std::pair<pybind11::tuple, pybind11::tuple> dense_layout(const std::vector<pybind11::ssize_t>& shape) {
  std::pair<pybind11::tuple, pybind11::tuple> made(shape.size(), shape.size());
  pybind11::ssize_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    made.first[i] = pybind11::int_(shape[i]);
    made.second[i] = pybind11::int_(step);
    step *= std::max<pybind11::ssize_t>(shape[i], 1);
  }
  return made;
}

class TensorReader {
 public:
  // `api` is torch.Tensor.__dlpack_c_exchange_api__, or None; `unwatched` has the types of tensors that compute as torch.Tensor
  // does. `device` is a DLDeviceType; `dtypes` maps those of torch to (code, bits) of DLPack, for a torch without structures.
  TensorReader(const pybind11::object& api, pybind11::object unwatched, std::int32_t device, pybind11::dict dtypes)
      : held_(std::move(unwatched)), unwatched_(held_.cast<const Unwatched&>()), device_(device), dtypes_(std::move(dtypes)) {
    if (api.is_none()) return;
    const auto* held = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(api.ptr(), dlpack::kCapsule));
    if (held == nullptr) throw pybind11::error_already_set();
    if (held->major == dlpack::kMajor) read_ = held->dltensor_from_py_object_no_sync;
  }

  bool has_structures() const { return read_ != nullptr; }
  bool nothing_watches() const { return unwatched_.nothing_watches(); }

  // A dense tensor as it lies in memory, on whatever device; nothing for others. Throws for what is no tensor.
  std::optional<TensorView> read_unchecked(pybind11::handle x) const {
    std::optional<TensorView> found(std::in_place);
    TensorView& view = *found;
    dlpack::Tensor held{};
    if (read_ == nullptr) {
      if (!read_attributes(x, held, view)) return std::nullopt;
    } else if (read_(x.ptr(), &held) != 0) {
      PyErr_Clear();  // sparse, nested, of a dtype that DLPack lacks
      return std::nullopt;
    }
    if (held.ndim > kMostAxes || held.dtype.lanes != 1) return std::nullopt;
    view.data_ = static_cast<char*>(held.data) + held.byte_offset;
    view.type_ = held.dtype;
    view.device_ = held.device;
    view.rank_ = held.ndim;
    for (int axis = 0; axis < held.ndim; ++axis) {
      view.shape_[static_cast<std::size_t>(axis)] = held.shape[axis];
      view.strides_[static_cast<std::size_t>(axis)] = held.strides[axis] * view.itemsize();
    }
    return found;
  }

  // A new dense tensor, and where its entries lie.
  std::pair<pybind11::object, TensorView> read_made(pybind11::object made) const {
    const std::optional<TensorView> view = read_unchecked(made);
    if (!view) throw std::runtime_error("torch makes no plain tensor");
    return {std::move(made), *view};
  }

  // The same where it is on the device with all of its entries in its storage, and not negated lazily.
  std::optional<TensorView> read(pybind11::handle x) const {
    std::optional<TensorView> view = read_unchecked(x);
    if (!view || view->device_.type != device_ || returns_true(x, is_neg_)) return std::nullopt;
    if (!is_stored(x, *view)) return std::nullopt;
    view->is_conjugated_ = view->type_.code == dlpack::kComplex && returns_true(x, is_conj_);
    return view;
  }

  // The same where it is plain as Unwatched has it, with entries.
  std::optional<TensorView> read_plain(pybind11::handle x) const {
    if (!unwatched_.is_plain(x)) return std::nullopt;
    std::optional<TensorView> view = read(x);
    return view && view->data() != nullptr && view->has_entries() ? view : std::nullopt;
  }

 private:
  // Whether the storage still has all entries. A program may free or shorten it behind the tensor's back, as FSDP does between
  // its layers, and the memory then belongs to another. torch has no negative strides.
  bool is_stored(pybind11::handle x, const TensorView& view) const {
    if (!view.has_entries()) return true;
    std::int64_t last = 0;
    for (int axis = 0; axis < view.rank_; ++axis) last += (view.shape(axis) - 1) * view.strides(axis);
    const pybind11::object storage = answer_of(PyObject_CallMethodNoArgs(x.ptr(), untyped_storage_.ptr()));
    const std::int64_t held = number_of(answer_of(PyObject_CallMethodNoArgs(storage.ptr(), nbytes_.ptr())));
    const std::int64_t first = number_of(answer_of(PyObject_CallMethodNoArgs(x.ptr(), storage_offset_.ptr())));
    return (first + 1) * view.itemsize() + last <= held;
  }

  bool read_attributes(pybind11::handle x, dlpack::Tensor& to, TensorView& view) const {
    namespace py = pybind11;
    if (!is_set(x, is_cuda_)) return false;
    const auto shape = py::reinterpret_borrow<py::tuple>(answer_of(PyObject_GetAttr(x.ptr(), shape_.ptr())));
    const auto strides = py::reinterpret_borrow<py::tuple>(answer_of(PyObject_CallMethodNoArgs(x.ptr(), stride_.ptr())));
    const std::optional<py::object> type = found_in(dtypes_, answer_of(PyObject_GetAttr(x.ptr(), dtype_.ptr())));
    if (!type || !*type || shape.size() > kMostAxes) return false;
    const auto pair = py::reinterpret_borrow<py::tuple>(*type);
    to.dtype = {pair[0].cast<std::uint8_t>(), pair[1].cast<std::uint8_t>(), 1};
    to.ndim = static_cast<std::int32_t>(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      view.shape_[axis] = number_of(shape[axis]);
      view.strides_[axis] = number_of(strides[axis]);
    }
    to.shape = view.shape_.data();
    to.strides = view.strides_.data();
    to.data = address_of(x);
    to.device = {dlpack::kCuda,
                 static_cast<std::int32_t>(number_of(answer_of(PyObject_CallMethodNoArgs(x.ptr(), get_device_.ptr()))))};
    return true;
  }

  pybind11::object held_;  // keeps the next one
  const Unwatched& unwatched_;
  std::int32_t device_;
  pybind11::dict dtypes_;
  int (*read_)(void*, dlpack::Tensor*) = nullptr;
  pybind11::object is_neg_ = interned("is_neg"), is_conj_ = interned("is_conj"), is_cuda_ = interned("is_cuda"),
                   shape_ = interned("shape"), stride_ = interned("stride"), dtype_ = interned("dtype"),
                   get_device_ = interned("get_device"), untyped_storage_ = interned("untyped_storage"),
                   nbytes_ = interned("nbytes"), storage_offset_ = interned("storage_offset");
};

}  // namespace ozfp4::bindings
