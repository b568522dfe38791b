// The certificates in the kernel of the short form. It is its work before the first row, in a row of certain entries alone, and
// in a row that has to be looked at entry by entry.
#pragma once

#include <cstdint>

#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/reconstruct/certify/segment.cuh"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/reconstruct/shape.cuh"

namespace ozfp4::cuda::short_form {

// In shared memory: the tests of the rows of a warp, as row_shift; their numbers plus the shift k of the constants.
template <class S, bool Certifies = S::Certifies>
struct Certifying {
  std::int32_t test[kWarps][32];

  __device__ __forceinline__ RowTest test_of(const Parameters<S>& p, std::int32_t row) const {
    return {test[threadIdx.x / 32][row]};
  }
};
template <class S>
struct Certifying<S, false> {
  __device__ __forceinline__ RowTest test_of(const Parameters<S>&, std::int32_t) const { return {}; }
};

// Whether every row has to be looked at entry by entry: the tests of rows certify entries, and know nothing else of them.
__device__ __forceinline__ bool asks_entries(const Certification& asked) {
  return asked.accuracy == Accuracy::scaled || asked.rounding != Rounding::nearest || asked.bound.data != nullptr;
}

// The facts that the lines say of all entries, not looked at yet: what is loaded next does not wait for it.
__device__ __forceinline__ int load_certainty(const Certification& asked) {
  return asked.is_certain != nullptr ? *asked.is_certain : 0;
}

// Leaves the tests of the rows in shared memory; `tests_nothing`: whatever the records say. All lanes of a warp call it.
// Precondition: the place holds entries and rows.
template <class S>
__device__ __forceinline__ void share_tests(Certifying<S>& shared, const Parameters<S>& p, const Place<S>& place,
                                            const Lines& lines, std::int32_t constant_shift, bool tests_nothing) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::int32_t& own_test = shared.test[threadIdx.x / 32][lane];
  if (tests_nothing) {
    own_test = kNoTest;
    __syncwarp();
    return;
  }
  const Certification& asked = p.certification;
  const ReconstructJob& job = p.job;
  SegmentRecord columns;
#pragma unroll
  for (int j = 0; j < S::vec; ++j) columns.add(job.b.record[lines.b + min(place.entry_of(j), place.entries - 1)]);
  columns.combine();
  const LineRecord& row = job.a.record[lines.a + max(place.rows - 1 - lane, 0) * place.step_y];
  if (asked.accuracy == Accuracy::correct) {
    const std::int32_t test = correct_test(row, columns);
    own_test = test == kNoTest ? kNoTest : test + constant_shift;
  } else {
    own_test = standard_test(row, columns, job.a.view.inner);
  }
  __syncwarp();
}

// This lane's word of the list in the first row of the warp, where it has one; else null.
template <class S>
__device__ __forceinline__ std::uint32_t* own_words(const Parameters<S>& p, const Place<S>& place) {
  const Listed& listed = p.certification.listed;
  const int lane = static_cast<int>(threadIdx.x % 32), word = place.first_column / 32 + lane;
  if (listed.word == nullptr || lane >= S::vec || word >= listed.pitch) return nullptr;
  return listed_words(listed, place.matrix, place.first_row) + word;
}

// This lane's word of a row that is listed as a whole.
template <class S>
__device__ __forceinline__ std::uint32_t word_of_all(const Place<S>& place) {
  const int count = place.entries - 32 * static_cast<int>(threadIdx.x % 32);
  return count <= 0 ? 0u : count >= 32 ? ~0u : (1u << count) - 1;
}

// Counts the entries of so many rows of the segment. All lanes of a warp call it.
template <class S>
__device__ __forceinline__ void count_listed(const Parameters<S>& p, std::int32_t rows) {
  if (rows == 0 || threadIdx.x % 32 != 0) return;
  atomicAdd(&p.certification.listed.counts->listed, static_cast<unsigned long long>(rows) * Place<S>(p).entries);
}

// Bit 2 i of the result is bit i of x. Precondition: 16 bits.
__device__ __forceinline__ std::uint32_t spread_bits(std::uint32_t x) {
  x = (x | (x << 8)) & 0x00ff00ffu;
  x = (x | (x << 4)) & 0x0f0f0f0fu;
  x = (x | (x << 2)) & 0x33333333u;
  return (x | (x << 1)) & 0x55555555u;
}

