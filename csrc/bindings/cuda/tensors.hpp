// The functions of torch that products of tensors on a CUDA device call.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "bindings/tensors/reader.hpp"
#include "product/matrices.hpp"

namespace ozfp4::bindings {

// The functions of torch that products call; connect() sets them, once.
class Torch {
 public:
  // By the names of src/ozfp4/_cuda.pyi. Throws for one that is missing.
  static void connect(const pybind11::dict& functions);
  static bool is_connected();
  // Throws where connect was not called.
  static const Torch& get();

  const TensorReader& reader() const { return reader_; }

  // A new tensor, rows one behind the other, and where its entries lie.
  std::pair<pybind11::object, TensorView> empty(const std::vector<pybind11::ssize_t>& shape, const product::EntryType& type,
                                                pybind11::handle device) const;
  // Bytes on a device; null where torch has no memory left, unless it `raises` then.
  pybind11::object empty_bytes(std::int64_t bytes, pybind11::handle device, bool raises) const;
  // The handle of the device's current stream.
  std::uintptr_t stream_on(int device) const;
  // Lets torch reuse the memory of a tensor only behind what the current stream of its device has enqueued.
  void record_stream(pybind11::handle tensor, int device) const;
  void mark_written(pybind11::handle tensor) const;

 private:
  explicit Torch(const pybind11::dict& functions);

  TensorReader reader_;
  pybind11::object by_type_[2][2];  // dtypes by precision and whether they are complex
  pybind11::object empty_, empty_strided_, uint8_, find_stream_, find_current_stream_, increment_version_, out_of_memory_;
  pybind11::object record_stream_ = interned("record_stream");
  pybind11::object keywords_ = pybind11::make_tuple("dtype", "device");
};

}  // namespace ozfp4::bindings
