// The sum of the products of an entry has one of two ends: it is rounded, or it is the product of an update. The kernels take
// one of the two classes.
#pragma once

#include <cstdint>

#include "arith/exact/exact_sum.hpp"
#include "arith/exact/settle.hpp"
#include "arith/update/settle_update.hpp"
#include "cuda/entries.cuh"
#include "cuda/repair/shared.cuh"

namespace ozfp4::cuda::repairing {

template <class T>
struct PlainRounding {
  using Value = T;

  static __device__ __forceinline__ T of_zero(const RepairJob& job, const Entry&) {
    return static_cast<T>(exact_zero(job.rounding));
  }
  // As settle.
  static __device__ __forceinline__ bool settles(const RepairJob& job, const Entry&, const DoubleDot& dot, double bound,
                                                 int exponent, T& value) {
    return settle(dot, bound, exponent, job.rounding, value);
  }
  // Rounds resolved digits; `room` has kScaledDigits words.
  static __device__ __forceinline__ T of_digits(const RepairJob& job, const Entry&, const std::int64_t* digit, std::uint32_t*) {
    return round_digits<T>(digit, job.rounding);
  }
};

// Precondition: finite entries of C.
template <class T>
struct UpdateRounding {
  using Value = T;

  static __device__ __forceinline__ Addend addend(const RepairJob& job, const Entry& entry) {
    return addend_of(job.update.factors, addend_at(job.update, entry.matrix, entry.row, entry.column));
  }
  static __device__ __forceinline__ T of_zero(const RepairJob& job, const Entry& entry) {
    return round_update<T>(wide_zero<1>(), 0, job.update.factors, addend(job, entry), job.rounding);
  }
  static __device__ __forceinline__ bool settles(const RepairJob& job, const Entry& entry, const DoubleDot& dot, double bound,
                                                 int exponent, T& value) {
    return settle_update(dot, bound, exponent, job.update.factors, addend(job, entry), job.rounding, value);
  }
  static __device__ __forceinline__ T of_digits(const RepairJob& job, const Entry& entry, const std::int64_t* digit,
                                                std::uint32_t* room) {
    return round_digits_update<T>(digit, job.update.factors, addend(job, entry), room, job.rounding);
  }
};

// One thread: an entry's result from its dot product, or its place among the unsettled ones.
template <class R>
__device__ __forceinline__ void settle_entry(Shared& shared, const RepairJob& job, const RepairMatrix& matrix, const Entry& entry,
                                             const DoubleDot& dot, double bound, int exponent, Spot spot) {
  typename R::Value value;
  if (R::settles(job, entry, dot, bound, exponent, value)) {
    store_entry(job, matrix, entry, value);
  } else {
    shared.unsettled[atomicAdd(&shared.unsettled_count, 1u)] = spot;
  }
}

}  // namespace ozfp4::cuda::repairing
