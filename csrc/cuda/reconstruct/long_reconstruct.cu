// The long form: entries rounded, and certified where that is asked; or alpha A B + beta C. No matrix instructions and no columns
// in shared memory. Each thread reads the bytes of its entry, sums their weights in 64-bit columns and rounds once, with the
// functions that the CPU uses. The many products before it take so much longer that this is not worth more code. All counts of
// residues or digits, both types and all tests are one kernel, and updates another one, for each width of integers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "arith/multiples.hpp"
#include "arith/narrow.hpp"
#include "arith/wide/crt.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/word_counts.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/entries.cuh"
#include "cuda/launch.hpp"
#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/reconstruct/lines.cuh"

namespace ozfp4::cuda {
namespace {

constexpr int kWarps = 4;  // side by side along columns
constexpr int kThreads = 32 * kWarps;
constexpr int kBatch = 8;              // planes that a thread reads before it multiplies
constexpr int kMostGridBlocks = 8192;  // along y and z; a block takes further rows and matrices in turn
constexpr unsigned kMostIdleBlocks = 4096;
constexpr std::size_t kParameterBytes = 32764;

template <int Words>
struct Parameters {
  ReconstructJob job;
  Certification certification;
  DeviceUpdate update;
  CrtProduct<Words> product[kMaxPrefixes];
  std::int32_t matrices, least, all;
  bool certifies;
  std::uint32_t weight[kMaxLongWeights];  // [prefix][residue or digit < all][word]
};

// ---- A warp's entries of one row, 32 of them or fewer, one a lane ---------------------------------------------------------

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

  // put(e, value) for the entries of special lines by the IEEE rules, by the lane that has entry e. All lanes.
  template <class Put>
  __device__ __forceinline__ void patch(Put put) const {
    if (!__any_sync(0xffffffffu, is_special())) return;
    patch_row<1>(
        job, place, lines, 0, row_flags, [&](int e) { return column_flags(e); }, entries, [&](int) { return lane; }, put);
  }

  // Bits of the entries that are left to repair become a word of the list, which has rows of an even number of words. All lanes.
  __device__ __forceinline__ void list(const Listed& listed, bool is_listed) const {
    const std::uint32_t word = __ballot_sync(0xffffffffu, is_listed);
    if (listed.word == nullptr || threadIdx.x % 32 != 0) return;
    std::uint32_t* words = listed_words(listed, place.matrix, place.first_row) + place.first_column / 32;
    words[0] = word;
    if (place.first_column / 32 % 2 == 0 && place.first_column + 32 >= job.result.columns) words[1] = 0;
    if (word != 0) atomicAdd(&listed.counts->listed, static_cast<unsigned long long>(__popc(word)));
  }
};

// ---- The kernels -----------------------------------------------------------------------------------------------------------

// The integer of the entry with its byte of plane 0 at `source`, from `count` planes.
template <int Words>
__device__ __forceinline__ WideInt<Words> integer_at(const Parameters<Words>& p, int prefix, int count,
                                                     const std::uint8_t* source) {
  const std::uint32_t* weight = p.weight + prefix * p.all * Words;
  std::uint64_t column[Words] = {};
#pragma unroll 1
  for (int first = 0; first < count; first += kBatch) {
    // No branch between the planes, so that all of them are read before the first one is needed.
    std::uint32_t residue[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const std::uint32_t byte = __ldcs(source + min(first + i, count - 1) * p.job.residues.plane_stride);
      residue[i] = first + i < count ? byte : 0u;
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const std::uint32_t* own = weight + min(first + i, count - 1) * Words;
#pragma unroll
      for (int k = 0; k < Words; ++k) column[k] += std::uint64_t(residue[i]) * own[k];
    }
  }
  return crt_from_columns(column, p.product[prefix]);
}

// finish(segment, integer) for each segment of the warp: once the kernel before has written the residues. Whole warps without a
// column leave.
template <int Words, class Finish>
__device__ __forceinline__ void walk_segments(const Parameters<Words>& p, Finish&& finish) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  if (!serves(p.certification, p.job)) return;
  const int count = residues_used(p.job, p.least, p.all);
  const int prefix = count - p.least;
  Place place;
  place.first_column = static_cast<std::int32_t>((blockIdx.x * kWarps + threadIdx.x / 32) * 32);
  if (place.first_column >= p.job.result.columns) return;
#pragma unroll 1
  for (std::int64_t matrix = blockIdx.z; matrix < p.matrices; matrix += gridDim.z) {
#pragma unroll 1
    for (std::int64_t row = blockIdx.y; row < p.job.result.rows; row += gridDim.y) {
      place.matrix = static_cast<std::int32_t>(matrix);
      place.first_row = static_cast<std::int32_t>(row);
      const Segment segment(p.job, place);
      finish(segment, integer_at(p, prefix, count, segment.source()));
    }
  }
}

