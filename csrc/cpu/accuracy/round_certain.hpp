// The rounding test of accuracy="correct" for the common case, vectorised over entries.
#pragma once

#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "cpu/accuracy/update_lanes.hpp"
#include "cpu/crt/lane_words.hpp"
#include "cpu/stages/columns.hpp"

namespace ozfp4 {

// Rounds the integers of n lanes in the given direction to `result` and puts 0 in `refused` where every number within `error` of
// the integer (0: the integer alone) rounds to the same bits, something else where not, or where it cannot tell: of FP32 in any
// direction but to nearest. Range: error >= 0 and at least the true one; integers below 2^kCertainBits in magnitude.
void round_certain(const Columns<5>& column, int n, const CrtProduct<5>& product, const std::int32_t* exponent,
                   const double* error, Rounding rounding, double* result, std::int64_t* refused);
void round_certain(const Columns<6>& column, int n, const CrtProduct<6>& product, const std::int32_t* exponent,
                   const double* error, Rounding rounding, double* result, std::int64_t* refused);
void round_certain(const Columns<5>& column, int n, const CrtProduct<5>& product, const std::int32_t* exponent,
                   const double* error, Rounding rounding, float* result, std::int64_t* refused);
void round_certain(const Columns<6>& column, int n, const CrtProduct<6>& product, const std::int32_t* exponent,
                   const double* error, Rounding rounding, float* result, std::int64_t* refused);

// The same of integers below 2^bits, however long: by their upper kCertainBits or fewer, cut at a word, which the error has room
// for.
#define OZFP4_ROUND_CERTAIN(Words)                                                                         \
  void round_certain(const Columns<Words>& column, int n, const CrtProduct<Words>& product, int bits,      \
                     const std::int32_t* exponent, const double* error, Rounding rounding, double* result, \
                     std::int64_t* refused);                                                               \
  void round_certain(const Columns<Words>& column, int n, const CrtProduct<Words>& product, int bits,      \
                     const std::int32_t* exponent, const double* error, Rounding rounding, float* result,  \
                     std::int64_t* refused);
OZFP4_WORD_COUNTS(OZFP4_ROUND_CERTAIN)
#undef OZFP4_ROUND_CERTAIN

// The same of pairs, which the integers are up to 2^-52 |rest| and `loss`.
void round_certain(const LanePairs& pairs, double loss, int n, const std::int32_t* exponent, const double* error,
                   Rounding rounding, double* result, std::int64_t* refused);
void round_certain(const LanePairs& pairs, double loss, int n, const std::int32_t* exponent, const double* error,
                   Rounding rounding, float* result, std::int64_t* refused);

}  // namespace ozfp4
