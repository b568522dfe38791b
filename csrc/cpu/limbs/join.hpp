// The integers of a product by limbs, from the sums of its diagonals.
#pragma once

#include <cstdint>

#include "arith/wide/wide_int.hpp"
#include "cpu/limbs/shape.hpp"

namespace ozfp4 {

// The integers of one tile of results in the parts of SumParts (cpu/crt/round_pieces.hpp): top, middle and low, each
// [row][column] with rows `pitch` apart; `rows` of them.
struct JoinedTile {
  double *top, *middle, *low;
  std::int64_t pitch, rows;
};

// Precondition: sums of kDiagonalSums for each diagonal, as multiply leaves them.
void join_diagonals(const std::int32_t* sums, int limbs, const JoinedTile& tile);

// The integer of one entry, as it was before it was raised, from sums that lie kDiagonalSums apart. Precondition: sums of at most
// 2^30 of such integers; 0 <= raised < 8 * 16.
using JoinedInteger = WideInt<6>;
JoinedInteger join_diagonals(const std::int32_t* sums, int limbs, int raised);

}  // namespace ozfp4
