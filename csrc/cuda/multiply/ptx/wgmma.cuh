// Warpgroup matrix multiply (wgmma) on bytes: 64 x N += 64 x 32 times 32 x N, both operands in shared memory,
// K-contiguous rows of 128 bytes in the 128-byte swizzle, INT32 accumulators in registers, wrapping on overflow.
//
// Accumulator layout, thread t of the warpgroup, lane l = t % 32, warp w = t / 32: acc[4 j + 2 h + e] is row
// 16 w + 8 h + l / 4, column 8 j + 2 (l % 4) + e.
#pragma once

#include <cstdint>

namespace ozfp4::cuda::ptx {

// Descriptor of a tile in shared memory whose rows are 128 bytes, base 1024-byte aligned: 8 rows every 1024 bytes.
// Adding bytes / 16 moves it: 2 for the next 32 bytes along K, 512 for 64 rows.
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
// The operand lists of the three widths, spelt once for both signs.
#define OZFP4_WGMMA_N64(TYPE)                                                                                                  \
  static __device__ __forceinline__ void run(std::int32_t (&d)[32], std::uint64_t a, std::uint64_t b, int accumulate) {        \
    asm volatile(                                                                                                              \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                                                           \
        "wgmma.mma_async.sync.aligned.m64n64k32.s32." TYPE "." TYPE                                                            \
        " {"                                                                                                                   \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                               \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"                                       \
        "}, %32, %33, p;\n}"                                                                                                   \
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]),          \
          "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]),  \
          "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), \
          "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31])                                                      \
        : "l"(a), "l"(b), "r"(accumulate));                                                                                    \
  }

#define OZFP4_WGMMA_N128(TYPE)                                                                                                 \
  static __device__ __forceinline__ void run(std::int32_t (&d)[64], std::uint64_t a, std::uint64_t b, int accumulate) {        \
    asm volatile(                                                                                                              \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"                                                                           \
        "wgmma.mma_async.sync.aligned.m64n128k32.s32." TYPE "." TYPE                                                           \
        " {"                                                                                                                   \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                               \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                                     \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                                     \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"                                       \
        "}, %64, %65, p;\n}"                                                                                                   \
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]),          \
          "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]),  \
          "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), \
          "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), \
          "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), \
          "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), \
          "+r"(d[54]), "+r"(d[55]), "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), \
          "+r"(d[63])                                                                                                          \
        : "l"(a), "l"(b), "r"(accumulate));                                                                                    \
  }

#define OZFP4_WGMMA_N256(TYPE)                                                                                                 \
  static __device__ __forceinline__ void run(std::int32_t (&d)[128], std::uint64_t a, std::uint64_t b, int accumulate) {       \
    asm volatile(                                                                                                              \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"                                                                          \
        "wgmma.mma_async.sync.aligned.m64n256k32.s32." TYPE "." TYPE                                                           \
        " {"                                                                                                                   \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                               \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                                     \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                                     \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "                                     \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "                                     \
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "                                     \
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "                         \
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"                       \
        "}, %128, %129, p;\n}"                                                                                                 \
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]),          \
          "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]),  \
          "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), \
          "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), \
          "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), \
          "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), \
          "+r"(d[54]), "+r"(d[55]), "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), \
          "+r"(d[63]), "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]), "+r"(d[70]), "+r"(d[71]), \
          "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]), "+r"(d[77]), "+r"(d[78]), "+r"(d[79]), "+r"(d[80]), \
          "+r"(d[81]), "+r"(d[82]), "+r"(d[83]), "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87]), "+r"(d[88]), "+r"(d[89]), \
          "+r"(d[90]), "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95]), "+r"(d[96]), "+r"(d[97]), "+r"(d[98]), \
          "+r"(d[99]), "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), "+r"(d[103]), "+r"(d[104]), "+r"(d[105]), "+r"(d[106]),       \
          "+r"(d[107]), "+r"(d[108]), "+r"(d[109]), "+r"(d[110]), "+r"(d[111]), "+r"(d[112]), "+r"(d[113]), "+r"(d[114]),      \
          "+r"(d[115]), "+r"(d[116]), "+r"(d[117]), "+r"(d[118]), "+r"(d[119]), "+r"(d[120]), "+r"(d[121]), "+r"(d[122]),      \
          "+r"(d[123]), "+r"(d[124]), "+r"(d[125]), "+r"(d[126]), "+r"(d[127])                                                 \
        : "l"(a), "l"(b), "r"(accumulate));                                                                                    \
  }

template <>
struct Multiply<false> {
  OZFP4_WGMMA_N64("u8")
  OZFP4_WGMMA_N128("u8")
  OZFP4_WGMMA_N256("u8")
};
template <>
struct Multiply<true> {
  OZFP4_WGMMA_N64("s8")
  OZFP4_WGMMA_N128("s8")
  OZFP4_WGMMA_N256("s8")
};

#undef OZFP4_WGMMA_N64
#undef OZFP4_WGMMA_N128
#undef OZFP4_WGMMA_N256

}  // namespace ozfp4::cuda::ptx
