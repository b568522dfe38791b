// Residue of a long integer modulo m, in floating point as in arith/limbs/residue.hpp: FP32 for byte-sized moduli, FP64 for
// those of up to 23.5 bits.
//
// The integer is cut into pieces of w bits, v = sum_j p_j 2^(w j), |p_j| <= 2^(w - 1), the weights are w_j = 2^(w j) mod m,
// balanced, |w_j| <= m/2 (w_0 = 1), and eight (FP64: five) of the products are summed before each reduction, with what the last
// one left.
// Sums and products are integers that nothing rounds. A quotient's error stays below 1/(2m) if the sum stays below 2^22 (FP32)
// or 2^51 (FP64), because that of fl(x * fl(1/m)) is at most |x| / m * 2^-23 (2^-52) (1 + 2^-24):
//     FP32, w = 13, m <= 256:   |x| <= 2^12 + 7 * 2^12 * 2^7 < 0.88 * 2^22 of the first eight pieces; of the next ones
//                               |x| <= 2^7 + 7 * 2^12 * 2^7 + 2^11 * 2^7 < 0.94 * 2^22 if the sixteenth is at most 2^11.
//     FP64, w = 27, m < 2^23.5: |x| <= 2^26 + 4 * 2^26 * 2^22.5 < 0.71 * 2^51 of the first five pieces; of the next ones, three
//                               at most, |x| <= 2^22.5 + 3 * 2^26 * 2^22.5 < 0.54 * 2^51.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"
#include "arith/limbs/residue.hpp"

namespace ozfp4 {

template <class Real>
inline constexpr int kPieceWidth = sizeof(Real) == 4 ? 13 : 27;
template <class Real>
inline constexpr int kPiecesPerSum = sizeof(Real) == 4 ? 8 : 5;
template <class Real>
inline constexpr int kMostPieces = sizeof(Real) == 4 ? 16 : 8;

// Capacity up to which the pieces serve: 206 and 215.
template <class Real>
inline constexpr int kMostPieceBits = sizeof(Real) == 4 ? 15 * 13 + 11 : 7 * 27 + 26;

// Pieces of every |v| <= 2^bits: the last one is at most 2^(w - 1) as well. Range: bits <= kMostPieceBits.
template <class Real>
constexpr int piece_count(int bits) {
  return bits / kPieceWidth<Real> + 1;
}

// Constants of a modulus, m in [4, 256] (FP32), odd and below 2^23.5 (FP64).
template <class Real>
struct WideModulus {
  Real modulus, inverse;
  Real weight[kMostPieces<Real>];
};

template <class Real>
WideModulus<Real> make_wide_modulus(std::int64_t m) {
  WideModulus<Real> constants{static_cast<Real>(m), Real(1) / static_cast<Real>(m), {}};
  std::int64_t power = 1;
  for (Real& weight : constants.weight) {
    weight = static_cast<Real>(power > m / 2 ? power - m : power);
    power = (power << kPieceWidth<Real>) % m;
  }
  return constants;
}

// The balanced residue of `start` and the next Count pieces. Range: as above.
template <int Count, class Real>
OZFP4_HD Real reduce_pieces(Real start, const Real (&piece)[Count], const Real* weight, Real modulus, Real inverse) {
  static_assert(Count <= kPiecesPerSum<Real>, "the sum must stay exact");
  Real x = start;
  for (int j = 0; j < Count; ++j) x = x + piece[j] * weight[j];
  return reduce(x, modulus, inverse);
}

}  // namespace ozfp4
