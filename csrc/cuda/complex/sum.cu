#include "arith/accuracy/bound.hpp"
#include "arith/update/part_sum.hpp"
#include "cuda/complex/pairs.cuh"
#include "cuda/complex/sum.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

constexpr int kWarps = kPairThreads / 32;

// All lanes of a warp. What an approximate sum leaves open is summed exactly, one lane after the other in the digits of the warp.
template <class T>
__device__ __forceinline__ T rounded_sum(const PartSum& of, std::int64_t* digit) {
  T result = 0;
  bool is_settled = true;
  if (of.are_finite) {
    is_settled = settle_sum<T, true>(of, result);
  } else {
    result = special_sum<T>(of);
  }
  const unsigned lane = threadIdx.x % 32;
#pragma unroll 1
  for (unsigned open = __ballot_sync(0xffffffffu, !is_settled); open != 0; open &= open - 1) {
    for (unsigned i = lane; i < kExactDigits; i += 32) digit[i] = 0;
    __syncwarp();
    if (lane == static_cast<unsigned>(__ffs(static_cast<int>(open))) - 1) result = exact_sum<T>(of, digit);
    __syncwarp();
  }
  return result;
}

// All lanes of a warp, one after the other, as bounds are asked for by few. `own`: of the part, `other`: of the other one.
__device__ __forceinline__ double part_bound(double rounding, const double* alpha, double own, double other, bool is_inside,
                                             std::int64_t* digit) {
  double bound = float_from_bits<double>(kInfinityBits<double>);
  const unsigned lane = threadIdx.x % 32;
  const bool is_summed = is_inside && is_finite(rounding) && is_finite(own) && is_finite(other);
#pragma unroll 1
  for (unsigned open = __ballot_sync(0xffffffffu, is_summed); open != 0; open &= open - 1) {
    for (unsigned i = lane; i < kExactDigits; i += 32) digit[i] = 0;
    __syncwarp();
    if (lane == static_cast<unsigned>(__ffs(static_cast<int>(open))) - 1) {
      bound = sum_bound(digit, rounding, alpha[0], own, alpha[1], other);
    }
    __syncwarp();
  }
  return bound;
}

// One block of a multiprocessor at least: with registers for two the terms of both parts do not fit them.
template <class T>
__global__ void __launch_bounds__(kPairThreads, 1) sum_kernel(const __grid_constant__ ComplexMatrixSum sum) {
  using Pair = Two<T>;
  __shared__ std::int64_t digits[kWarps][kExactDigits];
  std::int64_t* digit = digits[threadIdx.x / 32];
  const PairExtents& extents = sum.extents;
  for_pairs(extents, [&](std::int64_t matrix, std::int64_t row, std::int64_t column, bool is_inside) {
    const std::int64_t at = (matrix * extents.rows + row) * extents.columns + column;
    ComplexSum of;
    if (is_inside && sum.product != nullptr) {
      const Pair x = reinterpret_cast<const Pair*>(sum.product)[at];
      of.add(0, x.re, x.im, sum.alpha[0], sum.alpha[1]);
    }
    if (is_inside && sum.rest != nullptr) {
      const Pair x = reinterpret_cast<const Pair*>(sum.rest)[at];
      of.add(1, is_finite(x.re) ? x.re : T(0), is_finite(x.im) ? x.im : T(0), sum.alpha[0], sum.alpha[1]);
    }
    if (is_inside && sum.addend.data != nullptr) {
      const char* place = place_of(sum.addend, matrix, row, column);
      if (sum.addend.part == sum.c.part) {
        const Pair x = load_pair<T>(place);
        of.add(2, x.re, x.im, sum.beta[0], sum.beta[1]);
      } else {
        const Two<float> x = load_pair<float>(place);
        of.add(2, x.re, x.im, sum.beta[0], sum.beta[1]);
      }
    }
    Pair result;
    result.re = rounded_sum<T>(of.real, digit);
    result.im = rounded_sum<T>(of.imaginary, digit);
    if (is_inside) store_pair<T>(place_of(sum.c, matrix, row, column), result);
    if (sum.bound.data == nullptr) return;
    Two<double> lost{0, 0}, bound;
    if (is_inside && sum.lost != nullptr) lost = reinterpret_cast<const Two<double>*>(sum.lost)[at];
    bound.re = part_bound(rounding_bound(result.re, Rounding::nearest), sum.alpha, lost.re, lost.im, is_inside, digit);
    bound.im = part_bound(rounding_bound(result.im, Rounding::nearest), sum.alpha, lost.im, lost.re, is_inside, digit);
    if (is_inside) store_pair<double>(place_of(sum.bound, matrix, row, column), bound);
  });
}

}  // namespace

void launch_sum(const ComplexMatrixSum& sum, cudaStream_t stream) {
  const LaunchConfig config = config_of_pairs(sum.extents, "complex factors", stream);
  launch(sum.c.part == ElementType::float64 ? sum_kernel<double> : sum_kernel<float>, config, sum);
}

}  // namespace ozfp4::cuda
