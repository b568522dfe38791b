// A warp's entries of one row, 32 of them or fewer, one a lane: where they come from, where they go, which lines are special.
#pragma once

#include <cstdint>

#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/reconstruct/lines.cuh"

namespace ozfp4::cuda::long_form {

// The first of them.
struct Place {
  std::int32_t matrix, first_row, first_column;
};

// All lanes of the warp make one, and call its functions that say so.
struct Segment {
  const ReconstructJob& job;
  const Place& place;
  Lines lines;
  int entries, lane, own;  // own: the lane's entry; lanes beyond the last one repeat it
  std::uint32_t row_flags;

  __device__ __forceinline__ Segment(const ReconstructJob& of, const Place& at) : job(of), place(at), lines(of, at) {
    entries = min(32, job.result.columns - place.first_column);
    lane = static_cast<int>(threadIdx.x % 32);
    own = min(lane, entries - 1);
    row_flags = flags_of(job.a, lines.a);
  }

  // The byte of the lane's entry in plane 0.
  __device__ __forceinline__ const std::uint8_t* source() const {
    return job.residues.data + place.matrix * job.residues.matrix_stride + place.first_row * job.residues.pitch +
           place.first_column + own;
  }
  // The entry is its integer times 2^exponent.
  __device__ __forceinline__ std::int32_t exponent() const { return -(job.a.shift[lines.a] + job.b.shift[lines.b + own]); }
  __device__ __forceinline__ const LineRecord& row() const { return job.a.record[lines.a]; }
  __device__ __forceinline__ const LineRecord& column() const { return job.b.record[lines.b + own]; }

  __device__ __forceinline__ bool is_mine() const { return lane < entries; }
  __device__ __forceinline__ std::uint32_t column_flags(int e) const { return flags_of(job.b, lines.b + e); }
  __device__ __forceinline__ bool is_special() const { return (row_flags | column_flags(own)) != kFinite; }

  // With its bound where that is asked for.
  template <class T>
  __device__ __forceinline__ void store(int e, T value, double bound, const Certification& asked) const {
    *reinterpret_cast<T*>(job.result.data + lines.result_offset + place.first_row * job.result.row_stride +
                          (std::int64_t(place.first_column) + e) * job.result.column_stride) = value;
    store_bound(e, bound, asked);
  }
  __device__ __forceinline__ void store_bound(int e, double bound, const Certification& asked) const {
    if (asked.bound.data != nullptr) *bound_of(asked.bound, place.matrix, place.first_row, place.first_column + e) = bound;
  }

  // put(e, value) for what the IEEE rules give of the entries of special lines, by the lane whose entry e is. All lanes.
  template <class Put>
  __device__ __forceinline__ void patch(Put put) const {
    if (!__any_sync(0xffffffffu, is_special())) return;
    patch_row<1>(
        job, place, lines, 0, row_flags, [&](int e) { return column_flags(e); }, entries, [&](int) { return lane; }, put);
  }

  // Bits of the entries that are left to repair become a word of the list, whose rows have an even number of them. All lanes.
  __device__ __forceinline__ void list(const Listed& listed, bool is_listed) const {
    const std::uint32_t word = __ballot_sync(0xffffffffu, is_listed);
    if (listed.word == nullptr || threadIdx.x % 32 != 0) return;
    std::uint32_t* words = listed_words(listed, place.matrix, place.first_row) + place.first_column / 32;
    words[0] = word;
    if (place.first_column / 32 % 2 == 0 && place.first_column + 32 >= job.result.columns) words[1] = 0;
    if (word != 0) atomicAdd(&listed.counts->listed, static_cast<unsigned long long>(__popc(word)));
  }
};

}  // namespace ozfp4::cuda::long_form
