// How a product is cut into blocks so that its workspace stays under a cap: computed before anything is allocated.
#pragma once

#include <cstdint>

#include "arith/modes.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

struct BlockShape {
  std::int64_t rows, columns, inners;
  std::int64_t
      bytes;  // workspace of one block: planes of both operands, multiply's scratch and output, list, magnitudes and masks
  std::int64_t scratch;                // multiply's, of these bytes
  const ByteKernel* kernel = nullptr;  // for which planes are packed; nullptr: planes in floating point
};

// Memory for a list of a block's entries and for what settles them, as the accuracy does.
std::int64_t chain_bytes(Accuracy accuracy, std::int64_t rows, std::int64_t columns, std::int64_t k);

// The kernel for the plan now, and the blocks that take least time with a workspace at or below `cap` bytes, with room for
// chain_bytes. The smallest ones where none stay there.
BlockShape best_blocks(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t cap, Accuracy accuracy);

// The same; throws WorkspaceError with the least workspace that the product can run in where it takes more.
BlockShape choose_blocks(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t cap,
                         Accuracy accuracy = Accuracy::scaled);

// About what a multiply-add of one plane product takes on one thread, in nanoseconds.
double product_nanoseconds(const Plan& plan);

}  // namespace ozfp4
