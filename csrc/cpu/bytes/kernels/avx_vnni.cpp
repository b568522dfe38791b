// AVX-VNNI: the same in registers of 256 bits, for CPUs without AVX-512.
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/bytes/tile.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

#define OZFP4_TARGET __attribute__((target("avx2,avxvnni")))

namespace ozfp4 {
namespace {

constexpr int kRows = 4, kHalves = 2;  // eight sums and two registers of B, of sixteen registers
constexpr std::int64_t kLanes = 8;

// Not among the names of __builtin_cpu_supports of GCC 11: leaf 7, subleaf 1, EAX bit 4. Asked once: in a virtual machine CPUID
// takes as long as a small product.
bool is_here() {
  static const bool found = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax >> 4 & 1) != 0;
  }();
  return found;
}

OZFP4_TARGET inline __m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

// Four lines of a panel of A, from `a`, with one panel of B.
OZFP4_TARGET void multiply_lines(const std::uint8_t* a, const std::int8_t* b, std::int64_t tiles, std::int32_t* c,
                                 std::int64_t c_pitch) {
  __m256i sums[kRows][kHalves];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kHalves; ++j) sums[i][j] = load(c + i * c_pitch + j * kLanes);
  }
  for (std::int64_t t = 0; t < tiles; ++t, a += kTileBytes, b += kTileBytes) {
#pragma GCC unroll 1
    for (int k = 0; k < kTileDepth; k += 4) {
      const __m256i right[kHalves] = {load(b + k * kPanelLines), load(b + k * kPanelLines + 32)};
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        std::int32_t four;
        std::memcpy(&four, a + i * kTileDepth + k, sizeof four);
        const __m256i left = _mm256_set1_epi32(four);
#pragma GCC unroll 2
        for (int j = 0; j < kHalves; ++j) sums[i][j] = _mm256_dpbusd_avx_epi32(sums[i][j], left, right[j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kHalves; ++j) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + i * c_pitch + j * kLanes), sums[i][j]);
    }
  }
}

void run(const ByteTask& task) {
  for (std::int64_t j = 0; j < task.columns; ++j) {
    for (std::int64_t line = 0; line < task.rows * kPanelLines; line += kRows) {
      const std::uint8_t* a = task.a + line / kPanelLines * task.a_pitch + line % kPanelLines * kTileDepth;
      multiply_lines(a, task.b + j * task.b_pitch, task.tiles, task.c + line * task.c_pitch + j * kPanelLines, task.c_pitch);
    }
  }
}

}  // namespace

const ByteKernel avx_vnni_kernel = {"AVX-VNNI", "avx_vnni", is_here, [] {}, [] {}, run};

}  // namespace ozfp4

#else

namespace ozfp4 {
const ByteKernel avx_vnni_kernel = {"AVX-VNNI", "avx_vnni", [] { return false; }, [] {}, [] {}, [](const ByteTask&) {}};
}  // namespace ozfp4

#endif
