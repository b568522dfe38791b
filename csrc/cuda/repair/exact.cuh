// Entries that double-double arithmetic does not settle: a warp each, in fixed point (arith/exact/exact_sum.hpp).
#pragma once

#include <cstdint>

#include "arith/exact/exact_sum.hpp"
#include "cuda/repair/rounding.cuh"
#include "cuda/repair/shared.cuh"

namespace ozfp4::cuda::repairing {

static_assert(kExactPitch == kExactDigits && kExactPieces <= 8);
static_assert(kScaledDigits <= 2 * (kExactParts - 1) * kExactPitch, "the parts but the first have room for an update");

// Adds the product of each lane to the sum of its 8 lanes, one after the other: lane i of them owns piece i.
__device__ __forceinline__ void add_products(std::int64_t* digit, const ProductPieces& own) {
  const int member = static_cast<int>(threadIdx.x % 8);
#pragma unroll 1
  for (int source = 0; source < 8; ++source) {
    const int first = __shfl_sync(0xffffffffu, own.first, source, 8);
    const std::int64_t flip = __shfl_sync(0xffffffffu, own.is_negative ? -1 : 0, source, 8);
    std::uint32_t piece = 0;
#pragma unroll
    for (int i = 0; i < kExactPieces; ++i) {
      const std::uint32_t sent = __shfl_sync(0xffffffffu, own.piece[i], source, 8);
      piece = member == i ? sent : piece;
    }
    if (member < kExactPieces) digit[first + member] += (static_cast<std::int64_t>(piece) ^ flip) - flip;
    __syncwarp();
  }
}

// All lanes of a warp; the sum is in lane 0.
template <class R>
__device__ __forceinline__ typename R::Value exact_dot(std::int64_t (&digit)[kExactParts][kExactPitch], const RepairJob& job,
                                                       const RepairMatrix& matrix, const Entry& entry) {
  const char* a = matrix.a.data + entry.row * matrix.a.outer_stride;
  const char* b = matrix.b.data + entry.column * matrix.b.outer_stride;
  const std::int32_t inner = job.a.view.inner;
  const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
  for (int i = lane; i < kExactParts * kExactPitch; i += 32) digit[i / kExactPitch][i % kExactPitch] = 0;
  __syncwarp();
#pragma unroll 1
  for (std::int64_t first = 0; first < inner; first += 32) {
    const std::int64_t k = first + lane;
    const bool is_inside = k < inner;
    const ProductPieces own = product_pieces(is_inside ? matrix.a.entry(a, k) : 0.0, is_inside ? matrix.b.entry(b, k) : 0.0);
    add_products(digit[lane / 8], own);
  }
  for (int i = lane; i < kExactPitch; i += 32) {
#pragma unroll
    for (int part = 1; part < kExactParts; ++part) digit[0][i] += digit[part][i];
  }
  __syncwarp();
  typename R::Value value = 0;
  if (lane == 0) {
    resolve_carries(digit[0]);
    value = R::of_digits(job, entry, digit[0], reinterpret_cast<std::uint32_t*>(digit[1]));
  }
  __syncwarp();
  return value;
}

// All warps: the unsettled entries of a group with the first tile `first`.
template <class R>
__device__ __forceinline__ void repair_exactly(Shared& shared, const Parameters& p, std::int64_t first) {
  const RepairJob& job = p.job;
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x / 32; i < shared.unsettled_count; i += kWarps) {
    const Entry entry = entry_of(p, first, shared.unsettled[i]);
    const RepairMatrix matrix(job, entry.matrix);
    const auto value = exact_dot<R>(shared.digit[threadIdx.x / 32], job, matrix, entry);
    if (threadIdx.x % 32 == 0) store_entry(job, matrix, entry, value);
  }
}

}  // namespace ozfp4::cuda::repairing
