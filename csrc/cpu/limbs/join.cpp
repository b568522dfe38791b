#include "cpu/limbs/join.hpp"

#include <algorithm>

#include "arith/float_fields.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// Diagonals from `first` on, as one number: four below 2^55, five, of which the uppermost is below 2^25, below 2^58.
template <int Diagonals, int Count = 4>
inline std::int64_t several_diagonals(const std::int32_t* sums, int first) {
  std::int64_t joined = 0;
  for (int d = Count - 1; d >= 0; --d) {
    joined *= 256;
    if (first + d < Diagonals) joined += sums[(first + d) * kDiagonalSums];
  }
  return joined;
}

// x = sum_q u_q 2^(32 q) with carries resolved upwards: low has the lowest 52 bits, middle the 52 above, top what is left, a
// multiple of 2^104 below 2^(104 + 50).
template <int Limbs>
inline void join_impl(const std::int32_t* sums, const JoinedTile& tile) {
  constexpr int diagonals = diagonals_of(Limbs);
  constexpr std::uint64_t half = 0xFFFFFFFFu, byte = 0xFF;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const std::int32_t* own = sums + row * kPanelLines;
    double *top = tile.top + row * tile.pitch, *middle = tile.middle + row * tile.pitch, *low = tile.low + row * tile.pitch;
    for (std::int64_t i = 0; i < kPanelLines; ++i) {
      const std::int64_t u0 = several_diagonals<diagonals>(own + i, 0);
      const std::int64_t u1 = several_diagonals<diagonals>(own + i, 4) + (u0 >> 32);
      const std::int64_t u2 = several_diagonals<diagonals>(own + i, 8) + (u1 >> 32);
      const std::int64_t u3 = several_diagonals<diagonals, 5>(own + i, 12) + (u2 >> 32);
      const std::uint64_t word = static_cast<std::uint64_t>(u1) << 32 | (static_cast<std::uint64_t>(u0) & half);
      const std::uint64_t above =
          (static_cast<std::uint64_t>(u3) & byte) << 44 | (static_cast<std::uint64_t>(u2) & half) << 12 | word >> 52;
      low[i] = small_to_double(word & ((std::uint64_t(1) << 52) - 1));
      middle[i] = small_to_double(above) * 0x1p52;
      top[i] = static_cast<double>(u3 >> 8) * 0x1p104;
    }
  }
}

// Precondition: 0 < bits < 32.
JoinedInteger shifted_right(JoinedInteger x, int bits) {
  for (int i = 0; i < 6; ++i) {
    const std::uint32_t above = i < 5 ? x.word[i + 1] : wide_is_negative(x) ? ~std::uint32_t(0) : 0;
    x.word[i] = x.word[i] >> bits | above << (32 - bits);
  }
  return x;
}

OZFP4_VECTORISED void join_4(const std::int32_t* sums, const JoinedTile& tile) { join_impl<4>(sums, tile); }
OZFP4_VECTORISED void join_7(const std::int32_t* sums, const JoinedTile& tile) { join_impl<7>(sums, tile); }
OZFP4_VECTORISED void join_8(const std::int32_t* sums, const JoinedTile& tile) { join_impl<8>(sums, tile); }
OZFP4_VECTORISED void join_9(const std::int32_t* sums, const JoinedTile& tile) { join_impl<9>(sums, tile); }

}  // namespace

void join_diagonals(const std::int32_t* sums, int limbs, const JoinedTile& tile) {
  switch (limbs) {
    case 4: return join_4(sums, tile);
    case 7: return join_7(sums, tile);
    case 8: return join_8(sums, tile);
    default: return join_9(sums, tile);
  }
}

JoinedInteger join_diagonals(const std::int32_t* sums, int limbs, int raised) {
  JoinedInteger x = wide_zero<6>();
  std::int64_t above = 0;
  for (int d = 0; d < 4 * 6; ++d) {
    if (d < diagonals_of(limbs)) above += sums[d * kDiagonalSums];
    x.word[d / 4] |= static_cast<std::uint32_t>(above & 0xFF) << (8 * (d % 4));
    above >>= 8;
  }
  for (; raised > 0; raised -= std::min(raised, 31)) x = shifted_right(x, std::min(raised, 31));
  return x;
}

}  // namespace ozfp4
