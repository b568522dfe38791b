// Matrix multiply of a warp on signed bytes, 16 x 8 (+)= 16 x 32 times 32 x 8; fragments as in byte_mma.cuh.
#pragma once

#include <cstdint>

namespace ozfp4::cuda {

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
