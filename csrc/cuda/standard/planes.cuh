// The magnitudes of all lines of a block's operands, where there is room for them.
#pragma once

#include "cuda/standard/shared.cuh"

namespace ozfp4::cuda::settling {

__device__ __forceinline__ std::uint8_t byte_at(const RepairLines& lines, const char* line, std::int64_t k, int exponent) {
  return static_cast<std::uint8_t>(magnitude_byte(lines.entry(line, k), exponent));
}

// Where those of A's lines begin, or of B's.
__device__ __forceinline__ std::uint8_t* plane_of(const Parameters& p, bool is_b, std::int32_t matrix) {
  const std::int64_t before = is_b ? p.a_parts.all_lines : 0;
  const std::int64_t line = before + std::int64_t(matrix) * (is_b ? p.b_parts.lines : p.a_parts.lines);
  return reinterpret_cast<std::uint8_t*>(p.job.magnitudes) + line * magnitude_pitch(p.job.a.view.inner);
}

// All threads: one part, by way of shared memory, so that neighbours are read and written together.
__device__ __forceinline__ void make_part(Shared& shared, const Parameters& p, bool is_b, std::int64_t index) {
  const PlaneParts& work = is_b ? p.b_parts : p.a_parts;
  const std::int64_t inner = p.job.a.view.inner, pitch = magnitude_pitch(inner);
  const std::int64_t of_matrix = std::int64_t(work.groups) * work.pieces, rest = index % of_matrix;
  const auto matrix = static_cast<std::int32_t>(index / of_matrix);
  const std::int64_t first_line = rest / work.pieces * kPartLines, first_k = rest % work.pieces * kPartInner;
  const RepairLines lines = lines_of(is_b ? p.job.b : p.job.a, matrix, is_b ? p.job.first_column : 0);
  const bool is_along_k = runs_along_k(lines.outer_stride, lines.inner_stride);
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
#pragma unroll 8
  for (int i = thread; i < kPartLines * kPartInner; i += kThreads) {
    const int line = is_along_k ? i / kPartInner : i % kPartLines, k = is_along_k ? i % kPartInner : i / kPartLines;
    std::uint8_t byte = 0;
    if (first_line + line < work.lines && first_k + k < inner) {
      byte = byte_at(lines, lines.data + (first_line + line) * lines.outer_stride, first_k + k,
                     lines.record[first_line + line].exponent);
    }
    shared.part[line][k] = byte;
  }
  __syncthreads();
  const int line = thread / (kPartInner / 16), at = thread % (kPartInner / 16) * 16;
  if (first_line + line < work.lines && first_k + at < pitch) {
    *reinterpret_cast<uint4*>(plane_of(p, is_b, matrix) + (first_line + line) * pitch + first_k + at) =
        *reinterpret_cast<const uint4*>(&shared.part[line][at]);
  }
}
static_assert(kPartLines * kPartInner / 16 == kThreads);

// All threads of all blocks.
__device__ __forceinline__ void make_all_planes(Shared& shared, const Parameters& p) {
  RepairCounts& counts = *p.job.listed.counts;
  const std::int64_t all = p.a_parts.parts + p.b_parts.parts;
  std::int64_t made = 0;
#pragma unroll 1
  for (;; ++made) {
    const std::int64_t part = take(shared, counts.parts_taken);
    if (part >= all) break;
    const bool is_b = part >= p.a_parts.parts;
    make_part(shared, p, is_b, is_b ? part - p.a_parts.parts : part);
  }
  wait_until_made(counts.parts_made, made, all);
}

}  // namespace ozfp4::cuda::settling
