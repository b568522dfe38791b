// How many entries the conversion to integers rounds, added to the records of their lines.
#pragma once

#include <cstdint>

#include "arith/accuracy/line_facts.hpp"
#include "cuda/encode/group.cuh"

namespace ozfp4::cuda {

// Of group number `group` of a tile; all lanes of a warp call it. Lines of whose entries none is rounded cost no memory access,
// and a warp adds once for each of the others: deep lines have half of their entries rounded.
template <class T>
__device__ __forceinline__ void count_group(const EncodeArguments& arguments, const TilePlace& place, const unsigned char* tile,
                                            std::uint32_t group) {
  const TileOrigin origin = *place.origin;
  const EncodeOperand& operand = arguments.operand[origin.is_b];
  if (operand.record == nullptr) return;
  const GroupPlace at = group_place<T>(operand, group);
  const TileLine line = place.line[at.line];
  std::uint32_t rounded = 0;
  if (line.source != nullptr && origin.k0 + at.k < operand.padded_inner) {
    T x[kGroup];
    read_group(tile, operand, at, x);
#pragma unroll
    for (int i = 0; i < kGroup; ++i) rounded += is_rounded(x[i], line.shift) ? 1u : 0u;
  }
  constexpr std::uint32_t all = 0xFFFFFFFFu;
  std::uint32_t left = __ballot_sync(all, rounded != 0);
  while (left != 0) {
    const int first = __ffs(static_cast<int>(left)) - 1;
    const bool shares_line = __shfl_sync(all, at.line, first) == at.line;
    const std::uint32_t sum = __reduce_add_sync(all, shares_line ? rounded : 0u);
    if (static_cast<int>(threadIdx.x % 32) == first) {
      LineRecord& record = operand.record[line.shift_source - operand.shift];
      atomicAdd(reinterpret_cast<unsigned long long*>(&record.rounded), static_cast<unsigned long long>(sum));
      if (operand.twin_records != 0) {
        LineRecord& twin = (&record)[operand.twin_records];
        atomicAdd(reinterpret_cast<unsigned long long*>(&twin.rounded), static_cast<unsigned long long>(sum));
      }
    }
    left &= ~__ballot_sync(all, shares_line);
  }
}

}  // namespace ozfp4::cuda
