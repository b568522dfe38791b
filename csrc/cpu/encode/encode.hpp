// Stage 2, encode: integers -> planes, all planes of an operand in one sweep, K-contiguous for A and for B.
#pragma once

#include <cstdint>

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/bytes/packed.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"
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

  bool operator==(const Block& other) const {
    return outer0 == other.outer0 && outers == other.outers && inner0 == other.inner0 && inners == other.inners;
  }
};

// Scale exponents of all lines of an operand, and the most bits that one of them gives its integers: at most the plan's. For an
// int8 operand they are null and 8, its entries being integers already.
struct LineScales {
  const std::int32_t* shift;
  int bits;
  int step = 1;  // from the exponent of one line to that of the next
};

inline LineScales line_scales(const Scales& scales) {
  return {scales.shift.data(), scales.capacities.empty() ? kLeastBits : scales.capacities.largest};
}

// An operand as encode takes it: a view and the scales of its lines, or its planes.
struct EncodedOperand {
  OperandView view;
  LineScales scales;
  const char* planes = nullptr;  // of all of the view, in the form that multiply takes; null: they are encoded block by block
};

// The right operand of a complex plan keeps the scales of its even columns: the others hold the same magnitudes.
EncodedOperand encoded_operand(const Plan& plan, const OperandView& view, const Scales& scales, Side side);

// Bytes of so many planes of a block, extents in entries of a plane; packed where there is a kernel for bytes.
std::int64_t planes_bytes(const Plan& plan, const ByteKernel* kernel, Side side, std::int64_t planes, std::int64_t outers,
                          std::int64_t inners);

// Writes planes[p][o][k] for the first `count` moduli (or groups), contiguous: plane pitch outers * inners, row pitch inners.
// Planes of bytes are packed as one side of the product where there is a kernel.
void cpu_encode(const Plan& plan, const ByteKernel* kernel, int count, const OperandView& operand, const LineScales& scales,
                const Block& block, Side side, void* planes);

// The planes from integers of `width` 32-bit words, little-endian and in two's complement, row-major [outers][inners][width].
void cpu_encode_integers(const Plan& plan, int count, const std::uint32_t* words, int width, std::int64_t outers,
                         std::int64_t inners, void* planes);

}  // namespace ozfp4
