// The order in which output tiles are computed: units outermost, then splits and batches, then bands of tiles.
//
// Blocks that run together should share operands in L2. A matrix of tiles is cut into bands `band` tiles wide along M
// (or along N); within a band the width runs fastest. So a wave of w blocks touches about `band` tile rows of one
// operand and w / band of the other, instead of one and w.
#pragma once

#include <cstdint>

#include "arith/fold.hpp"

namespace ozfp4::cuda::sm90 {

// Division by a constant known at launch. Range: dividends below 2^31, divisor in [1, 2^31].
struct Divisor {
  fold_constants constants;
};
constexpr Divisor make_divisor(std::uint32_t d) {
  return {d == 1 ? fold_constants{1, 0, 0, 0, 0u - 1u} : make_fold(d)};
}
OZFP4_HD std::uint32_t divide(std::uint32_t x, const Divisor& d) {
  return d.constants.modulus == 1 ? x : fold_quotient(x, d.constants);
}

struct TileOrder {
  Divisor per_unit;    // tiles of a unit
  Divisor per_matrix;  // tiles of one output matrix
  Divisor per_band;    // tiles of a full band
  Divisor width;       // of a full band
  Divisor last_width;  // of the last band
  std::uint32_t bands;
  bool band_along_n;
};

// A tile along M is a cluster's: its blocks are the tiles 2 m and 2 m + 1.
struct Tile {
  std::uint32_t unit, matrix, m, n;  // matrix = split * batches + batch
};

inline TileOrder make_tile_order(std::uint32_t m_tiles, std::uint32_t n_tiles, std::uint32_t matrices,
                                 std::uint32_t band, bool band_along_n) {
  const std::uint32_t wide = band_along_n ? n_tiles : m_tiles, length = band_along_n ? m_tiles : n_tiles;
  const std::uint32_t width = band < 1 ? 1 : band < wide ? band : wide;
  const std::uint32_t bands = (wide + width - 1) / width;
  return {make_divisor(m_tiles * n_tiles * matrices), make_divisor(m_tiles * n_tiles), make_divisor(width * length),
          make_divisor(width),                        make_divisor(wide - (bands - 1) * width), bands, band_along_n};
}

OZFP4_HD Tile tile_at(const TileOrder& order, std::uint32_t index) {
  Tile tile;
  tile.unit = divide(index, order.per_unit);
  index -= tile.unit * order.per_unit.constants.modulus;
  tile.matrix = divide(index, order.per_matrix);
  index -= tile.matrix * order.per_matrix.constants.modulus;
  const std::uint32_t band = divide(index, order.per_band);
  index -= band * order.per_band.constants.modulus;
  const bool is_last = band + 1 == order.bands;
  const std::uint32_t along = divide(index, is_last ? order.last_width : order.width);
  const std::uint32_t width = is_last ? order.last_width.constants.modulus : order.width.constants.modulus;
  const std::uint32_t across = band * order.width.constants.modulus + index - along * width;
  tile.m = order.band_along_n ? along : across;
  tile.n = order.band_along_n ? across : along;
  return tile;
}

}  // namespace ozfp4::cuda::sm90
