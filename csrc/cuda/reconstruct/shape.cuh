// The kernels of the short form: their shape, their parameters, their shared memory, and which rows and columns a warp works
// on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "arith/wide/column_crt.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/ptx/warp.cuh"
#include "cuda/reconstruct/columns.cuh"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda::short_form {

inline constexpr int kLogWarps = 2;
inline constexpr int kWarps = 1 << kLogWarps;
inline constexpr int kThreads = 32 * kWarps;
inline constexpr int kMostRows = 32;  // of one warp; its lanes hold the scale exponents of one row each
// Places beyond the result, in the last blocks, fit 32 bits as well.
static_assert(kLongestExtent <= INT32_MAX - kMostRows * kWarps && kLongestExtent <= INT32_MAX - 128 * kWarps);

// Words of the integers, steps of 16 residues, whether entries are certified.
template <int Words_, int Steps_, bool Certifies_>
struct Shape {
  static constexpr int Words = Words_, Steps = Steps_;
  static constexpr bool Certifies = Certifies_;
  static constexpr int tiles = Words / 2;
  static constexpr int vec = Words <= 4 ? 4 : 2;
  static constexpr int segment = 32 * vec;   // entries of a warp
  static constexpr int pitch = segment + 4;  // words of one column in shared memory: stores and loads without conflicts
  static constexpr int table_words = static_cast<int>(sizeof(ColumnConstants<Words>)) / 4 + Steps * tiles * 32;
  static constexpr int resident = Steps == 1 ? 5 : 4;  // blocks of one processor
};

// The same for the compiler; where the registers of a multiprocessor are fewer for each block, what certifies has one less.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030
template <class S>
inline constexpr int kResidentBlocks = S::Certifies && S::resident == 5 ? 4 : S::resident;  // five would spill
#else
template <class S>
inline constexpr int kResidentBlocks = S::Certifies || S::resident == 5 ? S::resident - 1 : S::resident;
#endif

// How the grid covers the result. A block holds 2^log_warps_x warps along columns, the others along rows; the rows of one
// warp are as far apart as a block has warps along rows.
struct Cover {
  std::int32_t log_warps_x, rows_per_warp;
  std::int32_t blocks_x, blocks_y;
};

// The parameters of the kernels where they certify.
struct CertifyParameters {
  Certification certification;
  std::int64_t listed_step;  // words from one row of a warp to the next
};
struct NothingMore {};

template <class S>
struct Parameters : std::conditional_t<S::Certifies, CertifyParameters, NothingMore> {
  ReconstructJob job;
  Cover cover;
  std::int64_t source_step, target_step;  // bytes from one row of a warp to the next
  std::int32_t first_block_y, first_matrix;
  std::int32_t least, all;
  bool has_pairs;                                     // two neighbours of the result may be stored at once
  std::uint32_t table[kMaxPrefixes][S::table_words];  // ColumnConstants<S::Words>, then fragments [step][tile][lane]
};

template <class S>
struct WarpShared {
  alignas(16) std::uint32_t column[2 * S::Words][S::pitch];
  std::int32_t exponent[S::vec / 2][32][2];  // per column, where its lane looks for it
  std::int32_t row_shift[32];                // of the i-th last row
};

template <class S>
struct Shared {
  alignas(16) std::uint32_t table[S::table_words];
  WarpShared<S> warp[kWarps];
};

// Where a warp works: `rows` rows, step_y apart, of `entries` columns. Entry j of a lane is entry_of(j) of those columns.
template <class S>
struct Place {
  std::int32_t matrix, step_y, first_row, first_column, rows, entries;

  __device__ __forceinline__ explicit Place(const Parameters<S>& p) {
    // Matrices before rows: what neighbours in memory hold of both parts of a complex result is written at about the same time.
    std::int32_t block_x = static_cast<std::int32_t>(blockIdx.x), block_y = static_cast<std::int32_t>(blockIdx.z);
    std::int32_t block_matrix = static_cast<std::int32_t>(blockIdx.y);
    std::int32_t warp = static_cast<std::int32_t>(threadIdx.x / 32);
    hold(block_x);  // a second Place is worked out anew: nothing is kept in registers for it
    hold(block_y);
    hold(block_matrix);
    hold(warp);
    const std::int32_t log_x = p.cover.log_warps_x, log_y = kLogWarps - log_x;
    step_y = 1 << log_y;
    matrix = p.first_matrix + block_matrix;
    first_column = ((block_x << log_x) + (warp & ((1 << log_x) - 1))) * S::segment;
    first_row = (((p.first_block_y + block_y) * p.cover.rows_per_warp) << log_y) + (warp >> log_x);
    rows = max(0, min(p.cover.rows_per_warp, (p.job.result.rows - first_row + step_y - 1) >> log_y));
    entries = max(0, min(S::segment, p.job.result.columns - first_column));
  }

  __device__ __forceinline__ static int entry_of(int j) { return 64 * (j / 2) + 2 * static_cast<int>(threadIdx.x % 32) + j % 2; }
};

}  // namespace ozfp4::cuda::short_form
