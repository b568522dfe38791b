// The CRT in FP64 numbers (cpu/crt/number_crt.hpp), vectorised over entries.
#pragma once

#include <cstdint>

#include "cpu/accuracy/lanes.hpp"
#include "cpu/crt/number_crt.hpp"

namespace ozfp4 {

// Integers of n entries, whose residues by modulus g lie at residues + g * pitch; refused where the pair may not be the integer.
// Precondition: 0 <= n <= kLanes, constants of some moduli.
void number_lanes(const NumberCrt& constants, const std::uint32_t* residues, std::int64_t pitch, int n, LanePairs& pairs);

}  // namespace ozfp4