// All lanes of the warp call it.
template <class T, int Words>
__device__ __forceinline__ void store_segment(const Parameters<Words>& p, const Segment& segment, const WideInt<Words>& x) {
  const Certification& asked = p.certification;
  CertifiedEntry<T> entry{T(0), 0.0, true};
  if (p.certifies) {
    entry = certify_entry<T>(asked, x, segment.exponent(), segment.row(), segment.column(), p.job.a.view.inner);
  } else {
    entry.value = round_scaled<T>(x, segment.exponent());
  }
  if (segment.is_mine()) segment.store(segment.own, entry.value, entry.bound, asked);
  segment.list(asked.listed, segment.is_mine() && !segment.is_special() && !entry.is_certified);
  segment.patch([&](int e, double value) { segment.store(e, static_cast<T>(value), kSpecialBound, asked); });
}

// The same for an update: a thread reads its entry of C before it writes its result. Nothing is written to the result of listed
// entries, and of those of special lines once, as C may lie there.
template <class T, int Words>
__device__ __forceinline__ void store_update(const Parameters<Words>& p, const Segment& segment, const WideInt<Words>& x) {
  const Certification& asked = p.certification;
  const Place& place = segment.place;
  const double c = addend_at(p.update, place.matrix, place.first_row, std::int64_t(place.first_column) + segment.own);
  const auto entry =
      certify_update<T>(asked, x, segment.exponent(), segment.row(), segment.column(), p.job.a.view.inner, p.update.factors, c);
  const bool is_product = segment.is_mine() && !segment.is_special();
  if (is_product && entry.is_certified) {
    segment.store(segment.own, entry.value, entry.bound, asked);
  } else if (is_product && asked.kept.data != nullptr) {
    keep_value(asked, place.matrix, place.first_row, place.first_column + segment.own, entry.value);
    segment.store_bound(segment.own, entry.bound, asked);
  }
  segment.list(asked.listed, is_product && !entry.is_certified);
  segment.patch([&](int e, double value) {  // e is this lane's, and so is c
    segment.store(e, static_cast<T>(special_update(p.update.factors, value, c)), kSpecialBound, asked);
  });
}

template <int Words>
__global__ void __launch_bounds__(kThreads, Words == kMinLongWords ? 4 : 2)
    reconstruct_kernel(const __grid_constant__ Parameters<Words> p) {
  walk_segments(p, [&](const Segment& segment, const WideInt<Words>& x) {
    p.job.result.type == ElementType::float64 ? store_segment<double>(p, segment, x) : store_segment<float>(p, segment, x);
  });
}

template <int Words>
__global__ void __launch_bounds__(kThreads, 2) update_kernel(const __grid_constant__ Parameters<Words> p) {
  walk_segments(p, [&](const Segment& segment, const WideInt<Words>& x) {
    p.job.result.type == ElementType::float64 ? store_update<double>(p, segment, x) : store_update<float>(p, segment, x);
  });
}

// ---- Launch ------------------------------------------------------------------------------------------------------------

template <int Words>
void launch_words(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream, const Certification* certification,
                  const DeviceUpdate* update) {
  static_assert(sizeof(Parameters<Words>) <= kParameterBytes, "the parameters of one kernel");
  const LongTable& table = plan.long_table;
  Parameters<Words> p;
  p.job = job;
  p.certifies = certification != nullptr;
  if (certification != nullptr) p.certification = *certification;
  if (update != nullptr) p.update = *update;
  for (int i = 0; i < kMaxPrefixes; ++i) {
    p.product[i] = {table.product[i].inverse, wide_resize<Words>(table.product[i].number),
                    wide_resize<Words>(table.product[i].half)};
  }
  p.matrices = narrow<std::int32_t>(job.result.stack.count(), "matrices of a turn");
  p.least = plan.least;
  p.all = plan.all;
  std::copy(table.weight.begin(), table.weight.end(), p.weight);
  LaunchConfig config(Stage::reconstruct, nullptr, kThreads, stream, job.overlap_previous);
  config.grid = dim3(static_cast<unsigned>(ceil_div(job.result.columns, kThreads)),
                     static_cast<unsigned>(std::min(kMostGridBlocks, job.result.rows)),
                     static_cast<unsigned>(std::min(kMostGridBlocks, p.matrices)));
  // A launch that may have nothing to do has no more blocks than run at a time.
  if (p.certification.least_count != 0) config.grid.y = std::min(config.grid.y, kMostIdleBlocks / config.grid.x + 1);
  launch(update != nullptr ? update_kernel<Words> : reconstruct_kernel<Words>, config, p);
}

}  // namespace

void launch_long_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                             const Certification* certification, const DeviceUpdate* update) {
  if (!plan.is_long()) throw std::logic_error("the long form needs a plan of it");
  dispatch_long_words(plan.words, [&](auto words) { launch_words<words()>(plan, job, stream, certification, update); });
}

}  // namespace ozfp4::cuda
