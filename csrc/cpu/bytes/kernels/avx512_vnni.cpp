// AVX-512 VNNI: VPDPBUSD multiplies four unsigned by four signed bytes for each of 16 sums, without saturation.
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/bytes/tile.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <cstring>

#define OZFP4_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace ozfp4 {
namespace {

constexpr int kRows = 8;  // of C in registers: with two panels of columns 16 sums, beside two registers of B

bool is_here() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

// Eight lines of a panel of A, from `a`, with `Columns` panels of B.
template <int Columns>
OZFP4_TARGET inline void multiply_lines(const std::uint8_t* a, const ByteTask& task, const std::int8_t* b, std::int32_t* c) {
  __m512i sums[kRows][Columns];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < Columns; ++j) sums[i][j] = _mm512_loadu_si512(c + i * task.c_pitch + j * kPanelLines);
  }
  for (std::int64_t t = 0; t < task.tiles; ++t, a += kTileBytes, b += kTileBytes) {
#pragma GCC unroll 1
    for (int k = 0; k < kTileDepth; k += 4) {
      __m512i right[Columns];
#pragma GCC unroll 2
      for (int j = 0; j < Columns; ++j) right[j] = _mm512_loadu_si512(b + j * task.b_pitch + k * kPanelLines);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        std::int32_t four;
        std::memcpy(&four, a + i * kTileDepth + k, sizeof four);
        const __m512i left = _mm512_set1_epi32(four);
#pragma GCC unroll 2
        for (int j = 0; j < Columns; ++j) sums[i][j] = _mm512_dpbusd_epi32(sums[i][j], left, right[j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < Columns; ++j) _mm512_storeu_si512(c + i * task.c_pitch + j * kPanelLines, sums[i][j]);
  }
}

template <int Columns>
OZFP4_TARGET void multiply_columns(const ByteTask& task, std::int64_t column) {
  const std::int8_t* b = task.b + column * task.b_pitch;
  for (std::int64_t i = 0; i < task.rows; ++i) {
    for (int first = 0; first < kPanelLines; first += kRows) {
      std::int32_t* c = task.c + (i * kPanelLines + first) * task.c_pitch + column * kPanelLines;
      multiply_lines<Columns>(task.a + i * task.a_pitch + first * kTileDepth, task, b, c);
    }
  }
}

// A pair of panels of B stays in the first-level cache while the rows go by.
void run(const ByteTask& task) {
  std::int64_t j = 0;
  for (; j + 2 <= task.columns; j += 2) multiply_columns<2>(task, j);
  if (j < task.columns) multiply_columns<1>(task, j);
}

}  // namespace

const ByteKernel avx512_vnni_kernel = {"AVX-512 VNNI", "avx512_vnni", is_here, [] {}, [] {}, run};

}  // namespace ozfp4

#else

namespace ozfp4 {
const ByteKernel avx512_vnni_kernel = {"AVX-512 VNNI", "avx512_vnni", [] { return false; }, [] {}, [] {}, [](const ByteTask&) {}};
}  // namespace ozfp4

#endif
