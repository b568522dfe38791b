#include "cpu/limbs/join.hpp"

#include "arith/wide/near_sum.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// Four diagonals from `first` on, as one number, below 2^54.
template <int Diagonals>
inline std::int64_t four_diagonals(const std::int32_t* sums, int first) {
  std::int64_t joined = 0;
  for (int d = 3; d >= 0; --d) {
    joined *= 256;
    if (first + d < Diagonals) joined += sums[(first + d) * kDiagonalSums];
  }
  return joined;
}

// x = sum_q u_q 2^(32 q) with carries resolved upwards: low has the lowest 52 bits, middle the 44 above, top what is left, a
// multiple of 2^96 below 2^(96 + 53).
template <int Limbs>
inline void join_impl(const std::int32_t* sums, const JoinedTile& tile) {
  constexpr int diagonals = diagonals_of(Limbs);
  constexpr std::uint64_t half = 0xFFFFFFFFu;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const std::int32_t* own = sums + row * kPanelLines;
    double *top = tile.top + row * tile.pitch, *middle = tile.middle + row * tile.pitch, *low = tile.low + row * tile.pitch;
    for (std::int64_t i = 0; i < kPanelLines; ++i) {
      const std::int64_t u0 = four_diagonals<diagonals>(own + i, 0);
      const std::int64_t u1 = four_diagonals<diagonals>(own + i, 4) + (u0 >> 32);
      const std::int64_t u2 = four_diagonals<diagonals>(own + i, 8) + (u1 >> 32);
      const std::int64_t u3 = four_diagonals<diagonals>(own + i, 12) + (u2 >> 32);
      const std::uint64_t word = static_cast<std::uint64_t>(u1) << 32 | (static_cast<std::uint64_t>(u0) & half);
      const std::uint64_t above = (static_cast<std::uint64_t>(u2) & half) << 12 | word >> 52;
      low[i] = small_to_double(word & ((std::uint64_t(1) << 52) - 1));
      middle[i] = small_to_double(above) * 0x1p52;
      top[i] = static_cast<double>(u3) * 0x1p96;
    }
  }
}

OZFP4_VECTORISED void join_4(const std::int32_t* sums, const JoinedTile& tile) { join_impl<4>(sums, tile); }
OZFP4_VECTORISED void join_7(const std::int32_t* sums, const JoinedTile& tile) { join_impl<7>(sums, tile); }
OZFP4_VECTORISED void join_8(const std::int32_t* sums, const JoinedTile& tile) { join_impl<8>(sums, tile); }

}  // namespace

void join_diagonals(const std::int32_t* sums, int limbs, const JoinedTile& tile) {
  switch (limbs) {
    case 4: return join_4(sums, tile);
    case 7: return join_7(sums, tile);
    default: return join_8(sums, tile);
  }
}

}  // namespace ozfp4
