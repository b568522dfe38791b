// Results of a product by limbs in double precision, rounded from the sums of its diagonals. They are the bits that round_lanes
// gives after join_diagonals, without the three numbers in between.
#pragma once

#include <cstdint>

#include "cpu/limbs/shape.hpp"
#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4 {

// Every sum of diagonals is below 2^kMostLimbBits in magnitude. For these exponents x 2^exponent is 0 or a normal number, and so
// are the powers of two on the way, 2^(exponent - 63) being the least of them.
inline constexpr int kMostLimbBits = 153;
inline constexpr std::int32_t kLeastLimbExponent = -1022 + 63, kMostLimbExponent = 1023 - kMostLimbBits;
static_assert(2 * kMostLimbCapacity + 12 < kMostLimbBits && kMostLimbInner == 1 << 12);

// One tile of results in double precision, or the part of it that there is: at most kPanelLines rows and columns. Shifts are
// those of the integers of its rows and columns, as they are raised.
struct RoundedTile {
  const std::int32_t *row_shift, *column_shift;
  ResultView result;
};

// The sums of one tile's diagonals as multiply leaves them, [diagonal][row][column], aligned to 64 bytes. They are of `inner`
// products of integers of at most 2^(8 limbs - 2); and which of them are there, all or the upper ones.
struct TileSums {
  const std::int32_t* sums;
  int limbs;
  std::int64_t inner;
  Diagonals diagonals;
};

// Whether this CPU and its system have the instructions: AVX-512 with counts of leading zeros (CD) and shifts through two words
// (VBMI2), Ice Lake, Zen 4 and later.
bool can_round_diagonals();

// Entry i, j = x 2^-(row_shift[i] + column_shift[j]), rounded once to nearest even, +0 where x is 0; x = sum_d D_d 2^(8 d). False
// where the upper diagonals alone are there and the lower ones may matter to a result: then some entries are another number. They
// matter to a sum that is 0. Precondition: can_round_diagonals(); limbs as limbs_of gives, of which some are lower diagonals
// where these are not there; 1 <= inner <= kMostLimbInner; exponents from kLeastLimbExponent to kMostLimbExponent; the default
// floating-point mode.
bool round_diagonals(const TileSums& sums, const RoundedTile& tile);

// Facts of the rounding of a tile's lines, from its first row or column on. They are the numbers of entries that are rounded and
// that are not 0. Then 2^(c - 1 - shift) and 2^-shift of integers that are not raised, and 2^-shift of those that are.
struct LineErrors {
  const double *rounded, *nonzeros, *half, *power, *raised_power;
};

// Bits of columns, by row: entries with an error of 0, and those where not every number within the error, error_bound
// (arith/accuracy/certificate.hpp), is known to round to the same result.
struct CertainEntries {
  std::uint16_t exact[kPanelLines], uncertain[kPanelLines];
  std::uint16_t undecided[kPanelLines];  // of the uncertain, from upper diagonals: those that may be certain from all
};

// Results with the rounding test of accuracy="correct". From the upper diagonals alone uncertain, also where the error is 0, is
// what may round to another number within the error and what the lower ones come to. Precondition: as above, the errors' counts
// up to kMostLimbInner, and powers of two that are normal numbers.
void round_diagonals_certain(const TileSums& sums, const RoundedTile& tile, const LineErrors& rows, const LineErrors& columns,
                             CertainEntries& found);

}  // namespace ozfp4
