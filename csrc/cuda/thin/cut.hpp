// How a thin product is cut, worked out on the host; and what its kernel counts in.
#pragma once

#include <cstdint>

#include "cuda/reconstruct/reconstruct.hpp"

// 1 in code for GPUs with clusters and fast FP64; elsewhere the kernels are empty, and has_thin_kernels says so.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
#define OZFP4_IS_THIN_CODE 1
#else
#define OZFP4_IS_THIN_CODE 0
#endif

namespace ozfp4::cuda::thin {

inline constexpr int kThreads = 256, kWarps = kThreads / 32;
inline constexpr int kPairs = 16;  // of neighbours along K that a thread holds at a time
inline constexpr int kEntries = 2 * kPairs;
inline constexpr int kUnit = 64;                 // entries of K that a warp takes as one load of pairs
inline constexpr int kMostClusterBlocks = 8;     // that every device with clusters has room for
inline constexpr int kMostRows = kThreads / 32;  // lines of a tile
inline constexpr int kSharedEntries = 8192;      // of the few lines in shared memory: 12 bytes each
inline constexpr int kSharedLimbBytes = 12 * kSharedEntries;
inline constexpr int kDigitPitch = 8;  // words of an entry's digits

struct ThinCut {
  bool many_is_a;
  bool along_k;  // neighbours of a line are closer than lines
  std::int32_t few_padded, slots_shift, cluster, slice, units, parts;
  std::int64_t entries;  // of all matrices, with the padded lines

  bool exists() const { return cluster > 0; }
};

// Without `exists` where there is no kernel for the extents.
ThinCut cut_thinly(const ReconstructJob& job);

}  // namespace ozfp4::cuda::thin
