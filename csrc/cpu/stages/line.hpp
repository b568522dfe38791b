// Loops over one contiguous line of entries, shared by the scale and encode sweeps of the CPU.
#pragma once

#include <cstdint>

namespace ozfp4 {

// Integers of n entries at scale 2^shift; 0 for non-finite entries.
void quantise_line(const double* x, std::int64_t n, int shift, std::int64_t* integers);
void quantise_line(const float* x, std::int64_t n, int shift, std::int64_t* integers);

}  // namespace ozfp4
