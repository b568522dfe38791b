// Which tile for which shape: a cost model in clocks, evaluated for every variant that exists.
#pragma once

#include <algorithm>
#include <cstdint>

#include "multiply/cuda_gemm.hpp"
#include "multiply/sm90_config.cuh"

namespace ozfp4::cuda::sm90 {

inline constexpr TileGeometry kGeometry[kTileShapes] = {
    {128, 256, 2, stage_count(128, 256), true, "128x256"},  {256, 128, 2, stage_count(256, 128), false, "256x128"},
    {128, 192, 2, stage_count(128, 192), false, "128x192"}, {128, 128, 2, stage_count(128, 128), true, "128x128"},
    {128, 64, 2, stage_count(128, 64), false, "128x64"},    {64, 256, 1, stage_count(64, 256), false, "64x256"},
    {64, 128, 1, stage_count(64, 128), false, "64x128"},    {64, 64, 1, stage_count(64, 64), false, "64x64"},
};

inline constexpr double kMacsPerClock = 4096;  // of one multiprocessor, bytes
// A wgmma of width n reads (64 + n) * 32 bytes of shared memory in n / 2 clocks, of 128 bytes a clock at most: 80 for
// n = 256, 96 for 128, 128 for 64. Beyond 80, each byte a clock is taken to cost this share of the rate.
inline constexpr double kSharedCost = 0.0015;
inline constexpr double kClusterCost = 0.02;    // of the rate, for waiting on the other block of a cluster
inline constexpr double kL2BytesPerClock = 50;         // per multiprocessor when all of them load
inline constexpr double kMemoryBytesPerClock = 2400;   // of the device: 4.2 TB/s at 1.75 GHz
inline constexpr double kLaunchClocks = 4000;          // launch, first loads, last store
inline constexpr double kTileClocks = 250;             // between the K loops of two tiles, the epilogue hidden
inline constexpr double kEpilogueClocksPerColumn = 5;  // of a warpgroup's 64 rows, where it is not hidden

constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

inline double model_clocks(const GemmShape& shape, const TileChoice& choice, int multiprocessors) {
  const TileGeometry& tile = kGeometry[static_cast<int>(choice.shape)];
  const int clusters = std::max(1, multiprocessors / choice.cluster);
  const std::int64_t tiles = ceil_div(shape.m, tile.m * choice.cluster) * ceil_div(shape.n, tile.n) *
                             static_cast<std::int64_t>(shape.units) * shape.batches * choice.splits;
  const double blocks =
      static_cast<double>(ceil_div(ceil_div(shape.k, kBlockK), choice.splits)) * shape.steps / shape.units;
  const double shared_rate = (64.0 + tile.n) * 32 / (tile.n / 2.0);
  const double slowdown = 1 + kSharedCost * (shared_rate - 80) + (choice.cluster > 1 ? kClusterCost : 0);
  const double multiply = static_cast<double>(tile.m) * tile.n * kBlockK / kMacsPerClock * slowdown;
  const double load = (tile.m + static_cast<double>(tile.n) / choice.cluster) * kBlockK / kL2BytesPerClock;
  const double epilogue = tile.n * kEpilogueClocksPerColumn;
  const double per_tile = blocks * std::max(multiply, load) + kTileClocks + (tile.consumers == 1 ? epilogue : 0);
  const double waves = static_cast<double>(ceil_div(tiles, clusters));

  const double out_bytes = static_cast<double>(shape.units) * shape.batches * choice.splits * shape.m * shape.n;
  const double bytes = (static_cast<double>(shape.m) + shape.n) * shape.k * shape.steps * shape.batches + out_bytes;
  const double split_bytes = choice.splits > 1 ? 2 * out_bytes : 0;  // written here, read again by reconstruct
  return kLaunchClocks + epilogue + std::max(waves * per_tile, bytes / kMemoryBytesPerClock) +
         split_bytes / kMemoryBytesPerClock;
}

// The band that lets a wave of blocks touch the fewest bytes of operands per K block.
inline void choose_band(const GemmShape& shape, TileChoice& choice, int multiprocessors) {
  const TileGeometry& tile = kGeometry[static_cast<int>(choice.shape)];
  const std::int64_t tile_m = tile.m * choice.cluster;
  const std::int64_t m_tiles = ceil_div(shape.m, tile_m), n_tiles = ceil_div(shape.n, tile.n);
  const std::int64_t wave = std::max(1, multiprocessors / choice.cluster);
  std::int64_t least = INT64_MAX;
  for (int band = 1; band <= 32; ++band) {
    for (const bool along_n : {false, true}) {
      // The tiles of one output matrix that a wave covers: a part of a band, or several bands.
      const std::int64_t all_wide = along_n ? n_tiles : m_tiles, all_long = along_n ? m_tiles : n_tiles;
      const std::int64_t width = std::min<std::int64_t>(band, all_wide);
      const std::int64_t length = std::min(ceil_div(wave, width), all_long);
      const std::int64_t wide = std::min(width * ceil_div(wave, width * all_long), all_wide);
      const std::int64_t rows = along_n ? wide * tile.n + length * tile_m : wide * tile_m + length * tile.n;
      if (rows < least) {
        least = rows;
        choice.band = band;
        choice.band_along_n = along_n;
      }
    }
  }
}

inline TileChoice choose(const GemmShape& shape, int multiprocessors) {
  TileChoice best;
  best.predicted_clocks = -1;
  for (int t = 0; t < kTileShapes; ++t) {
    for (int cluster = 1; cluster <= (kGeometry[t].has_cluster ? 2 : 1); ++cluster) {
      for (int splits = 1; splits <= shape.max_splits; splits *= 2) {
        // A split shorter than the ring is not worth its output; an empty one is possible but useless.
        if (splits > 1 && ceil_div(shape.k, kBlockK) / splits < kGeometry[t].stages) break;
        TileChoice choice;
        choice.shape = static_cast<TileShape>(t);
        choice.cluster = cluster;
        choice.splits = splits;
        choice.lag = kGeometry[t].consumers == 1 ? 0 : kGeometry[t].stages > 4 ? 3 : 2;
        choice.predicted_clocks = model_clocks(shape, choice, multiprocessors);
        if (best.predicted_clocks < 0 || choice.predicted_clocks < best.predicted_clocks) best = choice;
      }
    }
  }
  choose_band(shape, best, multiprocessors);
  return best;
}

}  // namespace ozfp4::cuda::sm90
