// Copies from global to shared memory that a thread begins and does not wait for (sm_80 and later).
#pragma once

#include <cstdint>

namespace ozfp4::cuda::ptx {

// `valid` bytes and zeros behind them, together Bytes: 4 or 8, or 16, which pass by L1. Whole: all are valid. Both addresses are
// multiples of Bytes.
template <int Bytes, bool Whole = false>
__device__ __forceinline__ void copy_async(void* to, const void* from, int valid = Bytes) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16 && Whole) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  } else if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(valid) : "memory");
  } else if constexpr (Whole) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(Bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(Bytes), "r"(valid) : "memory");
  }
}

// The thread's copies since the last call are a group.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits for all of the thread's groups but the last Pending.
template <int Pending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// Waits for all of the thread's copies, in groups or not.
__device__ __forceinline__ void wait_all_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace ozfp4::cuda::ptx
