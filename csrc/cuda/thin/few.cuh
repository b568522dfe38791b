// The few lines, cut to limbs once: a block takes a line.
#pragma once

#include "arith/scale_entry.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/scale/found.cuh"
#include "cuda/thin/arguments.cuh"
#include "cuda/thin/balanced_limbs.hpp"

namespace ozfp4::cuda::thin {

inline constexpr int kFewThreads = 512;

template <class T, bool Certifies>
__device__ __forceinline__ Found find_line(const char* data, std::int64_t stride, std::int32_t inner) {
  __shared__ Found of_warp[kFewThreads / 32];
  StateOf<Certifies> state;
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < inner; first += 8 * kFewThreads) {
    T x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int k = first + i * kFewThreads;
      x[i] = k < inner ? *reinterpret_cast<const T*>(data + k * stride) : T(0);
    }
    add_batch(state, x);
  }
  const int lane = static_cast<int>(threadIdx.x % 32);
  const Found own = over_warp<Certifies>(found_of(state));
  if (lane == 0) of_warp[threadIdx.x / 32] = own;
  __syncthreads();
  return over_warp<Certifies>(lane < kFewThreads / 32 ? of_warp[lane] : Found{});
}

template <class T, bool Certifies>
__global__ void __launch_bounds__(kFewThreads) few_kernel(const __grid_constant__ Arguments p) {
#if OZFP4_IS_THIN_CODE
  let_next_kernel_start();
  wait_for_previous_kernel();
  const DeviceOperand& view = p.few.view;
  const auto line = static_cast<std::int32_t>(blockIdx.x) % p.few_padded,
             matrix = static_cast<std::int32_t>(blockIdx.x) / p.few_padded;
  const bool exists = line < view.outer;
  const char* data = view.data + StackIndex{matrix}.offset(view.stack) + line * view.outer_stride;
  const std::int32_t inner = exists ? view.inner : 0;
  const Found found = find_line<T, Certifies>(data, view.inner_stride, inner);
  const OwnLine own = finish_line<Certifies>(found, p.capacity);
  if (threadIdx.x == 0) {
    p.limbs.capacity[blockIdx.x] = exists ? own.capacity : 0;
    if (exists) keep<Certifies>(p.few, std::int64_t(matrix) * view.outer + line, found, own);
  }
  const Factors factors = factors_of(own.shift);
  const std::int64_t first_unit = std::int64_t(matrix) * p.limbs.units;
  for (int pair = static_cast<int>(threadIdx.x); pair < 32 * p.limbs.units; pair += kFewThreads) {
    Balanced<3> limbs[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int k = 2 * pair + i;
      const T x = k < inner ? *reinterpret_cast<const T*>(data + k * view.inner_stride) : T(0);
      if (own.capacity > kBalancedCapacity<2>) {
        limbs[i] = balanced_limbs<3>(static_cast<double>(x) * factors.first, factors.second);
      } else {
        const Balanced<2> two = balanced_limbs<2>(static_cast<double>(x) * factors.first, factors.second);
        limbs[i] = {{two.limb[0], two.limb[1], 0}};
      }
    }
    const std::int64_t at = ((first_unit + pair / 32) * p.few_padded + line) * 32 + pair % 32;
    p.limbs.lower[at] = make_int4(limbs[0].limb[0], limbs[0].limb[1], limbs[1].limb[0], limbs[1].limb[1]);
    p.limbs.upper[at] = make_int2(limbs[0].limb[2], limbs[1].limb[2]);
  }
#endif
}

}  // namespace ozfp4::cuda::thin
