// Entries of C whose row of A or column of B holds a NaN or an infinity, by the semantics of cpu_patch_specials.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/float_fields.hpp"
#include "cuda/stack_index.cuh"

namespace ozfp4::cuda {

// A line of an operand.
struct Line {
  const char* data;
  std::int64_t stride;
  ElementType type;

  __device__ __forceinline__ double operator[](std::int32_t k) const {
    const char* address = data + k * stride;
    return type == ElementType::float64 ? *reinterpret_cast<const double*>(address)
                                        : static_cast<double>(*reinterpret_cast<const float*>(address));
  }
};

// What the infinities met so far: products above 0, below 0, or both where a product is a NaN.
inline constexpr std::uint32_t kPlus = 1, kMinus = 2, kBoth = kPlus | kMinus;

__device__ __forceinline__ bool is_infinite(double x) { return magnitude_bits(x) == kInfinityBits<double>; }
__device__ __forceinline__ std::uint32_t sign_of(double product) { return product > 0 ? kPlus : product < 0 ? kMinus : kBoth; }

// The sum of infinite products. Precondition: seen != 0.
__device__ __forceinline__ double sum_of_signs(std::uint32_t seen) {
  const std::uint64_t sign = seen == kMinus ? std::uint64_t(1) << 63 : 0, quiet = seen == kBoth ? std::uint64_t(1) << 51 : 0;
  return float_from_bits<double>(kInfinityBits<double> | sign | quiet);
}

// One row of a warp's segment. line_a: the row; line_b(e): the column of entry e; flags_b(e): its flags; entry_of(j), j < Vec:
// the entries that this lane owns, of `entries`; store(e, value). All lanes of the warp call it.
template <int Vec, class LineB, class FlagsB, class EntryOf, class Store>
__device__ __forceinline__ void patch_specials(const Line& line_a, std::uint32_t flags_a, std::int32_t inner, int entries,
                                               LineB line_b, FlagsB flags_b, EntryOf entry_of, Store store) {
  constexpr std::uint32_t all_lanes = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::uint32_t seen = 0;  // two bits for each entry of this lane

  if (flags_a == kHasInfinity) {  // the infinities of the row, one after the other, meet the entries of all columns
#pragma unroll 1
    for (std::int32_t first = 0; first < inner; first += 32) {
      const double own = first + lane < inner ? line_a[first + lane] : 0.0;
      for (std::uint32_t rest = __ballot_sync(all_lanes, is_infinite(own)); rest != 0; rest &= rest - 1) {
        const int source = __ffs(static_cast<int>(rest)) - 1;
        const double x = __shfl_sync(all_lanes, own, source);
#pragma unroll 1
        for (int j = 0; j < Vec; ++j) {
          if (entry_of(j) < entries) seen |= sign_of(x * line_b(entry_of(j))[first + source]) << (2 * j);
        }
      }
    }
  }
  if ((flags_a & kHasNan) == 0) {  // the infinities of a column meet the row; all lanes search the column
#pragma unroll 1
    for (int j = 0; j < Vec; ++j) {
      const bool is_searched = entry_of(j) < entries && flags_b(entry_of(j)) == kHasInfinity;
#pragma unroll 1
      for (std::uint32_t rest = __ballot_sync(all_lanes, is_searched); rest != 0; rest &= rest - 1) {
        const int owner = __ffs(static_cast<int>(rest)) - 1;
        const Line column = line_b(__shfl_sync(all_lanes, entry_of(j), owner));
        std::uint32_t signs = 0;
#pragma unroll 4
        for (std::int32_t k = lane; k < inner; k += 32) {
          const double y = column[k];
          if (is_infinite(y)) signs |= sign_of(line_a[k] * y);
        }
        const std::uint32_t plus = __any_sync(all_lanes, (signs & kPlus) != 0) ? kPlus : 0u;
        const std::uint32_t minus = __any_sync(all_lanes, (signs & kMinus) != 0) ? kMinus : 0u;
        if (lane == owner) seen |= (plus | minus) << (2 * j);
      }
    }
  }
#pragma unroll 1
  for (int j = 0; j < Vec; ++j) {
    if (entry_of(j) >= entries) continue;
    const std::uint32_t flags = flags_a | flags_b(entry_of(j));
    if (flags != kFinite) store(entry_of(j), sum_of_signs((flags & kHasNan) != 0 ? kBoth : (seen >> (2 * j)) & kBoth));
  }
}

}  // namespace ozfp4::cuda
