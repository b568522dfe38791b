// The long form has no matrix instructions and no columns in shared memory: each thread reads the bytes of its entry, sums
// their weights in 64-bit columns and rounds once, with the functions that the CPU uses. The many products before it take so
// much longer that this is not worth more code: all counts of residues or digits are one kernel.
#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "arith/multiples.hpp"
#include "arith/narrow.hpp"
#include "arith/wide/crt.hpp"
#include "arith/wide/parts.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/word_counts.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/launch.hpp"
#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/reconstruct/lines.cuh"

namespace ozfp4::cuda {
namespace {

constexpr int kWarps = 4;  // side by side along columns
constexpr int kThreads = 32 * kWarps;
constexpr int kBatch = 8;              // planes that a thread reads before it multiplies
constexpr int kMostGridBlocks = 8192;  // along y and z; a block takes further rows and matrices in turn
constexpr std::size_t kParameterBytes = 32764;

template <int Words>
struct Parameters {
  ReconstructJob job;
  Certification certification;
  CrtProduct<Words> product[kMaxPrefixes];
  WideInt<Words> start;
  std::int32_t matrices, least, all, cut;
  bool positional;
  std::uint32_t weight[kMaxLongWeights];  // [prefix][residue or digit < all][word]
};

// A warp's entries of one row, 32 of them or fewer, one a lane.
struct Place {
  std::int32_t matrix, first_row, first_column;
};

// The column sums of the entry whose byte of plane 0 and split 0 is at `source`, from `count` planes.
template <int Words>
__device__ __forceinline__ void sum_columns(std::uint64_t (&column)[Words], const Parameters<Words>& p, int prefix, int count,
                                            const std::uint8_t* source) {
  const Residues& residues = p.job.residues;
  const int biased = p.positional ? p.all - 1 : -1;  // its signed bytes are read with 128 added; `start` takes that away
  const std::uint32_t* weight = p.weight + prefix * p.all * Words;
#pragma unroll
  for (int k = 0; k < Words; ++k) column[k] = static_cast<std::uint64_t>(residues.splits) * p.start.word[k];
#pragma unroll 1
  for (int first = 0; first < count; first += kBatch) {
    std::uint32_t residue[kBatch] = {};  // sums over the splits
#pragma unroll 1
    for (int split = 0; split < residues.splits; ++split) {
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int plane = min(first + i, count - 1);
        const std::uint32_t byte = __ldcs(source + plane * residues.plane_stride + split * residues.split_stride);
        residue[i] += plane == biased ? byte ^ 0x80u : byte;
      }
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (first + i >= count) break;
#pragma unroll
      for (int k = 0; k < Words; ++k) column[k] += std::uint64_t(residue[i]) * weight[(first + i) * Words + k];
    }
  }
}

// The integer of that entry: one product, or that which three of parts are joined to.
template <int Words>
__device__ __forceinline__ WideInt<Words> integer_at(const Parameters<Words>& p, int prefix, int count,
                                                     const std::uint8_t* source) {
  std::uint64_t column[Words];
  if constexpr (!kMayJoin<Words>) {
    sum_columns(column, p, prefix, count, source);
    return crt_from_columns(column, p.product[prefix]);
  } else {
    const std::int64_t part_stride = p.job.residues.plane_stride / kParts;
    const int parts = p.cut == 0 ? 1 : kParts;
    JoinedProduct<Words> product(p.cut);  // of a single part: itself
#pragma unroll 1
    for (int i = 0; i < parts; ++i) {
      const Part part = parts == 1 ? Part::low : joined_part(i);
      sum_columns(column, p, prefix, count, source + static_cast<int>(part) * part_stride);
      product.take(crt_from_columns(column, p.product[prefix]), part);
    }
    return product.value();
  }
}

// Bits of the entries that are left to repair become a word of the list, whose rows have an even number of them. All lanes of the
// warp call it.
__device__ __forceinline__ void store_listed(const Listed& listed, const Place& place, std::int32_t columns, bool is_listed) {
  const std::uint32_t word = __ballot_sync(0xffffffffu, is_listed);
  if (listed.word == nullptr || threadIdx.x % 32 != 0) return;
  std::uint32_t* own = listed_words(listed, place.matrix, place.first_row) + place.first_column / 32;
  own[0] = word;
  if (place.first_column / 32 % 2 == 0 && place.first_column + 32 >= columns) own[1] = 0;
  if (word != 0) atomicAdd(&listed.counts->listed, static_cast<unsigned long long>(__popc(word)));
}

// All lanes of the warp call it.
template <class T, int Words, bool Certifies>
__device__ __forceinline__ void reconstruct_segment(const Parameters<Words>& p, int prefix, int count, const Place& place) {
  const ReconstructJob& job = p.job;
  const Lines lines(job, place);
  const int entries = min(32, job.result.columns - place.first_column);
  const int lane = static_cast<int>(threadIdx.x % 32), own = min(lane, entries - 1);  // lanes beyond repeat the last entry
  const WideInt<Words> x = integer_at(p, prefix, count,
                                      job.residues.data + place.matrix * job.residues.matrix_stride +
                                          place.first_row * job.residues.pitch + place.first_column + own);
  const std::int32_t exponent = -(job.a.shift[lines.a] + job.b.shift[lines.b + own]);
  const auto store = [&](int e, T value, double bound) {
    *reinterpret_cast<T*>(job.result.data + lines.result_offset + place.first_row * job.result.row_stride +
                          (std::int64_t(place.first_column) + e) * job.result.column_stride) = value;
    if constexpr (Certifies) {
      const DeviceResult& bounds = p.certification.bound;
      if (bounds.data != nullptr) *bound_of(bounds, place.matrix, place.first_row, place.first_column + e) = bound;
    }
  };
  const std::uint32_t row_flags = flags_of(job.a, lines.a);
  const auto column_flags = [&](int e) { return flags_of(job.b, lines.b + e); };
  if constexpr (Certifies) {
    const auto entry =
        certify_entry<T>(p.certification, x, exponent, job.a.record[lines.a], job.b.record[lines.b + own], job.a.view.inner);
    if (lane < entries) store(lane, entry.value, entry.bound);
    const bool is_finite = (row_flags | column_flags(own)) == kFinite;
    store_listed(p.certification.listed, place, job.result.columns, lane < entries && is_finite && !entry.is_certified);
  } else {
    if (lane < entries) store(lane, round_scaled<T>(x, exponent), 0.0);
  }
  if (!__any_sync(0xffffffffu, row_flags != kFinite || column_flags(own) != kFinite)) return;
  patch_row<1>(
      job, place, lines, 0, row_flags, column_flags, entries, [&](int) { return lane; },
      [&](int e, double value) { store(e, static_cast<T>(value), kSpecialBound); });
}

// Blocks a multiprocessor: the longest integers take the registers of three, certifying them those of two.
template <int Words, bool Certifies>
inline constexpr int kBlocks = Words < 16  ? 4
                               : Certifies ? 2
                                           : 3;

template <class T, int Words, bool Certifies>
__global__ void __launch_bounds__(kThreads, kBlocks<Words, Certifies>)
    long_reconstruct_kernel(const __grid_constant__ Parameters<Words> p) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  const int count = p.positional ? p.all : residues_used(p.job, p.least, p.all);
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
      reconstruct_segment<T, Words, Certifies>(p, prefix, count, place);
    }
  }
}

