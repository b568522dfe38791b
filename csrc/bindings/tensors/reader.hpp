// Plain tensors of torch as C structures, in a third of the time that their attributes take.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "bindings/tensors/dlpack.hpp"
#include "bindings/tensors/python.hpp"
#include "bindings/tensors/storage.hpp"
#include "bindings/tensors/unwatched.hpp"

namespace ozfp4::bindings {

class TensorReader {
 public:
  // `unwatched` knows the types of tensors that compute as torch.Tensor does; `device` is a DLDeviceType.
  TensorReader(const pybind11::capsule& api, pybind11::object unwatched, std::int32_t device)
      : held_(std::move(unwatched)), unwatched_(held_.cast<const Unwatched&>()), device_(device) {
    const auto* held = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(api.ptr(), dlpack::kCapsule));
    if (held == nullptr) throw pybind11::error_already_set();
    if (held->major != dlpack::kMajor || held->dltensor_from_py_object_no_sync == nullptr) {
      throw std::invalid_argument("api: its version is " + std::to_string(held->major) + "." + std::to_string(held->minor) +
                                  ", or it reads no tensors");
    }
    read_ = held->dltensor_from_py_object_no_sync;
  }

  bool nothing_watches() const { return unwatched_.nothing_watches(); }

  // False unless x is plain as Unwatched has it, dense, with entries, all of them in its storage, on the device, and not negated
  // lazily.
  bool read(pybind11::handle x, dlpack::Tensor& held) const {
    if (!unwatched_.is_plain(x) || !read_entries(x, held)) return false;
    if (held.data == nullptr || held.device.type != device_ || says(x, is_neg_)) return false;
    return storages_.reach(x, held.ndim, held.shape, held.strides, held.dtype.bits * held.dtype.lanes / 8).fits();
  }

  // The tensor as it lies in memory, without those checks.
  bool read_entries(pybind11::handle x, dlpack::Tensor& held) const {
    if (read_(x.ptr(), &held) == 0) return true;
    PyErr_Clear();  // sparse, nested, of a dtype that DLPack lacks
    return false;
  }

  // Whether a tensor that was read is conjugated lazily.
  bool is_conjugated(pybind11::handle x, const dlpack::Tensor& held) const {
    return held.dtype.code == dlpack::kComplex && says(x, is_conj_);
  }

 private:
  pybind11::object held_;  // keeps the next one
  const Unwatched& unwatched_;
  std::int32_t device_;
  int (*read_)(void*, dlpack::Tensor*) = nullptr;
  Storages storages_;
  pybind11::object is_neg_ = interned("is_neg"), is_conj_ = interned("is_conj");
};

}  // namespace ozfp4::bindings
