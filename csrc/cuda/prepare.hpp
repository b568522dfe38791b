// From an operand to its scales and planes, stages 1 and 2. It is for a product, and by itself for any number of products, which
// take all of its lines or some of them.
#pragma once

#include <cstdint>

#include "cuda/layout/blocks.hpp"
#include "cuda/layout/cuda_plan.hpp"
#include "cuda/layout/turns.hpp"
#include "cuda/planes.hpp"
#include "cuda/runtime/export.hpp"
#include "cuda/stages.hpp"

namespace ozfp4::cuda {

// The places of the parts of an operand that is kept in its memory, in bytes from the start, for all lines of all matrices. There
// are planes of all units, as the number that a product takes is known with its other operand.
struct StoredLayout {
  OperandPlace place;
  std::int64_t extremes = 0, k_pitch = 0, bytes = 0;
};

// `matrices` are those of both parts where the operand has_parts. Precondition: a plan that is not for INT8 products; at least
// one line.
StoredLayout make_stored_layout(const CudaPlan& plan, std::int64_t matrices, std::int32_t lines, std::int32_t inner,
                                bool has_parts);

// The lines of a turn. `view` is that of the turn, from its first line and matrix on. Precondition: stored.exists().
EncodedOperand take_stored(const CudaPlan& plan, const StoredOperand& stored, const DeviceOperand& view);

// The part of the planes that a block takes, from line `line` and entry `inner` of a line on. Precondition: whole bytes,
// multiples of 16.
Planes planes_from(const Planes& planes, std::int32_t line, std::int32_t inner);

// Where an operand's parts lie in the workspace; planes for `lines` of every matrix.
EncodedOperand place_operand(const CudaPlan& plan, const CudaLayout& layout, const OperandPlace& place,
                             const DeviceOperand& operand, std::int32_t lines, char* workspace);

// Encode is told this of lines of every matrix and of entries along K.
EncodeJob encode_job(const EncodedOperand& operand, Range lines, Range inners);

// The operands of a turn, prepared as its walk goes along; what is kept of an operand is taken as it lies.
class Preparation {
 public:
  Preparation(const CudaPlan& plan, const CudaLayout& layout, const Turn& turn, char* workspace);

  // Scale exponents, flags, norms and from them the number of moduli, unless encode leaves them.
  void scale(const Stages& stages) const;

  // The planes of a block: both operands in one launch. Precondition: the blocks of the turn in the order of for_blocks.
  void encode(const Stages& stages, const Block& block) const;

  // The planes that multiply takes of a block.
  EncodedOperand a_of(const Block& block) const { return part_of(a, keeps_a_, block.rows, block.inners); }
  EncodedOperand b_of(const Block& block) const { return part_of(b, keeps_b_, block.columns, block.inners); }

  const EncodedOperand a, b;
  ScaleDecision* const decision;  // on the device; null where the plan runs whole

  // The same of its members.
  const int* moduli_used() const { return decision != nullptr ? &decision->moduli_used : nullptr; }
  const int* is_certain() const { return decision != nullptr ? &decision->is_certain : nullptr; }

 private:
  EncodedOperand part_of(const EncodedOperand& operand, bool is_kept, Range lines, Range inners) const;

  // The choice for the operands that are not kept: one or both.
  PrefixChoice choice() const;
  template <class T>
  Operands<T> not_kept(const T& of_a, const T& of_b) const {
    return keeps_a_ ? Operands<T>(of_b) : keeps_b_ ? Operands<T>(of_a) : Operands<T>(of_a, of_b);
  }

  const CudaPlan& plan_;
  const CudaLayout& layout_;
  char* scratch_;
  bool keeps_a_, keeps_b_;
};

// ---- An operand by itself, into memory that is kept ----------------------------------------------------------------------

// Throws std::invalid_argument with the reason and the stage that has it, where a stage would not take the operand. The alignment
// alone of the data pointer counts. Precondition: every extent >= 1, a promise with records; of a complex plan an operand
// expanded as kPair says, that of B seen by its parts.
void check_store(const CudaPlan& plan, const DeviceOperand& operand, const Gpu& gpu);

// Enqueues both stages. `memory` holds the bytes of make_stored_layout, `scratch` scale_scratch_bytes, both aligned to 256.
// Throws LaunchError. Precondition: what check_store has nothing against.
void launch_store(const CudaPlan& plan, const DeviceOperand& operand, char* memory, char* scratch, const LaunchOptions& options);

}  // namespace ozfp4::cuda
