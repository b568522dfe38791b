// The units that may multiply on this CPU: they passed the self-test (product/trust), which their first use runs.
#pragma once

#include <string>

#include "cpu/bytes/kernels/kernel.hpp"
#include "plan/alphabet.hpp"

namespace ozfp4::product {

// The INT8 unit, of which one that failed is passed over; null: there is none. Throws Refusal where OZFP4_CPU_KERNEL names one
// that fails; std::invalid_argument where it names none.
const ByteKernel* trusted_unit();

// Why what multiplies planes of the alphabet now may not, with every kernel of them that failed; empty: it passed.
std::string failure_of(const Alphabet& alphabet);

// Throws Refusal where there is such a reason.
void check_trusted(const Alphabet& alphabet);

// Whether products of integers in machine words may be; why they may not, empty: they may.
bool trusts_direct();
std::string failure_of_direct();

// Whether small products of numbers may be made in machine words, or by limbs, where there is a unit for them that passed.
bool trusts_words();

}  // namespace ozfp4::product
