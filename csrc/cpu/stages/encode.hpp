// Stage 2, encode: integers -> planes, all planes of an operand in one sweep, K-contiguous for A and for B.
#pragma once

#include <cstdint>

#include "cpu/bytes/packed.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/stages/scale.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// Planes of the groups that a prefix of `count` moduli uses (all planes for scheme I).
inline int planes_used(const Plan& plan, int count) {
  if (!plan.has_moduli()) return plan.planes_a;
  if (count == 0) return 0;
  const Group& last = plan.groups[static_cast<std::size_t>(plan.groups_of(count) - 1)];
  return last.first_plane + last.planes;
}

// The part of an operand that one call encodes.
struct Block {
  std::int64_t outer0, outers, inner0, inners;
};

// Scale exponents of all lines of an operand, and the most bits that one of them gives its integers: at most the plan's. Those of
// an int8 operand are null and 8, its entries being integers already.
struct LineScales {
  const std::int32_t* shift;
  int bits;
};

inline LineScales line_scales(const Scales& scales) {
  return {scales.shift.data(), scales.capacities.empty() ? kLeastBits : scales.capacities.largest};
}

// Writes planes[p][o][k] for the first `count` moduli (or groups), contiguous: plane pitch outers * inners, row pitch inners.
void cpu_encode(const Plan& plan, int count, const OperandView& operand, const LineScales& scales, const Block& block,
                void* planes);

// The same packed for a kernel for bytes, as one side of the product. Precondition: planes of bytes.
void cpu_encode_packed(const Plan& plan, int count, const OperandView& operand, const LineScales& scales, const Block& block,
                       Side side, void* planes);

// The planes from integers of `width` 32-bit words, little-endian and in two's complement, row-major [outers][inners][width].
void cpu_encode_integers(const Plan& plan, int count, const std::uint32_t* words, int width, std::int64_t outers,
                         std::int64_t inners, void* planes);

}  // namespace ozfp4
