// The planes of one operand, a block of it at a time, in the form that multiply takes them: line by line, or packed.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/bytes/packed.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/stages/encode.hpp"
#include "cpu/stages/multiply.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

struct ShiftedOperand {
  const OperandView& view;
  LineScales scales;
  const char* planes = nullptr;  // of all of the view, in the form of the blocks; null: they are encoded block by block
};

// Bytes of so many planes of a block, extents in entries of a plane; packed where there is a kernel.
std::int64_t block_planes_bytes(const Plan& plan, const ByteKernel* kernel, Side side, std::int64_t planes, std::int64_t outers,
                                std::int64_t inners);

// Scratch that multiply needs beside its output, in bytes.
std::int64_t block_scratch(const Plan& plan, const ByteKernel* kernel, const MultiplyShape& shape);

// Planes of a block, packed for a kernel or not: as cpu_encode and cpu_encode_packed write them, and their products as
// cpu_multiply and multiply_bytes do.
void encode_block(const Plan& plan, const ByteKernel* kernel, int count, const OperandView& view, const LineScales& scales,
                  const Block& block, Side side, void* planes);
void multiply_block(const Plan& plan, const ByteKernel* kernel, int count, const MultiplyShape& shape, const void* a,
                    const void* b, bool accumulate, void* output, const MultiplyScratch& scratch,
                    const std::function<void(double)>& progress = {});

// Stage 3 of whole planes as cpu_encode leaves them, by the kernel that serves the plan: of one for bytes K is taken in pieces,
// and planes are packed. Precondition: 1 <= shape.inners.
void multiply_planes(const Plan& plan, int count, const MultiplyShape& shape, const void* a, const void* b, void* output);

class BlockPlanes {
 public:
  // Of blocks of at most `outers` lines and `inners` entries of a plane.
  BlockPlanes(const Plan& plan, int count, const ShiftedOperand& operand, const ByteKernel* kernel, Side side,
              std::int64_t outers, std::int64_t inners);

  // Encodes only where the block is another than before: A's stays while the walk goes over columns.
  const void* encode(const Block& block);

 private:
  void copy(const Block& block);

  const Plan& plan_;
  int count_;
  ShiftedOperand operand_;
  const ByteKernel* kernel_;
  Side side_;
  bool is_whole_;  // the one block is all of the operand, whose planes there are
  Buffer planes_;
  Block held_{-1, 0, 0, 0};
};

}  // namespace ozfp4
