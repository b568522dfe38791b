// Entries of "standard" that nothing certifies, as chains of fused multiply-adds (arith/accuracy/chain.hpp).
#pragma once

#include <cstdint>

#include "cpu/accuracy/certified.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/stages/scale.hpp"

namespace ozfp4 {

// Stores the listed entries of a block, from that row and column of the scales on, and their bounds. `bytes`: the memory that it
// may take; it takes some 100 KiB a thread where that is less. Range: scales with records, `a.inner` >= 1.
EntryCounts cpu_chain(const OperandView& a, const Scales& scale_a, const OperandView& b, const Scales& scale_b, std::int64_t row,
                      std::int64_t column, const Target& target, const Listed& listed, std::int64_t bytes);

}  // namespace ozfp4
