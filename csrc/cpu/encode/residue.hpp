// Residue of an integer modulo m, exact, in floating point. It is FP32 for byte-sized moduli, as both CPU vectors and GPUs run
// FP32 at full rate, integer multiply-high at half of it or less. It is FP64 for the CPU's moduli of up to 23.5 bits.
//
// The integer is cut into pieces of w bits, v = sum_j p_j 2^(w j). The weights are w_j = 2^(w j) mod m, balanced, |w_j| <= m/2
// (w_0 = 1), and the sum x of the products is reduced by r = x - rint(x / m) * m. Every intermediate value is an integer below
// 2^24 (FP64: 2^53), so nothing but the quotient x * fl(1/m) is rounded, with or without fused multiply-add. Its absolute error
// is at most |x| / m * 2^-23 (2^-52) (1 + 2^-24), below 1/(2m) for |x| below 2^22 (2^51). For odd m no x / m lies closer than
// 1/(2m) to a half-integer, so the quotient rounds to the right integer. For even m a tie may go either way, and both ways give
// the same residue in [0, m).
#pragma once

#include <cstdint>

#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"

namespace ozfp4 {

// x reduced towards [-m/2, m/2]. Precondition: |x| <= 2^24 - m (float), 2^53 - m (double), both x and m integers, 4 <= m <= 2^8
// (float), 4 <= m <= 2^24 (double). Then x / m is in the range of round_to_integer (for m = 2 and 3 that takes |x| <= 2^22 m,
// 2^51 m), and rint(x/m) * m and the difference are exact. The result is congruent to x, and |result| <= m/2 + 2; it is at most
// m/2 when |x| < 2^22 (float), 2^51 (double).
template <class Real>
OZFP4_HD Real reduce(Real x, Real modulus, Real inverse) {
  return x - round_to_integer(x * inverse) * modulus;
}

// ---- Integers of any length, in pieces of |p_j| <= 2^(w - 1) ---------------------------------------------------------

// Eight (FP64: five) products are summed before each reduction, with what the last one left:
//     FP32, w = 13, m <= 256:   |x| <= 2^12 + 7 * 2^12 * 2^7 < 0.88 * 2^22 of the first eight pieces; of the next ones
//                               |x| <= 2^7 + 7 * 2^12 * 2^7 + 2^11 * 2^7 < 0.94 * 2^22 if the sixteenth is at most 2^11.
//     FP64, w = 27, m < 2^23.5: |x| <= 2^26 + 4 * 2^26 * 2^22.5 < 0.71 * 2^51 of the first five pieces; of the next ones, three
//                               at most, |x| <= 2^22.5 + 3 * 2^26 * 2^22.5 < 0.54 * 2^51.
template <class Real>
inline constexpr int kPieceWidth = sizeof(Real) == 4 ? 13 : 27;
template <class Real>
inline constexpr int kPiecesPerSum = sizeof(Real) == 4 ? 8 : 5;
template <class Real>
inline constexpr int kMostPieces = sizeof(Real) == 4 ? 16 : 8;

// Capacity up to which the pieces are enough: 206 and 215.
template <class Real>
inline constexpr int kMostPieceBits = sizeof(Real) == 4 ? 15 * 13 + 11 : 7 * 27 + 26;

// Pieces of every |v| <= 2^bits: the last one is at most 2^(w - 1) as well. Precondition: bits <= kMostPieceBits.
template <class Real>
constexpr int piece_count(int bits) {
  return bits / kPieceWidth<Real> + 1;
}

// Constants of a modulus, m in [2, 256] (FP32), odd and below 2^23.5 (FP64).
template <class Real>
struct PieceModulus {
  Real modulus, inverse;
  Real weight[kMostPieces<Real>];
};

template <class Real>
PieceModulus<Real> make_piece_modulus(std::int64_t m) {
  PieceModulus<Real> constants{static_cast<Real>(m), Real(1) / static_cast<Real>(m), {}};
  std::int64_t power = 1;
  for (Real& weight : constants.weight) {
    weight = static_cast<Real>(power > m / 2 ? power - m : power);
    power = (power << kPieceWidth<Real>) % m;
  }
  return constants;
}

// The residue of least magnitude, of ±m/2 either one, of `start` and the next Count pieces. Precondition: as above.
template <int Count, class Real>
OZFP4_HD Real reduce_pieces(Real start, const Real (&piece)[Count], const Real* weight, Real modulus, Real inverse) {
  static_assert(Count <= kPiecesPerSum<Real>, "the sum must stay exact");
  Real x = start;
  for (int j = 0; j < Count; ++j) x = x + piece[j] * weight[j];
  return reduce(x, modulus, inverse);
}

}  // namespace ozfp4
