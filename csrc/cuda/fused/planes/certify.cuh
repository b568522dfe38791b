// What a warp does more where entries are certified, in accuracy fp64: the tests of its rows, and the words of the list.
#pragma once

#include <cstdint>

#include "cuda/fused/planes/scales.cuh"
#include "cuda/fused/planes/shape.cuh"
#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/reconstruct/certify/segment.cuh"
#include "cuda/reconstruct/lines.cuh"

namespace ozfp4::cuda::fused_planes {

// Whether the kernel does what is asked: entries of float64 or float32 rounded to nearest, nothing beside them but the list.
inline bool can_certify(const Certification& asked) {
  return asked.accuracy == Accuracy::fp64 && asked.rounding == Rounding::nearest && asked.bound.data == nullptr;
}

// Leaves what the entries of each row are asked to the warp, plus the shift of the constants; kNoTest where all lines are
// certain. All lanes of the warp call it.
template <class S>
__device__ __forceinline__ void share_tests(WarpScales& shared, const Parameters<S>& p, const Place& place, bool is_certain,
                                            std::int32_t constant_shift) {
  using namespace short_form;
  const ReconstructJob& job = p.rest.job;
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::int32_t test = kNoTest;
  if (!is_certain) {
    const Lines lines(job, place);
    SegmentRecord columns;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      columns.add(job.b.record[lines.b + min(2 * lane + i, job.result.columns - 1 - place.first_column)]);
    }
    columns.combine();
    const LineRecord& row = job.a.record[lines.a + min(lane % 16, job.result.rows - 1 - place.first_row)];
    test = fp64_test(row, columns, job.a.view.inner, p.rest.certification.precision);
  }
  if (lane < 16) shared.test[lane] = test == kNoTest ? kNoTest : test + constant_shift;
  __syncwarp();
}

// The entries that a lane lists: bit c of its rows g and g + 8 for column c of the tile.
class ListedEntries {
 public:
  // Of a pair, see results.cuh.
  __device__ __forceinline__ void add(int pair, int e) {
    const std::uint64_t bit = std::uint64_t(1) << (8 * (pair / 2) + 2 * static_cast<int>(threadIdx.x % 4) + e);
    first_ |= pair % 2 == 0 ? bit : 0;
    second_ |= pair % 2 == 0 ? 0 : bit;
  }

  // Stores the words of the warp's rows and counts what they hold. All lanes of the warp call it.
  __device__ __forceinline__ void store(const Listed& listed, const ReconstructJob& job, const Place& place) const {
    constexpr std::uint32_t all_lanes = 0xffffffffu;
    const int lane = static_cast<int>(threadIdx.x % 32), t = lane % 4;
    const std::uint32_t count = __reduce_add_sync(all_lanes, static_cast<unsigned>(__popcll(first_) + __popcll(second_)));
    if (count != 0 && lane == 0) atomicAdd(&listed.counts->listed, static_cast<unsigned long long>(count));
    // The words of two rows come together from the four lanes of a quad, of which each stores one.
    const std::uint64_t first = of_quad(first_), second = of_quad(second_);
    const std::int32_t row = place.first_row + lane / 4 + 8 * (t / 2), at = place.first_column / 32 + t % 2;
    if (row >= job.result.rows) return;  // rows have their words in twos, so that there are both
    listed_words(listed, place.matrix, row)[at] = static_cast<std::uint32_t>((t < 2 ? first : second) >> (32 * (t % 2)));
  }

 private:
  __device__ __forceinline__ static std::uint64_t of_quad(std::uint64_t x) {
    x |= __shfl_xor_sync(0xffffffffu, x, 1);
    return x | __shfl_xor_sync(0xffffffffu, x, 2);
  }

  std::uint64_t first_ = 0, second_ = 0;
};

}  // namespace ozfp4::cuda::fused_planes
