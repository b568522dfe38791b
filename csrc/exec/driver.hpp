// GPUs, by what is there when a program calls cuBLAS: beside this library libozfp4_cuda, or libozfp4 with CUDA, and the driver
// that the program has loaded. Nothing is loaded before.
#pragma once

#include <cstdint>

#include "exec/cublas_types.hpp"
#include "exec/product.hpp"
#include "ozfp4.h"

namespace ozfp4::exec::cublas {

// Whether both are there.
bool has_device();
// From which extent on products gain on the current device (product/threshold.hpp); where there is none, none do.
std::int64_t threshold_on_device(Type type);

// While it lives, the thread may allocate and wait although a graph is captured on another stream than its own, by this thread or
// by any: the driver refuses that by default, and gives the capture up. Range: has_device().
class BesideCaptures {
 public:
  BesideCaptures() { exchange(); }
  ~BesideCaptures() { exchange(); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  void exchange();
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED, and then what it was before
};

// Of ozfp4.h: what this very product takes, and the product. Range: has_device(), and a product of one matrix.
ozfp4_status workspace_bytes(const Product& product, const ozfp4_options& options, std::int64_t* bytes);
ozfp4_status multiply(const Product& product, void* workspace, std::int64_t bytes, Stream stream, const ozfp4_options& options);
const char* last_error();

// The driver's pool of the current device; null: there is none. Memory of it is taken and given back in a stream's order;
// null where there is none.
void* make_pool();
void* allocate(void* pool, std::int64_t bytes, Stream stream);
void release(void* memory, Stream stream);
// On the host, where kernels of the current context can write it; null: there is none. It is given back with the context.
void* allocate_on_host(std::size_t bytes);
// Whether a graph is captured on the stream: then nothing may be waited for. For the default stream also whether one is on a
// stream that waits for it, which an operation on it would break.
bool is_captured(Stream stream);
// As Read of verify/verify.hpp; waits for the stream.
bool read_from_device(void* to, const void* from, std::size_t bytes, std::int64_t step, std::int64_t count, Stream stream);
bool wait_for(Stream stream);
// A number that no other context of the process has, nor ever had; 0 where none is current.
std::uint64_t current_context();

}  // namespace ozfp4::exec::cublas
