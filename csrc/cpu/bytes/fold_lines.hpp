// Loops over the INT32 sums of one row of a tile.
#pragma once

#include <cstdint>

#include "arith/fold.hpp"

namespace ozfp4 {

// sums += starts. They wrap.
void add_starts(std::int32_t* sums, const std::int32_t* starts, std::int64_t n);

// sums = (sums mod m) * multiplier. Precondition: as fold_signed; 1 <= multiplier < 2^23.
void fold_sums(std::int32_t* sums, std::int64_t n, const fold_constants& modulus, std::int32_t multiplier);

// The residue in [0, m) of sums * multiplier, plus out where `accumulate`. Precondition: as fold_signed; m and the multiplier at
// most 2^8, out in [0, m).
void store_residues(const std::int32_t* sums, std::int64_t n, const fold_constants& modulus, std::uint32_t multiplier,
                    bool accumulate, std::uint8_t* out);

// out = sums * weight, plus out where `accumulate`. Precondition: the result fits 64 bits.
void flush_sums(const std::int32_t* sums, std::int64_t n, std::int64_t weight, bool accumulate, std::int64_t* out);

}  // namespace ozfp4
