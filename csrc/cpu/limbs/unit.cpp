#include "cpu/limbs/unit.hpp"

#include <algorithm>
#include <atomic>

#include "cpu/bytes/kernels/amx_tiles.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/limbs/walk.hpp"

namespace ozfp4 {
namespace {

std::atomic<bool> disabled{false};

// By the definition of a diagonal.
void run_portable(const LimbTask& task) {
  std::fill(task.sums + task.first() * kDiagonalSums, task.sums + task.end() * kDiagonalSums, 0);
  const auto limb = [&](const std::int8_t* panel, std::int64_t i, std::int64_t t) {
    return panel + (i * task.tiles + t) * kTileBytes;
  };
  for (int i = 0; i < task.limbs; ++i) {
    for (int j = 0; j < task.limbs; ++j) {
      if (i + j < task.first() || i + j >= task.end()) continue;
      std::int32_t* sums = task.sums + (i + j) * kDiagonalSums;
      for (std::int64_t t = 0; t < task.tiles; ++t) {
        const std::int8_t *a = limb(task.a, i, t), *b = limb(task.b, j, t);
        for (std::int64_t row = 0; row < kPanelLines; ++row) {
          for (std::int64_t k = 0; k < kTileDepth; ++k) {
            const std::int32_t left = a[row * kTileDepth + k];
            const std::int8_t* right = b + k / 4 * kTileDepth + k % 4;
            for (std::int64_t column = 0; column < kPanelLines; ++column)
              sums[row * kPanelLines + column] += left * right[4 * column];
          }
        }
      }
    }
  }
}

#ifdef OZFP4_AMX_TILES
constexpr auto kRunAmx = limb_walk<HardwareTiles>;
#else
constexpr auto kRunAmx = run_portable;  // where AMX is not here
#endif

}  // namespace

// TDPBSSD multiplies a tile of 16 x 64 signed bytes by one of 64 x 16. The tiles are the same as those of the kernel for bytes.
const LimbUnit amx_limbs = {"AMX INT8", [] { return amx_kernel.is_here(); }, [] { amx_kernel.begin(); }, [] { amx_kernel.end(); },
                            kRunAmx};
const LimbUnit portable_limbs = {"plain loops", [] { return true; }, [] {}, [] {}, run_portable};

const LimbUnit* serving_limb_unit() { return !disabled && amx_limbs.is_here() ? &amx_limbs : nullptr; }

void disable_limb_unit(bool is_disabled) { disabled = is_disabled; }

}  // namespace ozfp4
