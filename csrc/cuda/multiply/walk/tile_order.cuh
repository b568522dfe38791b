// The order in which output tiles are computed: units outermost, then splits and batches, then bands of tiles.
//
// Blocks that run together should share operands in L2. A matrix of tiles is cut into bands `band` tiles wide along M;
// within a band the width runs fastest. So a wave of w blocks touches about `band` tile rows of A and w / band of B,
// instead of one and w. Neighbouring blocks share the tile of B, the larger one. They mostly run on neighbouring multiprocessors,
// and requests of these for the same lines are merged on the way to L2.
#pragma once

#include <cstdint>

#include "arith/fold.hpp"

namespace ozfp4::cuda {

// Division by a constant known at launch. Precondition: dividends below 2^31, divisor in [1, 2^31].
struct Divisor {
  fold_constants constants;
};
constexpr Divisor make_divisor(std::uint32_t d) { return {d == 1 ? fold_constants{1, 0, 0, 0, 0u - 1u} : make_fold(d)}; }
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
};

struct Tile {
  std::uint32_t unit, matrix, m, n;  // matrix = split * batches + batch
};

inline TileOrder make_tile_order(std::uint32_t m_tiles, std::uint32_t n_tiles, std::uint32_t matrices, std::uint32_t band) {
  const std::uint32_t width = band < m_tiles ? band : m_tiles;
  const std::uint32_t bands = (m_tiles + width - 1) / width;
  return {make_divisor(m_tiles * n_tiles * matrices),
          make_divisor(m_tiles * n_tiles),
          make_divisor(width * n_tiles),
          make_divisor(width),
          make_divisor(m_tiles - (bands - 1) * width),
          bands};
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
  tile.n = divide(index, is_last ? order.last_width : order.width);
  const std::uint32_t width = is_last ? order.last_width.constants.modulus : order.width.constants.modulus;
  tile.m = band * order.width.constants.modulus + index - tile.n * width;
  return tile;
}

}  // namespace ozfp4::cuda
