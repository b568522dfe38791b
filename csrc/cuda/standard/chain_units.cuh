// The units that make the chains of a tile: every sum takes its products in the order of k. A stage is kStep entries of each line
// in shared memory, line by line. Entries of a line change places, so that neither neighbouring lines nor neighbours along K meet
// on a bank. add_step(sum, ahead, stage, next) adds the products of a stage, and calls next() once when it has read all of it,
// which gives the next stage. begin(ahead, stage) goes before the first one.
#pragma once

#include "cuda/multiply/ptx/warp.cuh"
#include "cuda/standard/shared.cuh"

namespace ozfp4::cuda::chaining {

// Pairs of doubles stay together, which are copied as one.
template <class T>
__device__ __forceinline__ int swizzle_of(int line) {
  return 4 * (line % 4) + (sizeof(T) == 8 ? line / 4 % 2 * 2 : line / 4 % 4);
}
template <class T>
__device__ __forceinline__ int place_of_entry(int line, int k) {
  return line * kStep + (k ^ swizzle_of<T>(line));
}
static_assert(kStep == 16, "swizzle_of");

// Bytes of the shared area, which stages take, and then sums.
template <class T>
constexpr int area_bytes(int stages, int columns) {
  const int of_stages = stages * (kRows + columns) * kStep, of_sums = kRows * columns;
  return static_cast<int>(sizeof(T)) * (of_stages > of_sums ? of_stages : of_sums);
}

// By fused multiply-adds of threads: thread 16 y + x has the rows y + 16 i and the columns x + 16 j.
template <class T>
struct Cores {
  using Value = T;
  static constexpr bool kIsHere = true, kIsOfAllGpus = true;
  // At a time; fewer columns of doubles, as some GPUs have 99 KB of shared memory.
  static constexpr int kTileColumns = sizeof(T) == 8 ? kColumns / 2 : kColumns, kStages = 2;
  static constexpr int kAreaBytes = area_bytes<T>(kStages, kTileColumns);
  static constexpr int kSideRows = kRows / 16, kSideColumns = kTileColumns / 16, kSums = kSideRows * kSideColumns;
  static_assert(16 * 16 == kThreads);

  static __device__ __forceinline__ int row_of(int i) { return static_cast<int>(threadIdx.x / 16) + i / kSideColumns * 16; }
  static __device__ __forceinline__ int column_of(int i) { return static_cast<int>(threadIdx.x % 16) + i % kSideColumns * 16; }

  struct Ahead {};
  static __device__ __forceinline__ void begin(Ahead&, const T*) {}
  template <class Next>
  static __device__ __forceinline__ void add_step(T (&sum)[kSums], Ahead&, const T* stage, Next next) {
    // Lines 16 apart have their entries at the same places.
    const int y = static_cast<int>(threadIdx.x / 16), x = static_cast<int>(threadIdx.x % 16);
    const T *const a = stage + y * kStep, *const b = stage + (kRows + x) * kStep;
    const int swizzle_a = swizzle_of<T>(y), swizzle_b = swizzle_of<T>(x);
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
    next();
  }
};

// By tensor cores: on an H100 and an H200 mma.m16n8k4.f64 in the order of k is the ascending chain, which other devices have not
// been tried for. Lane 4 g + t has for a: rows g and g + 8, entry t; for b: column g, entry t. For c it has columns 2 t and 2 t +
// 1 of row g, then of row g + 8.
struct TensorCores {
  using Value = double;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
  static constexpr bool kIsHere = true;
#else
  static constexpr bool kIsHere = false;  // has_tensor_chains: it is never launched
#endif
  static constexpr bool kIsOfAllGpus = false;
  static constexpr int kTileColumns = kColumns, kStages = 4;
  static constexpr int kAreaBytes = area_bytes<double>(kStages, kTileColumns);
  static constexpr int kSideRows = kWarpRows / 16, kSideColumns = kWarpColumns / 8, kSums = kSideRows * kSideColumns * 4;

  static __device__ __forceinline__ int warp_row() { return static_cast<int>(threadIdx.x / 32) % kWarpsAlongRows * kWarpRows; }
  static __device__ __forceinline__ int warp_column() {
    return static_cast<int>(threadIdx.x / 32) / kWarpsAlongRows * kWarpColumns;
  }
  static __device__ __forceinline__ int row_of(int i) {
    return warp_row() + 16 * (i / (4 * kSideColumns)) + 8 * (i / 2 % 2) + static_cast<int>(threadIdx.x % 32) / 4;
  }
  static __device__ __forceinline__ int column_of(int i) {
    return warp_column() + 8 * (i / 4 % kSideColumns) + 2 * static_cast<int>(threadIdx.x % 4) + i % 2;
  }

  // The warp's columns, and the first of its rows, at the four places along K that come next. Rows are loaded while those before
  // them are multiplied.
  struct Ahead {
    double a[2], b[kSideColumns];
  };

  static __device__ __forceinline__ void begin(Ahead& ahead, const double* stage) {
    load_columns(ahead.b, stage, 0);
    load_rows(ahead.a, stage, 0, 0);
  }

  template <class Next>
  static __device__ __forceinline__ void add_step(double (&sum)[kSums], Ahead& ahead, const double* stage, Next next) {
#pragma unroll
    for (int k = 0; k < kStep; k += 4) {
      double b[kSideColumns];
#pragma unroll
      for (int j = 0; j < kSideColumns; ++j) b[j] = ahead.b[j];
#pragma unroll
      for (int i = 0; i < kSideRows; ++i) {
        const double a[2] = {ahead.a[0], ahead.a[1]};
        if (i + 1 < kSideRows) {
          load_rows(ahead.a, stage, i + 1, k);
        } else {
          const double* from = k + 4 == kStep ? next() : stage;
          load_columns(ahead.b, from, (k + 4) % kStep);
          load_rows(ahead.a, from, 0, (k + 4) % kStep);
        }
#pragma unroll
        for (int j = 0; j < kSideColumns; ++j) multiply(sum + 4 * (i * kSideColumns + j), a, b[j]);
      }
    }
  }

 private:
  // Lines that are eight apart have their entries at the same places.
  static __device__ __forceinline__ std::uint32_t address(const double* stage, int first_line, int k) {
    const int g = static_cast<int>(threadIdx.x % 32) / 4, t = static_cast<int>(threadIdx.x % 4);
    const int entry = (first_line + g) * kStep + (k ^ swizzle_of<double>(g) ^ t);
    return shared_address(stage) + static_cast<std::uint32_t>(entry) * 8;
  }

  static __device__ __forceinline__ double load(std::uint32_t at) {
    double x;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(at) : "memory");
    return x;
  }

  static __device__ __forceinline__ void load_columns(double (&to)[kSideColumns], const double* stage, int k) {
    const std::uint32_t at = address(stage, kRows + warp_column(), k);
#pragma unroll
    for (int j = 0; j < kSideColumns; ++j) to[j] = load(at + 8 * j * kStep * 8);
  }

  static __device__ __forceinline__ void load_rows(double (&to)[2], const double* stage, int i, int k) {
    const std::uint32_t at = address(stage, warp_row() + 16 * i, k);
    to[0] = load(at);
    to[1] = load(at + 8 * kStep * 8);
  }

  static __device__ __forceinline__ void multiply(double* c, const double (&a)[2], double b) {
#if OZFP4_IS_SM90_CODE
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(b));
#else
    (void)c, (void)a, (void)b;
#endif
  }
};

}  // namespace ozfp4::cuda::chaining
