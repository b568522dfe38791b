// What may multiply on this CPU: what passed its self-test (product/trust), which the first use of each runs.
#pragma once

#include <vector>

#include "cpu/bytes/kernels/kernel.hpp"
#include "plan/choice.hpp"

namespace ozfp4::product {

// The units of this CPU that passed and what they do beside each other; an INT8 unit that failed is passed over. Throws Refusal
// where OZFP4_CPU_KERNEL names one that fails, or none passes; std::invalid_argument where it names none.
std::vector<UnitRate> trusted_units();

// The INT8 unit among them, which they follow from; null: there is none.
const ByteKernel* trusted_unit();

// Throws Refusal unless what multiplies planes of the alphabet now passed.
void check_trusted(const Alphabet& alphabet);

// Whether products of integers in machine words may be.
bool trusts_words();

// Whether small products of numbers may be made in machine words, or by limbs, where there is a unit for them that passed.
bool trusts_numbers();

}  // namespace ozfp4::product
