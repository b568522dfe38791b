// Instructions of threads and warps that all GPUs from sm_80 on have. They are copies that a thread begins and does not wait for,
// fragments from shared memory, and matrix multiplies on bytes.
#pragma once

#include <cstdint>

namespace ozfp4::cuda {

// A 32-bit address of shared memory.
__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Keeps a value in its register: the compiler does not know where it came from, and can neither compute it anew elsewhere nor put
// its computation off.
__device__ __forceinline__ void hold(std::uint32_t& x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void hold(std::int32_t& x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void hold(std::int64_t& x) { asm volatile("" : "+l"(x)); }

// ---- Copies from global to shared memory that a thread begins and does not wait for ---------------------------------------

// `valid` bytes and zeros behind them, together Bytes: 4 or 8, or 16, which pass by L1. Whole: all are valid. Both addresses are
// multiples of Bytes.
template <int Bytes, bool Whole = false>
__device__ __forceinline__ void copy_async(void* to, const void* from, int valid = Bytes) {
  const std::uint32_t at = shared_address(to);
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

// ---- Fragments -------------------------------------------------------------------------------------------------------------

// Four 8 x 16-byte matrices: lanes 8 q to 8 q + 7 point to the rows of matrix q. Word q of lane l is bytes 4 (l % 4) to
// 4 (l % 4) + 3 of row l / 4 of matrix q. All lanes of a warp call it.
__device__ __forceinline__ void load_matrices(std::uint32_t (&words)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

// ---- Matrix multiplies on bytes: 16 x 8 += 16 x 16 or 16 x 32 bytes times so many x 8, wrapping on overflow --------------

// Fragments of lane l, with g = l / 4 and t = l % 4. a0 and a1 are the bytes 4 t to 4 t + 3 along K of rows g and g + 8, a2 and
// a3 those 16 bytes further along K. b, or b0 and b1, are the same bytes along K of column g. c[0] and c[1] are columns 2 t and
// 2 t + 1 of row g, c[2] and c[3] those of row g + 8. All lanes call them together.
__device__ __forceinline__ void multiply_bytes(std::uint32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(b));
}
__device__ __forceinline__ void multiply_bytes(std::uint32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                               std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// The last one, with sums that stay at 2^31 - 1 where they would be larger.
__device__ __forceinline__ void add_bytes_up_to_most(std::uint32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                                     std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// On signed bytes.
__device__ __forceinline__ void multiply_signed_bytes(std::uint32_t (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                      std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The same onto `start`, and onto zeros, which take no registers.
__device__ __forceinline__ void multiply_first_signed_bytes(std::uint32_t (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                            std::uint32_t b1, const std::uint32_t (&start)[4]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(start[0]), "r"(start[1]), "r"(start[2]), "r"(start[3]));
}
__device__ __forceinline__ void multiply_first_signed_bytes(std::uint32_t (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                            std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0));
}

}  // namespace ozfp4::cuda
