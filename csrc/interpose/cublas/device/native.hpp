// cuBLAS beside the program's calls: handles of our own, with factors on the host.
#pragma once

#include <cstdint>
#include <utility>

#include "interpose/call/product.hpp"
#include "interpose/cublas/handle.hpp"
#include "interpose/cublas/types.hpp"

namespace ozfp4::interpose::cublas {

// A handle for the context that is current, which nobody else has meanwhile, as cuBLAS may be asked from no two threads at once.
// Handles stay as long as the process, for whoever comes next: there are as many as threads were at it at once.
class OwnHandle {
 public:
  explicit OwnHandle(const Functions& of);
  ~OwnHandle();
  OwnHandle(const OwnHandle&) = delete;
  OwnHandle& operator=(const OwnHandle&) = delete;
  Handle get() const { return handle_; }  // null: there is none

 private:
  std::pair<void*, std::uint64_t> key_;  // a library, a context
  Handle handle_ = nullptr;
};

// Whether there is all that a product of matrices takes; that of one, on a stream. `cublas`: a library, as of dlopen. False: it
// cannot be made.
bool can_make_native(void* cublas, Type type);
bool native_on_device(void* cublas, const Product& product, Stream stream);

}  // namespace ozfp4::interpose::cublas
