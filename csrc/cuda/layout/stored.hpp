// Where the parts of an operand that is kept lie in its memory, and how a product takes them: all lines, or some of them.
#pragma once

#include <cstdint>

#include "cuda/layout/blocks.hpp"
#include "cuda/layout/cuda_plan.hpp"
#include "cuda/layout/turns.hpp"
#include "cuda/planes.hpp"

namespace ozfp4::cuda {

// In bytes from the start, for all lines of all matrices: planes of all units, as how many a product takes is known with its
// other operand.
struct StoredLayout {
  OperandPlace place;
  std::int64_t extremes = 0, k_pitch = 0, bytes = 0;
};

// Bytes of a line of a plane: whole lines of the cache for the multiply kernel, where it is long enough.
std::int64_t plane_pitch(Element element, std::int64_t inners);

// `matrices` are those of both parts where the operand has_parts. Precondition: a plan that is not for INT8 products; at least
// one line.
StoredLayout make_stored_layout(const CudaPlan& plan, std::int64_t matrices, std::int32_t lines, std::int32_t inner,
                                bool has_parts);

// The lines of a turn. `view` is that of the turn, from its first line and matrix on. Precondition: stored.exists().
PreparedOperand take_stored(const CudaPlan& plan, const StoredOperand& stored, const DeviceOperand& view);

// The part of the planes that a block takes, from line `line` and entry `inner` of a line on. Precondition: whole bytes,
// multiples of 16.
Planes planes_from(const Planes& planes, std::int32_t line, std::int32_t inner);

}  // namespace ozfp4::cuda
