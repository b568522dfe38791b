// Matrix multiply of a warp on unsigned bytes: 16 x 8 += 16 x 16 or 16 x 32 bytes times so many x 8, wrapping on overflow. All
// lanes call it together.
//
// Fragments, lane l, g = l / 4, t = l % 4: a0, a1 are the bytes 4 t .. 4 t + 3 along K of rows g and g + 8, a2, a3 the same 16
// bytes further along K; b (b0, b1) those of column g; c[0], c[1] are columns 2 t, 2 t + 1 of row g, c[2], c[3] those of row g
// + 8.
#pragma once

#include <cstdint>

namespace ozfp4::cuda {

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

// The last one, whose sums stay at 2^31 - 1 where they would be larger.
__device__ __forceinline__ void add_bytes_up_to_most(std::uint32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                                     std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

}  // namespace ozfp4::cuda
