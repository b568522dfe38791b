// The parts that the kernels' cost models share. Each says in clocks what a launch takes; multiply/tune.cpp takes the tile
// that takes least.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/multiply/registry.hpp"

namespace ozfp4::cuda {

// A launch as all models count it.
struct Work {
  std::int64_t tiles;
  double steps, folds;         // of a unit
  double blocks;               // of K, 128 bytes each, of a step
  double in_bytes, out_bytes;  // read by all steps, stored by all units
};

inline Work count_work(const GemmShape& shape, int tile_m, int tile_n, int splits, Element element) {
  const std::int64_t matrices = static_cast<std::int64_t>(shape.units) * shape.batches * splits;
  Work work;
  work.tiles = ceil_div(shape.m, tile_m) * ceil_div(shape.n, tile_n) * matrices;
  work.steps = static_cast<double>(shape.steps) / shape.units;
  work.folds = static_cast<double>(shape.folds > 0 ? shape.folds : shape.steps) / shape.units;
  work.blocks = static_cast<double>(ceil_div(ceil_div(shape.k, block_entries(element)), splits));
  work.in_bytes =
      (static_cast<double>(shape.m) + shape.n) * static_cast<double>(row_bytes(element, shape.k)) * shape.steps * shape.batches;
  work.out_bytes = static_cast<double>(matrices) * shape.m * shape.n;
  return work;
}

// The part of the shorter one of computing and moving bytes that the longer one does not hide.
inline constexpr double kOverlapCost = 0.15;

inline double launch_clocks(double start, double compute, double memory, double overlap_cost = kOverlapCost) {
  return start + std::max(compute, memory) + overlap_cost * std::min(compute, memory);
}

namespace hopper {
double clocks(const KernelRow& row, const GemmShape& shape, const TileChoice& choice, Element element, const Gpu& gpu);
}
namespace mma_sync {
// Multiply-adds of bytes, a clock and multiprocessor.
double byte_rate(int capability);
double clocks(const KernelRow& row, const GemmShape& shape, const TileChoice& choice, Element element, const Gpu& gpu);
}  // namespace mma_sync
namespace tcgen05 {
double clocks(const KernelRow& row, const GemmShape& shape, const TileChoice& choice, Element element, const Gpu& gpu);
}

}  // namespace ozfp4::cuda
