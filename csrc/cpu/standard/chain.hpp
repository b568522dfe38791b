// Entries of "standard" that nothing certifies, as chains of fused multiply-adds (arith/update/chain.hpp).
#pragma once

#include <cstdint>

#include "cpu/reconstruct/certified.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"

namespace ozfp4 {

// Which lines of a real form are of imaginary parts and add the two products of each pair along K in the other order. They have
// odd numbers, where a complex product is made as the transpose of the product that was asked for. In the order of the operands
// that were passed it is re im, then im re, of the first one.
enum class Exchanged : std::uint8_t { none, rows, columns };

// Stores the listed entries of a block and their bounds. `bytes`: the memory that it may take; it takes some 100 KiB a thread
// where that is less. Precondition: scales with records, K >= 1; a target that is the block.
EntryCounts cpu_chain(const ScaledOperands& of, const ResultBlock& block, const Target& target, const Listed& listed,
                      Exchanged exchanged, std::int64_t bytes);

}  // namespace ozfp4
