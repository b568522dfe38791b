// How the operands of a product by limbs of eight bits lie, and the sums that multiply leaves. It is scheme I, whole, for
// products so small that nothing else pays (arith/limbs/signed_bytes.hpp has the GPU's).
//
// An integer is v = sum_i l_i 2^(8 i) with signed bytes l_i. A dot product of integers is sum_d D_d 2^(8 d), where the diagonal
// D_d sums l_i l'_j over i + j = d and over K. Precondition: |v| <= 2^(8 limbs - 2), so that the uppermost limb is one of eight
// bits, too; then |D_d| <= most_diagonal(limbs, K) < 2^30.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arith/limbs/signed_bytes.hpp"
#include "cpu/bytes/tile.hpp"

namespace ozfp4 {

inline constexpr int kMostLimbs = 9;
inline constexpr int kMostLimbCapacity = byte_limb_bits(kMostLimbs);
inline constexpr std::int64_t kMostLimbInner = 1 << 12;
static_assert(most_diagonal(kMostLimbs, kMostLimbInner) < std::int64_t(1) << 30,
              "diagonals are INT32, four of them a number of 55 bits");

// Limbs for integers of so many bits: four for numbers of single precision, seven or eight for most of double precision, and nine
// where results are correctly rounded.
constexpr int limbs_of(int capacity) { return capacity <= 30 ? 4 : capacity <= 54 ? 7 : capacity <= 62 ? 8 : 9; }

// Sums of the diagonals of kPanelLines rows by as many columns: [diagonal][row][column].
inline constexpr std::int64_t kDiagonalSums = kPanelLines * kPanelLines;
inline constexpr std::int64_t kMostSums = diagonals_of(kMostLimbs) * kDiagonalSums;

// The uppermost diagonals of eight and more limbs, which decide nearly every result: those below come to less than one in 2^75 of
// the largest sum. All of eight and nine limbs take 64 and 81 products of tiles, the uppermost 49 and 53. With seven they would
// take 43 of 49, and the test whether they are enough costs more.
inline constexpr int kUpperDiagonals = 10;
constexpr int lower_diagonals(int limbs) { return limbs < 8 ? 0 : diagonals_of(limbs) - kUpperDiagonals; }

// All diagonals, the lower ones (`lower_diagonals`) or those above.
enum class Diagonals { all, lower, upper };

// The lower ones come to less than this, in units of the uppermost ones' least, 2^(8 lower). The uppermost of them sums `lower`
// products of bytes for each entry, 2^14 at most, of 2^-8 of a unit; with all below it 256 / 255 of that.
constexpr std::int64_t most_of_lower(int limbs, std::int64_t inner) { return 65 * lower_diagonals(limbs) * inner; }

// Where the upper diagonals are used the integers of a line are multiplied by 2^raised, so that their uppermost limbs are full.
// By no more than this: what encode takes off entries before it rounds these is then even.
inline constexpr int kMostRaised = 39;

// Panels of A and of B, each [limb][tile of K] in tiles of cpu/bytes/tile.hpp.
struct LimbShape {
  std::int64_t rows, columns, tiles;  // panels of A, panels of B, tiles of K
  int limbs;

  LimbShape(std::int64_t m, std::int64_t n, std::int64_t k, int limbs_)
      : rows(panels_of(m)), columns(panels_of(n)), tiles(tiles_of(k)), limbs(limbs_) {}

  std::int64_t panel_bytes() const { return limbs * tiles * kTileBytes; }
  std::int64_t bytes() const { return (rows + columns) * panel_bytes(); }
  std::int64_t count() const { return rows * columns; }  // of tiles of results
};

// The order in which tiles of results are made, from the tile `at` on: those of a block one after the other. Its panels stay in a
// second-level cache, also where two threads share it. In a block there and back, so that a panel of B begins with the panels of
// A that the last one ended with. With 64 x 64 all of A, B's panel and the sums are more than a first-level cache.
class LimbTiles {
 public:
  // Precondition: 0 <= at < shape.count().
  LimbTiles(const LimbShape& shape, std::int64_t at)
      : rows_(shape.rows), columns_(shape.columns), side_(std::max<std::int64_t>(1, kBlockBytes / (2 * shape.panel_bytes()))) {
    first_column_ = at / (side_ * rows_) * side_;
    at -= first_column_ * rows_;
    first_row_ = at / (side_ * across()) * side_;
    at -= first_row_ * across();
    in_column_ = at / down(), in_row_ = at % down();
  }

  // The panels of A and of B that make the tile.
  std::int64_t row() const { return first_row_ + (in_column_ % 2 == 0 ? in_row_ : down() - 1 - in_row_); }
  std::int64_t column() const { return first_column_ + in_column_; }

  void next() {
    if (++in_row_ < down()) return;
    in_row_ = 0;
    if (++in_column_ < across()) return;
    in_column_ = 0;
    first_row_ += side_;
    if (first_row_ < rows_) return;
    first_row_ = 0;
    first_column_ += side_;
  }

 private:
  static constexpr std::int64_t kBlockBytes = 1 << 20;

  std::int64_t down() const { return std::min(side_, rows_ - first_row_); }
  std::int64_t across() const { return std::min(side_, columns_ - first_column_); }

  std::int64_t rows_, columns_, side_, first_row_ = 0, first_column_ = 0, in_row_ = 0, in_column_ = 0;
};

}  // namespace ozfp4
