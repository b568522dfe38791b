// What makes the chains of a tile: every sum takes its products in the order of k. A stage is kStep entries of each line in
// shared memory, line by line; entries of a line change places, so that neither neighbouring lines nor neighbours along K meet on
// a bank. begin looks at the first stage; add_step takes a stage, may look at the next one, and calls bring, which writes the one
// behind.
#pragma once

#include "cuda/standard/shared.cuh"

namespace ozfp4::cuda::settling {

__device__ __forceinline__ int swizzle_of(int line) { return 4 * (line % 4) + line / 4 % 4; }
__device__ __forceinline__ int place_of_entry(int line, int k) { return line * kStep + (k ^ swizzle_of(line)); }
static_assert(kStep == 16, "swizzle_of");

// By fused multiply-adds of threads: thread 16 y + x has the rows y + 16 i and the columns x + 16 j.
template <class T>
struct Cores {
  using Value = T;
  static constexpr bool kIsHere = true;
  static constexpr int kSideRows = kRows / 16, kSideColumns = kColumns / 16, kSums = kSideRows * kSideColumns;
  static_assert(16 * 16 == kThreads);

  static __device__ __forceinline__ int row_of(int i) { return static_cast<int>(threadIdx.x / 16) + i / kSideColumns * 16; }
  static __device__ __forceinline__ int column_of(int i) { return static_cast<int>(threadIdx.x % 16) + i % kSideColumns * 16; }

  struct Held {};
  static __device__ __forceinline__ void begin(Held&, const T*) {}
  template <class Bring>
  static __device__ __forceinline__ void add_step(T (&sum)[kSums], Held&, const T* stage, const T*, const Bring& bring) {
    bring();
    // Lines 16 apart have their entries at the same places.
    const int y = static_cast<int>(threadIdx.x / 16), x = static_cast<int>(threadIdx.x % 16);
    const T *const a = stage + y * kStep, *const b = stage + (kRows + x) * kStep;
    const int swizzle_a = swizzle_of(y), swizzle_b = swizzle_of(x);
#pragma unroll 4
    for (int k = 0; k < kStep; ++k) {
      T row[kSideRows], column[kSideColumns];
#pragma unroll
      for (int i = 0; i < kSideRows; ++i) row[i] = a[16 * i * kStep + (k ^ swizzle_a)];
#pragma unroll
      for (int j = 0; j < kSideColumns; ++j) column[j] = b[16 * j * kStep + (k ^ swizzle_b)];
#pragma unroll
      for (int i = 0; i < kSideRows; ++i) {
#pragma unroll
        for (int j = 0; j < kSideColumns; ++j) sum[i * kSideColumns + j] = fma(row[i], column[j], sum[i * kSideColumns + j]);
      }
    }
  }
};

// By tensor cores: on an H100 mma.m16n8k16.f64 equals the ascending chain, which other devices have not been tried for.
// Lane 4 g + t has of a: rows g and g + 8 in turn, entries t, t + 4, ...; of b: column g, the same entries; of c: columns 2 t and
// 2 t + 1 of row g, then of row g + 8.
struct TensorCores {
  using Value = double;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
  static constexpr bool kIsHere = true;
#else
  static constexpr bool kIsHere = false;  // has_tensor_chains: nobody launches it
#endif
  static constexpr int kSums = 32;  // [two of 16 rows][four of 8 columns][4]

  static __device__ __forceinline__ int warp_row() { return static_cast<int>(threadIdx.x / 32) % kWarpsAlongRows * kWarpRows; }
  static __device__ __forceinline__ int warp_column() {
    return static_cast<int>(threadIdx.x / 32) / kWarpsAlongRows * kWarpColumns;
  }
  static __device__ __forceinline__ int row_of(int i) {
    return warp_row() + 16 * (i / 16) + 8 * (i / 2 % 2) + static_cast<int>(threadIdx.x % 32) / 4;
  }
  static __device__ __forceinline__ int column_of(int i) {
    return warp_column() + 8 * (i / 4 % 4) + 2 * static_cast<int>(threadIdx.x % 4) + i % 2;
  }

  // What a step begins with, brought while the one before multiplies.
  struct Held {
    double a[2][8], b[2][4];
  };
  // In the order of the program, as the products are: so it is under way while these before it are made.
  static __device__ __forceinline__ double load(const double* stage, int line, int k) {
    const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(stage + place_of_entry(line, k)));
    double x;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(at) : "memory");
    return x;
  }
  static __device__ __forceinline__ void load_b(double (&b)[2][4], const double* stage, int first) {
    const int g = static_cast<int>(threadIdx.x % 32) / 4, t = static_cast<int>(threadIdx.x % 4);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
#pragma unroll
      for (int v = 0; v < 4; ++v) b[j][v] = load(stage, kRows + warp_column() + 8 * (first + j) + g, t + 4 * v);
    }
  }
  static __device__ __forceinline__ void begin(Held& held, const double* stage) {
    const int g = static_cast<int>(threadIdx.x % 32) / 4, t = static_cast<int>(threadIdx.x % 4);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int v = 0; v < 8; ++v) held.a[i][v] = load(stage, warp_row() + 16 * i + 8 * (v % 2) + g, t + v / 2 * 4);
    }
    load_b(held.b, stage, 0);
  }

  // The columns from the `first` eight on.
  static __device__ __forceinline__ void multiply(double (&sum)[kSums], const double (&a)[2][8], const double (&b)[2][4],
                                                  int first) {
#if OZFP4_IS_SM90_CODE
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        double* c = sum + 4 * (4 * i + first + j);
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
            "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[i][0]), "d"(a[i][1]), "d"(a[i][2]), "d"(a[i][3]), "d"(a[i][4]), "d"(a[i][5]), "d"(a[i][6]), "d"(a[i][7]),
              "d"(b[j][0]), "d"(b[j][1]), "d"(b[j][2]), "d"(b[j][3]));
      }
    }
#else
    (void)sum, (void)a, (void)b, (void)first;
#endif
  }

  // Half of the warps bring entries while the other half multiplies.
  template <class Bring>
  static __device__ __forceinline__ void add_step(double (&sum)[kSums], Held& held, const double* stage, const double* next,
                                                  const Bring& bring) {
    const bool is_early = threadIdx.x < kThreads / 2;
    double others[2][4];
    load_b(others, stage, 2);
    if (is_early) bring();
    multiply(sum, held.a, held.b, 0);
    if (!is_early) bring();
    Held coming;
    begin(coming, next);
    multiply(sum, held.a, others, 2);
    held = coming;
  }
};

}  // namespace ozfp4::cuda::settling
