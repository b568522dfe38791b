// Stage 3 of whole planes as encode leaves them, by the kernel that serves the plan: of one for bytes K is taken in pieces, and
// planes are packed.
#pragma once

#include "cpu/stages/multiply.hpp"

namespace ozfp4 {

// output as cpu_multiply writes it. Range: 1 <= shape.inners.
void multiply_planes(const Plan& plan, int count, const MultiplyShape& shape, const void* a, const void* b, void* output);

}  // namespace ozfp4
