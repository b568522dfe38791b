// Launches that run on the host: what the checks share that play CUDA's kernels themselves.
#pragma once

#include <cstring>
#include <memory>

#include "cuda/matmul.hpp"
#include "product/gpu/twice.hpp"

extern "C" cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t) {
  std::memset(data, value, bytes);
  return cudaSuccess;
}

namespace ozfp4::cuda {

// The offset of the matrix of this number in a stack.
inline std::int64_t offset_of(const Stack& stack, std::int64_t number) {
  std::int64_t offset = 0;
  for (int i = stack.rank; i-- > 0; number /= stack.extent[i]) offset += number % stack.extent[i] * stack.stride[i];
  return offset;
}

// Where the operands of a matrix of the result begin.
struct OperandsOf {
  const char *a, *b;

  OperandsOf(const Turn& turn, std::int64_t matrix) {
    const DeviceResult& c = turn.result;
    std::int64_t of_a = 0, of_b = 0;
    for (int i = c.stack.rank; i-- > 0; matrix /= c.stack.extent[i]) {
      of_a += matrix % c.stack.extent[i] * c.a_step[i];
      of_b += matrix % c.stack.extent[i] * c.b_step[i];
    }
    a = turn.a.data + offset_of(turn.a.stack, of_a);
    b = turn.b.data + offset_of(turn.b.stack, of_b);
  }
};

}  // namespace ozfp4::cuda

namespace ozfp4::product {

inline constexpr cuda::Gpu kPlayedGpu{90, 132, 100 * 1024};

// Calls launch(workspace), which is aligned as CUDA's memory is and holds noise.
template <class Launch>
void with_workspace(std::int64_t size, const Launch& launch) {
  const auto bytes = static_cast<std::size_t>(size);
  const std::unique_ptr<char[]> memory(new char[bytes + 256]);
  std::memset(memory.get(), kPoison, bytes + 256);
  launch(memory.get() + (256 - reinterpret_cast<std::uintptr_t>(memory.get()) % 256) % 256);
}

}  // namespace ozfp4::product
