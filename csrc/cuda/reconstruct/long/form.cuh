// What the kernels of the long form share: parameters, the integer of an entry, the way through the result.
//
// The long form has no matrix instructions and no columns in shared memory: each thread reads the bytes of its entry, sums
// their weights in 64-bit columns and rounds once, with the functions that the CPU uses. The many products before it take so
// much longer that this is not worth more code: all counts of residues or digits are one kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "arith/multiples.hpp"
#include "arith/narrow.hpp"
#include "arith/wide/crt.hpp"
#include "arith/wide/word_counts.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/launch.hpp"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/reconstruct/long/segment.cuh"

namespace ozfp4::cuda::long_form {

inline constexpr int kWarps = 4;  // side by side along columns
inline constexpr int kThreads = 32 * kWarps;
inline constexpr int kBatch = 8;              // planes that a thread reads before it multiplies
inline constexpr int kMostGridBlocks = 8192;  // along y and z; a block takes further rows and matrices in turn
inline constexpr unsigned kMostIdleBlocks = 4096;
inline constexpr std::size_t kParameterBytes = 32764;

template <int Words>
struct Parameters {
  ReconstructJob job;
  Certification certification;
  CrtProduct<Words> product[kMaxPrefixes];
  WideInt<Words> start;
  std::int32_t matrices, least, all;
  bool positional;
  std::uint32_t weight[kMaxLongWeights];  // [prefix][residue or digit < all][word]
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

// The integer of that entry.
template <int Words>
__device__ __forceinline__ WideInt<Words> integer_at(const Parameters<Words>& p, int prefix, int count,
                                                     const std::uint8_t* source) {
  std::uint64_t column[Words];
  sum_columns(column, p, prefix, count, source);
  return crt_from_columns(column, p.product[prefix]);
}

// segment(prefix, count, place) for each place of the warp: once the kernel before has written the residues. Whole warps without
// a column leave.
template <int Words, class Segment>
__device__ __forceinline__ void walk_segments(const Parameters<Words>& p, Segment&& segment) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  if (!serves(p.certification, p.job)) return;
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
      segment(prefix, count, place);
    }
  }
}

// Of a launch whose parameters begin with these.
template <int Words>
void set_parameters(Parameters<Words>& p, const ReconstructPlan& plan, const ReconstructJob& job,
                    const Certification* certification) {
  const LongTable& table = plan.long_table;
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
  std::copy(table.weight.begin(), table.weight.end(), p.weight);
}

inline LaunchConfig launch_config(const ReconstructJob& job, cudaStream_t stream, bool is_conditional = false) {
  const auto matrices = narrow<std::int32_t>(job.result.stack.count(), "matrices of a turn");
  LaunchConfig config;
  config.stage = Stage::reconstruct;
  config.grid = dim3(static_cast<unsigned>(ceil_div(job.result.columns, kThreads)),
                     static_cast<unsigned>(std::min(kMostGridBlocks, job.result.rows)),
                     static_cast<unsigned>(std::min(kMostGridBlocks, matrices)));
  // A launch that may have nothing to do has no more blocks than run at a time.
  if (is_conditional) config.grid.y = std::min(config.grid.y, kMostIdleBlocks / config.grid.x + 1);
  config.block = dim3(kThreads);
  config.overlap_previous = job.overlap_previous;
  config.stream = stream;
  return config;
}

}  // namespace ozfp4::cuda::long_form
