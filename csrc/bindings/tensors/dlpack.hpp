// What of DLPack's C structures is read here: dlpack.h, versions 1.x, whose major number stands for their layout. torch offers
// them as torch.Tensor.__dlpack_c_exchange_api__ since 2.10.
#pragma once

#include <cstdint>

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
