#include <algorithm>
#include <cstring>
#include <type_traits>

#include "arith/multiples.hpp"
#include "cuda/launch.hpp"
#include "cuda/line_order.hpp"
#include "cuda/reconstruct/kernel.cuh"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda {
namespace {

using namespace short_form;

constexpr int kStartRows = 2;  // what the start of a warp costs, in rows

template <class S>
void set_tables(Parameters<S>& p, const ReconstructPlan& plan) {
  for (int prefix = 0; prefix <= plan.all - plan.least; ++prefix) {
    const ColumnConstants<S::Words> constants = column_constants<S::Words>(plan, prefix);
    std::memcpy(p.table[prefix], &constants, sizeof constants);
    std::uint32_t* fragment = p.table[prefix] + sizeof constants / 4;
    for (int step = 0; step < S::Steps; ++step) {
      for (int tile = 0; tile < S::tiles; ++tile, fragment += 32) std::copy_n(plan.fragment[prefix][step][tile], 32, fragment);
    }
  }
}

// Blocks as wide as the result, up to all warps side by side. A warp has as many rows as make the fewest rows in a row, with
// `resident` blocks at a time.
Cover make_cover(const DeviceResult& result, int segment, std::int64_t resident) {
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
  LaunchConfig config(Stage::reconstruct, nullptr, kThreads, stream, job.overlap_previous);
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

template <int Words, int Steps>
void launch_steps(const ReconstructPlan& plan, const ReconstructJob& job, const Certification* certification,
                  cudaStream_t stream) {
  const auto launch_type = [&](auto value) {
    using T = decltype(value);
    certification != nullptr ? launch_shape<T, Shape<Words, Steps, true>>(plan, job, certification, stream)
                             : launch_shape<T, Shape<Words, Steps, false>>(plan, job, certification, stream);
  };
  job.result.type == ElementType::float64 ? launch_type(double()) : launch_type(float());
}

}  // namespace

const char* find_reconstruct_error(const ReconstructJob& job) {
  if (!is_float(job.result.type)) return "the result must be float64 or float32";
  return find_bytes_error(job.result, job.residues);
}

const char* find_bytes_error(const DeviceResult& result, const Residues& residues) {
  if (result.rows < 1 || result.columns < 1) return "every extent of the result must be at least 1";
  if (std::max(result.rows, result.columns) > kLongestExtent) {
    return "an extent of the result is above 2^31 - 4096, up to which positions fit 32 bits";
  }
  const std::int64_t strides = residues.pitch | residues.matrix_stride | residues.plane_stride;
  if (reinterpret_cast<std::uintptr_t>(residues.data) % 16 != 0 || strides % 16 != 0) {
    return "the bytes of multiply, their pitch and their strides must be multiples of 16 bytes";
  }
  if (residues.pitch < result.columns) return "the pitch of the bytes of multiply is below the columns of the result";
  return nullptr;
}

void launch_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                        const Certification* certification, const DeviceUpdate* update) {
  if (plan.is_long() || update != nullptr) return launch_long_reconstruct(plan, job, stream, certification, update);
  if (plan.words == 6) return launch_steps<6, 2>(plan, job, certification, stream);
  plan.row_steps == 1 ? launch_steps<4, 1>(plan, job, certification, stream)
                      : launch_steps<4, 2>(plan, job, certification, stream);
}

}  // namespace ozfp4::cuda
