// Which tile for which shape: a cost model in clocks, evaluated for every variant that exists.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/multiply/check.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/hopper/config.cuh"

namespace ozfp4::cuda::sm90 {

// Two operand planes of more bytes than this profit from blocks that stay together (N = 8192: no, 16384: yes).
inline constexpr double kFitsL2 = 200e6;

// Clocks, fitted to an H200: 15 moduli at N = 256 to 2048 and at M or N = 1, 16, 64; 59 products at 256, 512, 1024; scheme I
// at 512, 1024. There the choice is within 3 % of the best one measured.
inline constexpr double kMacsPerClock = 4096;  // of one multiprocessor, bytes
// Narrow tiles move more bytes per product, which costs energy, so clock frequency: (m + n) / (m n) beyond that of
// 128 x 256, times this, is the loss of rate.
inline constexpr double kTrafficCost = 15;
// Loading 128 bytes of a row when all multiprocessors do. Neighbours share the rows of B, see walk/tile_order.cuh.
inline constexpr double kRowClocksA = 2.1, kRowClocksB = 1.4;
inline constexpr double kEmptyRowClocks = 5.9;  // beyond the last row: zeros
inline constexpr double kStepClocks = 740;      // between K loops, whatever the tile
inline constexpr double kFoldClocksPerEntry = 0.077;
inline constexpr double kLoneConsumer = 1.6;        // times that where one warpgroup folds alone
inline constexpr double kTurnClocks = 100;          // between the K loops of two warpgroups that take turns
inline constexpr double kTurnCost = 1.05;           // times their loops: in products from N = 4096 on, wide tiles draw less power
inline constexpr double kLaunchClocks = 6000;       // launch, first loads, last store
inline constexpr double kTwoConsumerClocks = 3000;  // more of them for the tiles of 128 rows
inline constexpr double kMemoryBytesPerClock = 2400;  // of the device: 4.2 TB/s at 1.75 GHz
inline constexpr double kOverlapCost = 0.15;          // of the shorter one of computing and loading from memory

inline double model_clocks(const GemmShape& shape, const TileChoice& choice, int multiprocessors) {
  const TileGeometry& tile = tile_geometry(choice.shape);
  const std::int64_t m_tiles = ceil_div(shape.m, tile.m), n_tiles = ceil_div(shape.n, tile.n);
  const std::int64_t tiles = m_tiles * n_tiles * static_cast<std::int64_t>(shape.units) * shape.batches * choice.splits;
  const double entries = static_cast<double>(tile.m) * tile.n, rows = tile.m + tile.n;
  // Of a unit.
  const double steps = static_cast<double>(shape.steps) / shape.units;
  const double folds = static_cast<double>(shape.folds > 0 ? shape.folds : shape.steps) / shape.units;
  const double blocks = static_cast<double>(ceil_div(ceil_div(shape.k, kBlockK), choice.splits)) * steps;

  const double multiply = entries * kBlockK / kMacsPerClock * (1 + kTrafficCost * (rows / entries - 384.0 / 32768));
  const double a_rows = static_cast<double>(shape.m) / m_tiles, b_rows = static_cast<double>(shape.n) / n_tiles;
  const double load = a_rows * kRowClocksA + b_rows * kRowClocksB + (rows - a_rows - b_rows) * kEmptyRowClocks;
  const bool turns = takes_turns(tile.m, tile.n);
  const double fold = entries * kFoldClocksPerEntry * (tile.m == 128 && !turns ? 1 : kLoneConsumer);
  const double stream = blocks * std::max(multiply, load), rest = steps * kStepClocks + folds * fold;
  const auto rounds = static_cast<double>(ceil_div(tiles, multiprocessors));
  // In turns, the tensor cores are busy with one tile while the other one is folded.
  const double compute =
      turns ? rounds * std::max(kTurnCost * stream + steps * kTurnClocks, (stream + rest) / 2) + rest : rounds * (stream + rest);

  const double out_bytes = static_cast<double>(shape.units) * shape.batches * choice.splits * shape.m * shape.n;
  const double bytes = (static_cast<double>(shape.m) + shape.n) * shape.k * shape.steps * shape.batches + out_bytes;
  const double memory = bytes / kMemoryBytesPerClock;
  const double split = choice.splits > 1 ? 2 * out_bytes / kMemoryBytesPerClock : 0;  // written here, read by reconstruct
  return kLaunchClocks + (tile.m == 128 ? kTwoConsumerClocks : 0) + std::max(compute, memory) +
         kOverlapCost * std::min(compute, memory) + split;
}

inline TileChoice choose(const GemmShape& shape, int multiprocessors) {
  TileChoice best;
  best.predicted_clocks = -1;
  for (int t = 0; t < kTileShapes; ++t) {
    const TileGeometry& tile = tile_geometry(static_cast<TileShape>(t));
    for (int splits = 1; splits <= shape.max_splits; splits *= 2) {
      // A split shorter than the ring is not worth its output; an empty one is possible but useless.
      if (splits > 1 && ceil_div(shape.k, kBlockK) / splits < stage_count(tile.m, tile.n)) break;
      TileChoice choice;
      choice.shape = static_cast<TileShape>(t);
      choice.splits = splits;
      choice.predicted_clocks = model_clocks(shape, choice, multiprocessors);
      if (best.predicted_clocks < 0 || choice.predicted_clocks < best.predicted_clocks) best = choice;
    }
  }
  best.keep_together = (static_cast<double>(shape.m) + shape.n) * shape.k > kFitsL2;
  return best;
}

}  // namespace ozfp4::cuda::sm90