// ---- Launch ------------------------------------------------------------------------------------------------------------

template <class T, int Words>
void launch_words(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                  const Certification* certification) {
  static_assert(sizeof(Parameters<Words>) <= kParameterBytes, "the parameters of one kernel");
  const LongTable& table = plan.long_table;
  Parameters<Words> p;
  p.job = job;
  if (certification != nullptr) p.certification = *certification;
  for (int i = 0; i < kMaxPrefixes; ++i) {
    p.product[i] = {table.product[i].inverse, wide_resize<Words>(table.product[i].number),
                    wide_resize<Words>(table.product[i].half)};
  }
  p.start = wide_resize<Words>(table.start);
  p.matrices = narrow<std::int32_t>(job.result.stack.count(), "matrices of a turn");
  p.least = plan.least;
  p.all = plan.all;
  p.positional = plan.positional;
  p.cut = plan.cut;
  std::copy(table.weight.begin(), table.weight.end(), p.weight);

  LaunchConfig config;
  config.stage = Stage::reconstruct;
  config.grid = dim3(static_cast<unsigned>(ceil_div(job.result.columns, kThreads)),
                     static_cast<unsigned>(std::min(kMostGridBlocks, job.result.rows)),
                     static_cast<unsigned>(std::min(kMostGridBlocks, p.matrices)));
  config.block = dim3(kThreads);
  config.overlap_previous = job.overlap_previous;
  config.stream = stream;
  launch(certification != nullptr ? long_reconstruct_kernel<T, Words, true> : long_reconstruct_kernel<T, Words, false>, config,
         p);
}

}  // namespace

void launch_long_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                             const Certification* certification) {
  if (plan.long_table.weight.size() > kMaxLongWeights) throw std::logic_error("more weights than make_reconstruct_plan allows");
  dispatch_long_words(plan.words, [&](auto words) {
    job.result.type == ElementType::float64 ? launch_words<double, words()>(plan, job, stream, certification)
                                            : launch_words<float, words()>(plan, job, stream, certification);
  });
}

}  // namespace ozfp4::cuda
