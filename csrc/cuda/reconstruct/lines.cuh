// Where the operands of an entry of C are, and how its special values are patched, by the semantics of cpu_patch_specials:
// what all reconstruct kernels share.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "arith/float_fields.hpp"
#include "cuda/entries.cuh"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda {

// A line of an operand.
struct Line {
  const char* data;
  std::int64_t stride;
  ElementType type;

  __device__ __forceinline__ double operator[](std::int32_t k) const {
    return number_at(data + k * stride, type == ElementType::float64);
  }
};

// The products that the infinities have made so far: above 0, below 0, or both where a product is a NaN.
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

// The matrices of the operands that make matrix `matrix` of the result, and where in them a place is: `place` has a matrix, a
// first row and a first column.
struct Lines {
  std::int32_t a_matrix = 0, b_matrix = 0;
  std::int64_t a, b;               // lines of all matrices: of the first row and of the first column
  std::int64_t result_offset = 0;  // bytes to the matrix of the result

  template <class Place>
  __device__ __forceinline__ Lines(const ReconstructJob& job, const Place& place) {
    StackIndex{place.matrix}.for_axes(job.result.stack, [&](std::int32_t axis, std::int32_t coordinate) {
      a_matrix += coordinate * job.result.a_step[axis];
      b_matrix += coordinate * job.result.b_step[axis];
      result_offset += coordinate * job.result.stack.stride[axis];
    });
    a = a_matrix * std::int64_t(job.a.view.outer) + place.first_row;
    b = b_matrix * std::int64_t(job.b.view.outer) + job.first_column + place.first_column;
  }
};

// Special flags of a line, numbered through all matrices of its operand.
__device__ __forceinline__ std::uint32_t flags_of(const ScaledOperand& operand, std::int64_t line) {
  return operand.special != nullptr ? operand.special[line] : kFinite;
}

// How many moduli the data needs, of those that the plan has prefixes for.
__device__ __forceinline__ int residues_used(const ReconstructJob& job, std::int32_t least, std::int32_t all) {
  return job.moduli_used != nullptr ? min(max(*job.moduli_used, least), all) : all;
}

// Whether a launch is for the number of moduli that the data needs. The short form tests it late: most data need few, and what
// it reads in the meantime is there by then. The long form tests it first of all.
__device__ __forceinline__ bool serves(const Certification& certification, const ReconstructJob& job) {
  if (job.moduli_used == nullptr || (certification.least_count == 0 && certification.most_count == INT32_MAX)) return true;
  const int used = *job.moduli_used;
  return used >= certification.least_count && used <= certification.most_count;
}

// patch_specials for one row of a warp's segment: the row of A is `row` rows below the first of the lines of `place`; flags and
// entries as there. All lanes of the warp call it.
template <int Vec, class Place, class Flags, class EntryOf, class Store>
__device__ __forceinline__ void patch_row(const ReconstructJob& job, const Place& place, const Lines& lines, std::int32_t row,
                                          std::uint32_t row_flags, Flags column_flags, int entries, EntryOf entry_of,
                                          Store store) {
  const Line line_a{job.a.view.data + StackIndex{lines.a_matrix}.offset(job.a.view.stack) +
                        (std::int64_t(place.first_row) + row) * job.a.view.outer_stride,
                    job.a.view.inner_stride, job.a.view.type};
  const char* b_data = job.b.view.data + StackIndex{lines.b_matrix}.offset(job.b.view.stack) +
                       (std::int64_t(job.first_column) + place.first_column) * job.b.view.outer_stride;
  patch_specials<Vec>(
      line_a, row_flags, job.a.view.inner, entries,
      [&](int e) { return Line{b_data + e * job.b.view.outer_stride, job.b.view.inner_stride, job.b.view.type}; }, column_flags,
      entry_of, store);
}

}  // namespace ozfp4::cuda
