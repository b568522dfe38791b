// Where the operands of an entry of C are, and how its special values are patched: what all reconstruct kernels share.
#pragma once

#include <cstdint>

#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/reconstruct/special.cuh"

namespace ozfp4::cuda {

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
  return job.units_used != nullptr ? min(max(*job.units_used, least), all) : all;
}

// Whether a launch is for the number of moduli that the data needs. The short form tests it late: most data need few, and what
// it reads in the meantime is there by then. The long form tests it first of all.
__device__ __forceinline__ bool serves(const Certification& certification, const ReconstructJob& job) {
  if (job.units_used == nullptr || (certification.least_count == 0 && certification.most_count == INT32_MAX)) return true;
  const int used = *job.units_used;
  return used >= certification.least_count && used <= certification.most_count;
}

// patch_specials for one row of a warp's segment: the row of A is `row` rows below the first of `place`, whose lines these
// are; flags and entries as there. All lanes of the warp call it.
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
