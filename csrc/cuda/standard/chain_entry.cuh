// One chain: its entries as the result's type has them, and what is stored of it.
#pragma once

#include "arith/update/chain.hpp"
#include "cuda/entries.cuh"
#include "cuda/standard/shared.cuh"

namespace ozfp4::cuda::chaining {

template <class T>
__device__ __forceinline__ T chain_operand(const char* at, bool is_double) {
  return is_double ? static_cast<T>(*reinterpret_cast<const double*>(at)) : static_cast<T>(*reinterpret_cast<const float*>(at));
}

inline constexpr int kAhead = 16;  // entries of a line that are on their way at a time

// Whether the chain of an entry takes the products of each pair in the other order.
__device__ __forceinline__ bool is_exchanged(const ChainJob& job, const RepairMatrix& matrix, std::int64_t column) {
  return job.exchanges_pairs && (job.b.view.has_parts ? matrix.part != 0 : (job.first_column + column) % 2 != 0);
}

template <class T>
__device__ __forceinline__ void exchange(T& x, T& y) {
  const T kept = x;
  x = y;
  y = kept;
}

// Entries of a line on their way: `count` of them from `at` on, zeros beyond. Types and ends are checked once for all of them, as
// loads behind branches of their own would wait for each other.
template <class T>
__device__ __forceinline__ void load_ahead(T (&x)[kAhead], const char* at, std::int64_t stride, bool is_double,
                                           std::int64_t count) {
  if (count >= kAhead && is_double == (sizeof(T) == 8)) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) x[i] = *reinterpret_cast<const T*>(at + i * stride);
  } else {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) x[i] = i < count ? chain_operand<T>(at + i * stride, is_double) : T(0);
  }
}

// The entries along K from `begin` on and before `end`.
struct KRange {
  std::int64_t begin, end;
};

// The chain of a row and a column, by one thread; `repeats`: of both times a power of two (chain.hpp). Precondition: all other
// products are 0, and `begin` is even.
template <class T>
__device__ __noinline__ T chain_of_lines(const RepairLines& a, const RepairLines& b, std::int64_t row, std::int64_t column,
                                         KRange range, bool exchanges, bool repeats) {
  const bool is_double_a = a.is_double, is_double_b = b.is_double;  // in registers: memory is busy with entries
  const std::int64_t stride_a = a.inner_stride, stride_b = b.inner_stride;
  const char* at_a = a.data + row * a.outer_stride + range.begin * stride_a;
  const char* at_b = b.data + column * b.outer_stride + range.begin * stride_b;
  T sum = 0;
#pragma unroll 1
  for (std::int64_t left = range.end - range.begin; left > 0; left -= kAhead) {
    T x[kAhead], y[kAhead];
    load_ahead(x, at_a, stride_a, is_double_a, left);
    load_ahead(y, at_b, stride_b, is_double_b, left);
    if (exchanges) {
#pragma unroll
      for (int i = 0; i < kAhead; i += 2) exchange(x[i], x[i + 1]), exchange(y[i], y[i + 1]);
    }
    if (repeats) {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) x[i] = repeated_entry(x[i]), y[i] = repeated_entry(y[i]);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) sum = fma(x[i], y[i], sum);
    at_a += kAhead * stride_a;
    at_b += kAhead * stride_b;
  }
  return sum;
}

// Puts the entry of a chain, of the block's result, where it belongs.
template <class T, bool Updates>
__device__ __noinline__ void store_chain_end(const ChainJob& job, const RepairMatrix& matrix, std::int32_t matrix_index,
                                             std::int64_t row, std::int64_t column, T sum, bool is_repeated) {
  const ChainEnd<T> end{sum, is_repeated ? 2 * kChainShift<T> : 0};
  T value;
  if constexpr (Updates) {
    const Update& factors = job.update.factors;
    value = round_chain_update(end, factors, addend_of(factors, addend_at(job.update, matrix_index, row, column)));
  } else {
    value = round_chain(end);
  }
  matrix.entry<T>(job, row, column) = value;
  if (matrix.bound == nullptr) return;
  matrix.entry_bound(job, row, column) =
      chain_bound(matrix.a.record[row], matrix.b.record[column], value, Updates ? &job.update.factors.alpha : nullptr);
}

// The same, at once where the sum is the entry.
template <class T, bool Updates>
__device__ __forceinline__ void store_chain(const ChainJob& job, const RepairMatrix& matrix, std::int32_t matrix_index,
                                            std::int64_t row, std::int64_t column, T sum, bool is_repeated) {
  if (Updates || is_repeated || matrix.bound != nullptr) {
    return store_chain_end<T, Updates>(job, matrix, matrix_index, row, column, sum, is_repeated);
  }
  matrix.entry<T>(job, row, column) = round_chain(ChainEnd<T>{sum, 0});
}

}  // namespace ozfp4::cuda::chaining
