// VPDPBUSD in the registers of AVX-512 (AVX-512 VNNI), and in those of 256 bits for CPUs without them (AVX-VNNI).
#include "cpu/bytes/kernels/kernel.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

#include "cpu/bytes/tile.hpp"

#define OZFP4_INLINED inline __attribute__((always_inline))
#define OZFP4_WITH_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define OZFP4_WITH_AVX __attribute__((target("avx2,avxvnni")))

namespace ozfp4 {
namespace {

// A vector at any address.
template <class Vector>
struct __attribute__((packed, may_alias)) Anywhere {
  Vector vector;
};

// The functions of one level of instructions; what takes them is inlined into functions of that level.
template <class Vector>
struct Instructions {
  void (*spread)(std::int32_t four, Vector& all);
  void (*multiply_add)(const Vector& a, const Vector& b, Vector& sums);
};

// `Rows` lines of a panel of A, from `a`, with `Panels` panels of B: their sums, and a register for each of B, lie in registers.
template <int Rows, int Panels, class Vector>
OZFP4_INLINED void multiply_lines(const Instructions<Vector>& own, const ByteTask& task, const std::uint8_t* a,
                                  const std::int8_t* b, std::int32_t* c) {
  constexpr int lanes = sizeof(Vector) / sizeof(std::int32_t), vectors = Panels * static_cast<int>(kPanelLines) / lanes;
  Vector sums[Rows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      sums[i][v] = reinterpret_cast<const Anywhere<Vector>*>(c + i * task.c_pitch + v * lanes)->vector;
  }
  for (std::int64_t t = 0; t < task.tiles; ++t, a += kTileBytes, b += kTileBytes) {
#pragma GCC unroll 1
    for (int k = 0; k < kTileDepth; k += 4) {
      Vector right[vectors];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const std::int64_t line = v * lanes;
        right[v] = reinterpret_cast<const Anywhere<Vector>*>(b + line / kPanelLines * task.b_pitch + k * kPanelLines +
                                                             line % kPanelLines * 4)
                       ->vector;
      }
#pragma GCC unroll 8
      for (int i = 0; i < Rows; ++i) {
        std::int32_t four;
        std::memcpy(&four, a + i * kTileDepth + k, sizeof four);
        Vector left;
        own.spread(four, left);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) own.multiply_add(left, right[v], sums[i][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) reinterpret_cast<Anywhere<Vector>*>(c + i * task.c_pitch + v * lanes)->vector = sums[i][v];
  }
}

// All of a task, in columns of `Panels` panels and what is left: these stay in the first-level cache while the rows go by.
template <int Rows, int Panels, class Vector>
OZFP4_INLINED void walk(const Instructions<Vector>& own, const ByteTask& task) {
  for (std::int64_t j = 0; j < task.columns; j += Panels) {
    const std::int8_t* b = task.b + j * task.b_pitch;
    for (std::int64_t line = 0; line < task.rows * kPanelLines; line += Rows) {
      const std::uint8_t* a = task.a + line / kPanelLines * task.a_pitch + line % kPanelLines * kTileDepth;
      std::int32_t* c = task.c + line * task.c_pitch + j * kPanelLines;
      if (j + Panels <= task.columns) {
        multiply_lines<Rows, Panels>(own, task, a, b, c);
      } else {
        multiply_lines<Rows, 1>(own, task, a, b, c);
      }
    }
  }
}

OZFP4_WITH_AVX512 inline void spread(std::int32_t four, __m512i& all) { all = _mm512_set1_epi32(four); }
OZFP4_WITH_AVX512 inline void multiply_add(const __m512i& a, const __m512i& b, __m512i& sums) {
  sums = _mm512_dpbusd_epi32(sums, a, b);
}
OZFP4_WITH_AVX inline void spread(std::int32_t four, __m256i& all) { all = _mm256_set1_epi32(four); }
OZFP4_WITH_AVX inline void multiply_add(const __m256i& a, const __m256i& b, __m256i& sums) {
  sums = _mm256_dpbusd_avx_epi32(sums, a, b);
}

// 16 sums in registers, with two registers of B; eight, with two, of sixteen registers.
OZFP4_WITH_AVX512 void run_avx512(const ByteTask& task) { walk<8, 2, __m512i>({spread, multiply_add}, task); }
OZFP4_WITH_AVX void run_avx(const ByteTask& task) { walk<4, 1, __m256i>({spread, multiply_add}, task); }

bool has_avx512_vnni() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

// Not among the names of __builtin_cpu_supports of GCC 11: leaf 7, subleaf 1, EAX bit 4. Asked once: in a virtual machine CPUID
// takes as long as a small product.
bool has_avx_vnni() {
  static const bool found = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax >> 4 & 1) != 0;
  }();
  return found;
}

}  // namespace

const ByteKernel avx512_vnni_kernel = {"AVX-512 VNNI", "avx512_vnni", has_avx512_vnni, [] {}, [] {}, run_avx512};
const ByteKernel avx_vnni_kernel = {"AVX-VNNI", "avx_vnni", has_avx_vnni, [] {}, [] {}, run_avx};

}  // namespace ozfp4

#else

namespace ozfp4 {
const ByteKernel avx512_vnni_kernel = {"AVX-512 VNNI", "avx512_vnni", [] { return false; }, [] {}, [] {}, [](const ByteTask&) {}};
const ByteKernel avx_vnni_kernel = {"AVX-VNNI", "avx_vnni", [] { return false; }, [] {}, [] {}, [](const ByteTask&) {}};
}  // namespace ozfp4

#endif
