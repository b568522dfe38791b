// Tensors of torch on a CUDA device, as products read them, and what products ask of torch itself.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/tensors/dlpack.hpp"
#include "bindings/tensors/reader.hpp"
#include "bindings/tensors/storage.hpp"
#include "bindings/tensors/unwatched.hpp"
#include "product/matrices.hpp"

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
  int device() const { return device_; }
  const dlpack::DataType& type() const { return type_; }
  bool is_conjugated() const { return is_conjugated_; }

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
  // The same matrices, the last two axes exchanged. Range: it has two.
  TensorView transposed(bool conjugates) const;

 private:
  friend class Torch;
  char* data_ = nullptr;
  dlpack::DataType type_{};
  int device_ = 0, rank_ = 0;
  bool is_conjugated_ = false;
  std::array<std::int64_t, kMostAxes> shape_, strides_;  // strides in bytes; set up to the rank
};

inline bool is_conjugated(const TensorView& x) { return x.is_conjugated(); }
inline bool is_truth(const TensorView& x) { return x.type().code == dlpack::kBool; }
inline ElementType integer_type(const TensorView& x) {
  if (const std::optional<ElementType> type = x.integer_type()) return *type;
  throw pybind11::type_error("a tensor's dtype is none of integers");
}

// The functions of torch that products call; connect() sets them, once.
class Torch {
 public:
  // `api` is torch.Tensor.__dlpack_c_exchange_api__, or None; `dtypes` maps torch's dtypes to (code, bits) of DLPack.
  static void connect(pybind11::object api, pybind11::object unwatched, pybind11::dict dtypes, pybind11::object empty,
                      pybind11::object empty_strided, pybind11::object uint8, pybind11::object find_stream,
                      pybind11::object find_current_stream, pybind11::object increment_version, pybind11::object out_of_memory);
  static bool is_connected();
  // Throws where connect was not called.
  static const Torch& get();

  // A dense tensor with all of its entries, on a CUDA device and not negated lazily; nothing for others. Throws for what is no
  // tensor.
  std::optional<TensorView> read(pybind11::handle x) const;
  // The same of what is plain as Unwatched has it, with entries.
  std::optional<TensorView> read_plain(pybind11::handle x) const;
  bool nothing_watches() const { return unwatched_.nothing_watches(); }

  // A new tensor, rows one behind the other, and where its entries lie.
  std::pair<pybind11::object, TensorView> empty(const std::vector<std::int64_t>& shape, const product::EntryType& type,
                                                pybind11::handle device, int index) const;
  // Bytes on a device; null where torch has no memory left, unless it `raises` then.
  pybind11::object empty_bytes(std::int64_t bytes, pybind11::handle device, bool raises) const;
  void* address_of(pybind11::handle tensor) const;
  // The handle of the device's current stream.
  std::uintptr_t stream_on(int device) const;
  // Lets torch reuse the memory of a tensor only behind what the current stream of its device has enqueued.
  void record_stream(pybind11::handle tensor, int device) const;
  void mark_written(pybind11::handle tensor) const;

 private:
  Torch(pybind11::object unwatched) : held_(std::move(unwatched)), unwatched_(held_.cast<const Unwatched&>()) {}
  bool read_fields(pybind11::handle x, dlpack::Tensor& to, TensorView& view) const;

  pybind11::object held_;  // keeps the next one
  const Unwatched& unwatched_;
  std::optional<TensorReader> reader_;  // none where torch offers no structures
  pybind11::dict dtypes_;
  pybind11::object by_type_[2][2];  // dtypes by precision and whether they are complex
  pybind11::object empty_, empty_strided_, uint8_, find_stream_, find_current_stream_, increment_version_, out_of_memory_;
  Storages storages_;
  pybind11::object is_neg_ = interned("is_neg"), is_conj_ = interned("is_conj"), is_cuda_ = interned("is_cuda"),
                   shape_ = interned("shape"), stride_ = interned("stride"), dtype_ = interned("dtype"),
                   data_ptr_ = interned("data_ptr"), get_device_ = interned("get_device"),
                   record_stream_ = interned("record_stream");
  pybind11::object keywords_ = pybind11::make_tuple("dtype", "device");
};

}  // namespace ozfp4::bindings
