// Warpgroup matrix multiply (wgmma) on bytes: 64 x N += 64 x 32 times 32 x N. Both operands are in shared memory, K-contiguous
// rows of 128 bytes in the 128-byte swizzle; INT32 accumulators are in registers, and wrap on overflow.
//
// Accumulator layout: thread t of the warpgroup is lane l = t % 32 of warp w = t / 32. Its acc[4 j + 2 h + e] is in row
// 16 w + 8 h + l / 4 and column 8 j + 2 (l % 4) + e.
#pragma once

#include <cstdint>

namespace ozfp4::cuda::ptx {

// Descriptor of a tile in shared memory with rows of 128 bytes, base 1024-byte aligned: 8 rows every 1024 bytes. Adding bytes /
// 16 moves it: 2 for the next 32 bytes along K, 512 for 64 rows.
__device__ __forceinline__ std::uint64_t tile_descriptor(std::uint32_t address) {
  constexpr std::uint64_t swizzle_128 = std::uint64_t(1) << 62, eight_rows = std::uint64_t(1024 >> 4) << 32;
  return swizzle_128 | eight_rows | (std::uint64_t(1) << 16) | ((address & 0x3FFFF) >> 4);
}

// Orders earlier register and shared-memory accesses of the warpgroup before the multiplications that follow.
__device__ __forceinline__ void begin_multiply() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Closes a group of multiplications.
__device__ __forceinline__ void commit_multiply() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most `kPending` groups are unfinished.
template <int kPending>
__device__ __forceinline__ void wait_multiply() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving uses of the accumulators across this point; costs nothing.
template <int kSlabs, int kCount>
__device__ __forceinline__ void pin(std::int32_t (&acc)[kSlabs][kCount]) {
#pragma unroll
  for (int i = 0; i < kSlabs * kCount; ++i) asm volatile("" : "+r"(acc[i / kCount][i % kCount]));
}

// acc = (accumulate ? acc : 0) + A * B, asynchronous. N is twice the number of accumulators.
template <bool kSigned>
struct Multiply;
// The operand lists of the three widths, spelt once: %0 to %31, %63, %127, and the accumulators of these.
#define OZFP4_NAMES_32                                                     \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define OZFP4_NAMES_64                                                               \
  OZFP4_NAMES_32                                                                     \
  ", "                                                                               \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define OZFP4_NAMES_96                                                               \
  OZFP4_NAMES_64                                                                     \
  ", "                                                                               \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define OZFP4_NAMES_128                                                                          \
  OZFP4_NAMES_64                                                                                 \
  ", "                                                                                           \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define OZFP4_SUMS_4(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define OZFP4_SUMS_16(i) OZFP4_SUMS_4(i), OZFP4_SUMS_4(i + 4), OZFP4_SUMS_4(i + 8), OZFP4_SUMS_4(i + 12)
#define OZFP4_SUMS_32 OZFP4_SUMS_16(0), OZFP4_SUMS_16(16)
#define OZFP4_SUMS_64 OZFP4_SUMS_32, OZFP4_SUMS_16(32), OZFP4_SUMS_16(48)
#define OZFP4_SUMS_96 OZFP4_SUMS_64, OZFP4_SUMS_16(64), OZFP4_SUMS_16(80)
#define OZFP4_SUMS_128 OZFP4_SUMS_64, OZFP4_SUMS_16(64), OZFP4_SUMS_16(80), OZFP4_SUMS_16(96), OZFP4_SUMS_16(112)
// A, B, P: the places of the operands behind those.
#define OZFP4_WGMMA(TYPE, N, COUNT, A, B, P)                                                                               \
  static __device__ __forceinline__ void run(std::int32_t (&d)[COUNT], std::uint64_t a, std::uint64_t b, int accumulate) { \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P ", 0;\nwgmma.mma_async.sync.aligned.m64" N "k32.s32." TYPE "." TYPE \
                 " {" OZFP4_NAMES_##COUNT "}, " A ", " B ", p;\n}"                                                         \
                 : OZFP4_SUMS_##COUNT                                                                                      \
                 : "l"(a), "l"(b), "r"(accumulate));                                                                       \
  }
#define OZFP4_WGMMA_WIDTHS(TYPE)                     \
  OZFP4_WGMMA(TYPE, "n64", 32, "%32", "%33", "%34")  \
  OZFP4_WGMMA(TYPE, "n128", 64, "%64", "%65", "%66") \
  OZFP4_WGMMA(TYPE, "n192", 96, "%96", "%97", "%98") \
  OZFP4_WGMMA(TYPE, "n256", 128, "%128", "%129", "%130")

template <>
struct Multiply<false> {
  OZFP4_WGMMA_WIDTHS("u8")
};
template <>
struct Multiply<true> {
  OZFP4_WGMMA_WIDTHS("s8")
};

}  // namespace ozfp4::cuda::ptx
