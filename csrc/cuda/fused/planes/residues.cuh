// The residues of a thread's entries, four moduli a word, in registers from the first modulus to the last.
#pragma once

#include <cstdint>

#include "cuda/fused/planes/shape.cuh"
#include "cuda/multiply/walk/fold.cuh"

namespace ozfp4::cuda::fused_planes {

using Residues = std::uint32_t[Config::kEntries][kMostModuli / 4];

// Puts acc mod m of every entry into byte `byte` of its word kWord. The other bytes stay.
template <int kWord>
__device__ __forceinline__ void fold_into(Residues& residues, std::int32_t (&acc)[1][Config::kEntries], const GemmStep& step,
                                          int byte) {
  const Fold f(step);
  const std::uint32_t selector =
      0x3210u + (static_cast<std::uint32_t>(4 - byte) << (4 * byte));  // byte 4: the lowest of the fold
#pragma unroll
  for (int i = 0; i < Config::kEntries; ++i) {
    residues[i][kWord] = __byte_perm(residues[i][kWord], residue_word<false>(acc[0][i], f), selector);
  }
}

}  // namespace ozfp4::cuda::fused_planes
