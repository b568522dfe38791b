// How a thin product is cut, worked out on the host.
#pragma once

#include <cstdint>

#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda::thin {

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
