// From a plan and a job to the launch of a kernel of the short form.
#pragma once

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "arith/multiples.hpp"
#include "cuda/launch.hpp"
#include "cuda/line_order.hpp"
#include "cuda/reconstruct/kernel.cuh"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda::short_form {

inline constexpr int kStartRows = 2;  // what the start of a warp costs, in rows

template <class S>
void set_tables(Parameters<S>& p, const ReconstructPlan& plan) {
  for (int prefix = 0; prefix < S::prefixes && prefix <= plan.all - plan.least; ++prefix) {
    const ColumnConstants<S::Words> constants = column_constants<S::Words>(plan, prefix);
    std::memcpy(p.table[prefix], &constants, sizeof constants);
    std::uint32_t* fragment = p.table[prefix] + sizeof constants / 4;
    for (int unit = 0; unit < S::units; ++unit) {
      for (int tile = 0; tile < S::tiles; ++tile, fragment += 32) {
        std::copy_n(plan.fragment[prefix][unit / S::Steps][unit % S::Steps][tile], 32, fragment);
      }
    }
  }
}

// Blocks as wide as the result, up to all warps side by side; as many rows a warp as make the fewest rows in a row, with
// `resident` blocks at a time.
inline Cover make_cover(const DeviceResult& result, int segment, std::int64_t resident) {
  Cover cover{};
  const std::int64_t segments = ceil_div(result.columns, segment);
  while ((1 << cover.log_warps_x) < kWarps && (std::int64_t(1) << cover.log_warps_x) < segments) ++cover.log_warps_x;
  const std::int64_t warps_y = kWarps >> cover.log_warps_x;
  cover.blocks_x = static_cast<std::int32_t>(ceil_div(segments, std::int64_t(1) << cover.log_warps_x));
  std::int64_t least_cost = INT64_MAX;
  for (int rows = 1; rows <= kMostRows; ++rows) {
    const std::int64_t blocks_y = ceil_div(result.rows, warps_y * rows);
    const std::int64_t cost = ceil_div(cover.blocks_x * blocks_y * result.stack.count(), resident) * (rows + kStartRows);
    if (cost > least_cost) continue;
    least_cost = cost;
    cover.rows_per_warp = rows;
    cover.blocks_y = static_cast<std::int32_t>(blocks_y);
  }
  return cover;
}

template <class T, class S>
Parameters<S> make_parameters(const ReconstructPlan& plan, const ReconstructJob& job, const Certification* certification) {
  Parameters<S> p;
  p.job = job;
  p.cover = make_cover(job.result, S::segment, std::int64_t(current_device(Stage::reconstruct).multiprocessors) * S::resident);
  p.first_block_y = p.first_matrix = 0;
  p.least = plan.least;
  p.all = plan.all;
  p.source_step = job.residues.pitch << (kLogWarps - p.cover.log_warps_x);
  p.target_step = job.result.row_stride * (std::int64_t(1) << (kLogWarps - p.cover.log_warps_x));
  p.has_pairs = job.result.column_stride == sizeof(T) &&
                are_aligned(job.result.data, job.result.rows, job.result.row_stride, job.result.stack, 2 * sizeof(T));
  set_tables(p, plan);
  if constexpr (S::Certifies) {
    p.certification = *certification;
    p.listed_step = certification->listed.pitch << (kLogWarps - p.cover.log_warps_x);
  }
  return p;
}

template <class T, class S>
void launch_shape(const ReconstructPlan& plan, const ReconstructJob& job, const Certification* certification,
                  cudaStream_t stream) {
  Parameters<S> p = make_parameters<T, S>(plan, job, certification);
  LaunchConfig config;
  config.stage = Stage::reconstruct;
  config.block = dim3(kThreads);
  config.overlap_previous = job.overlap_previous;
  config.stream = stream;
  // One launch, but for stacks and rows beyond the limits of a grid.
  const auto matrices = static_cast<std::int32_t>(job.result.stack.count());
  for (p.first_matrix = 0; p.first_matrix < matrices; p.first_matrix += kMostGridExtent) {
    for (p.first_block_y = 0; p.first_block_y < p.cover.blocks_y; p.first_block_y += kMostGridExtent) {
      config.grid = dim3(static_cast<unsigned>(p.cover.blocks_x),
                         static_cast<unsigned>(std::min(kMostGridExtent, matrices - p.first_matrix)),
                         static_cast<unsigned>(std::min(kMostGridExtent, p.cover.blocks_y - p.first_block_y)));
      launch(reconstruct_kernel<T, S>, config, p);
    }
  }
}

// One row for each kernel: what plans it serves, and its launches by the result's type and whether there are splits.
using Launch = void (*)(const ReconstructPlan&, const ReconstructJob&, const Certification*, cudaStream_t);
struct Kind {
  int words, row_steps;
  Launch float64, float64_splits, float32, float32_splits;
};

template <bool Certifies, int Words, int Steps>
constexpr Kind kind() {
  using Whole = Shape<Words, Steps, false, Certifies>;
  using Split = Shape<Words, Steps, true, Certifies>;
  return {Words,
          Steps,
          launch_shape<double, Whole>,
          launch_shape<double, Split>,
          launch_shape<float, Whole>,
          launch_shape<float, Split>};
}

// Results of so few columns have a kernel of their own where most plans are: 0.066 ms less for 4096 of 64 x 64 x 64, H200.
inline constexpr std::int32_t kMostNarrow = 64;

// Range: certification is given where the kernels certify.
template <bool Certifies>
void launch_kind(const ReconstructPlan& plan, const ReconstructJob& job, const Certification* certification,
                 cudaStream_t stream) {
  constexpr Kind kinds[] = {kind<Certifies, 4, 1>(), kind<Certifies, 4, 2>(), kind<Certifies, 6, 2>(), kind<Certifies, 4, 3>(),
                            kind<Certifies, 6, 3>(),
                            // Integers that are certified have at least kLeastCertifiedWords; two words hold no 17 moduli.
                            kind<Certifies, Certifies ? 4 : 2, 1>()};
  if (plan.words == 4 && plan.row_steps == 1 && job.residues.splits == 1 && job.result.columns <= kMostNarrow) {
    using Narrow = Shape<4, 1, false, Certifies, true>;
    const Launch launch = job.result.type == ElementType::float64 ? launch_shape<double, Narrow> : launch_shape<float, Narrow>;
    return launch(plan, job, certification, stream);
  }
  for (const Kind& k : kinds) {
    if (k.words != plan.words || k.row_steps != plan.row_steps) continue;
    const bool splits = job.residues.splits > 1, is_double = job.result.type == ElementType::float64;
    const Launch launch = is_double ? (splits ? k.float64_splits : k.float64) : (splits ? k.float32_splits : k.float32);
    return launch(plan, job, certification, stream);
  }
  throw std::logic_error("no reconstruct kernel for integers of " + std::to_string(plan.words) + " words");
}

}  // namespace ozfp4::cuda::short_form