// The word of the list that lane `lane` stores: entry j of the lanes of a warp is listed where `ballot` of lane j says so.
__device__ __forceinline__ std::uint32_t word_of_ballots(std::uint32_t ballot) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::uint32_t even = __shfl_sync(0xffffffffu, ballot, lane & ~1), odd = __shfl_sync(0xffffffffu, ballot, lane | 1);
  const int half = 16 * (lane & 1);
  return spread_bits((even >> half) & 0xffffu) | (spread_bits((odd >> half) & 0xffffu) << 1);
}

// Every entry of a row by itself, what the fast functions are not sure of and special ones; `target` is the lane's first, `words`
// its own_words of this row. All lanes of the warp call it.
template <class T, class S>
__device__ __forceinline__ void look_at_row(const Parameters<S>& p, const std::uint32_t (&column)[2 * S::Words][S::pitch],
                                            const ColumnConstants<S::Words>& constants, std::int32_t row, char* target,
                                            [[maybe_unused]] std::uint32_t* words) {
  const ReconstructJob& job = p.job;
  const Place<S> place(p);
  const Lines lines(job, place);
  const std::int64_t line_of_row = lines.a + row * place.step_y;
  const auto store = [&](int e, T value, [[maybe_unused]] double bound) {
    *reinterpret_cast<T*>(target + (e - place.entry_of(0)) * job.result.column_stride) = value;
    if constexpr (S::Certifies) {
      const DeviceResult& bounds = p.certification.bound;
      if (bounds.data == nullptr) return;
      *bound_of(bounds, place.matrix, place.first_row + row * place.step_y, place.first_column + e) = bound;
    }
  };
  const std::int32_t row_shift = job.a.shift[line_of_row];
  const std::uint32_t row_flags = flags_of(job.a, line_of_row);
  const auto column_flags = [&](int e) { return flags_of(job.b, lines.b + e); };
  [[maybe_unused]] const int lane = static_cast<int>(threadIdx.x % 32);
  bool is_special = row_flags != kFinite;
  [[maybe_unused]] std::uint32_t own_ballot = 0, listed = 0;
#pragma unroll 1
  for (int j = 0; j < S::vec; ++j) {
    const int e = place.entry_of(j);
    [[maybe_unused]] bool is_listed = false;
    if (e < place.entries) {
      std::uint32_t own[2 * S::Words];
#pragma unroll
      for (int s = 0; s < 2 * S::Words; ++s) own[s] = column[s][e];
      const WideInt<S::Words> x = exact_column_integer(own, constants);
      const std::int32_t exponent = -job.b.shift[lines.b + e] - row_shift;
      const std::uint32_t flags = row_flags | column_flags(e);
      is_special = is_special || flags != kFinite;
      if constexpr (S::Certifies) {
        const auto entry = certify_entry<T>(p.certification, shift_right(x, constants.shift), exponent, job.a.record[line_of_row],
                                            job.b.record[lines.b + e], job.a.view.inner);
        store(e, entry.value, entry.bound);
        is_listed = !entry.is_certified && flags == kFinite;
      } else {
        store(e, round_scaled<T>(x, exponent - constants.shift), 0.0);
      }
    }
    if constexpr (S::Certifies) {
      const std::uint32_t ballot = __ballot_sync(0xffffffffu, is_listed);
      if (lane == j) own_ballot = ballot;
      listed += static_cast<std::uint32_t>(__popc(ballot));
    }
  }
  if constexpr (S::Certifies) {
    const std::uint32_t word = word_of_ballots(own_ballot);
    if (words != nullptr) *words = word;
    if (listed != 0 && lane == 0) atomicAdd(&p.certification.listed.counts->listed, static_cast<unsigned long long>(listed));
  }
  if (!__any_sync(0xffffffffu, is_special)) return;
  patch_row<S::vec>(job, place, lines, row * place.step_y, row_flags, column_flags, place.entries, place.entry_of,
                    [&](int e, double value) { store(e, static_cast<T>(value), kSpecialBound); });
}

}  // namespace ozfp4::cuda::short_form
