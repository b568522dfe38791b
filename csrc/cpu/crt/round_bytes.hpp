// From residues of a byte to results, rounded to nearest, by dot products of bytes where the CPU has them.
#pragma once

#include <cstdint>

#include "cpu/crt/signed_columns.hpp"

namespace ozfp4 {

// Entries of one call, a bit each of what it returns.
inline constexpr int kByteLanes = 64;

// Whether this CPU and its system have the instructions.
bool can_round_bytes();

// T: double or float. result[i] = integer i * 2^exponent[i], rounded once to nearest even, from residues[modulus * pitch + i] of
// `count` moduli. Returns the entries that it does not vouch for: those so close to P / 2 that the quotient is in doubt. These
// are all where an exponent is beyond [kLeastByteExponent, kMostByteExponent]. Precondition: can_round_bytes(); 1 <= n <=
// kByteLanes; count as in make_signed_columns, columns.groups > 0 and columns.loss = 0; residues are below their moduli.
template <class T>
std::uint64_t round_bytes(const SignedColumns& columns, const std::uint8_t* residues, std::int64_t pitch, int count, int n,
                          const std::int32_t* exponent, T* result);

// Integers as sums of two FP64 numbers that are integers: sum + rest, up to 2^-52 |rest| and columns.loss, where rest is the
// error of a rounding. Returns the entries that it does not vouch for. Precondition: as above, with any loss.
std::uint64_t pair_bytes(const SignedColumns& columns, const std::uint8_t* residues, std::int64_t pitch, int count, int n,
                         double* sum, double* rest);

// For these every result that is not 0 is a normal FP64 number, and so are the powers of two on the way.
inline constexpr std::int32_t kLeastByteExponent = -832, kMostByteExponent = 896;

}  // namespace ozfp4
