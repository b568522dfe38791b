// What multiplies planes on the CPU: an INT8 unit that was tried on exact integers, or floating point.
#pragma once

#include <vector>

#include "cpu/bytes/kernels/kernel.hpp"
#include "plan/choice.hpp"

namespace ozfp4::product {

// Those of this CPU and what they do beside each other; an INT8 unit is tried before its first use, and one that fails is passed
// over. Throws Refusal where OZFP4_CPU_KERNEL names one that fails; std::invalid_argument where it names none.
std::vector<UnitRate> trusted_units();

// The INT8 unit among them, which they follow from; null: there is none.
const ByteKernel* trusted_unit();

// Whether products of numbers and of integers in machine words may be: tried on exact integers before the first.
bool trusts_words();

}  // namespace ozfp4::product
