// The kernel in plain loops: what the others compute, on any CPU.

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/bytes/tile.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// One panel of A with one of B. Sums wrap: unsigned.
OZFP4_VECTORISED void multiply_panels(const std::uint8_t* a, const std::int8_t* b, std::int64_t tiles, std::int32_t* c,
                                      std::int64_t c_pitch) {
  for (std::int64_t row = 0; row < kPanelLines; ++row) {
    std::uint32_t sums[kPanelLines];
    for (std::int64_t j = 0; j < kPanelLines; ++j) sums[j] = static_cast<std::uint32_t>(c[row * c_pitch + j]);
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::uint8_t* line = a + t * kTileBytes + row * kTileDepth;
      const std::int8_t* tile = b + t * kTileBytes;
      for (std::int64_t k = 0; k < kTileDepth; ++k) {
        for (std::int64_t j = 0; j < kPanelLines; ++j) {
          sums[j] += static_cast<std::uint32_t>(static_cast<std::int32_t>(line[k]) * tile[(k / 4 * kPanelLines + j) * 4 + k % 4]);
        }
      }
    }
    for (std::int64_t j = 0; j < kPanelLines; ++j) c[row * c_pitch + j] = static_cast<std::int32_t>(sums[j]);
  }
}

void run(const ByteTask& task) {
  for (std::int64_t j = 0; j < task.columns; ++j) {
    for (std::int64_t i = 0; i < task.rows; ++i) {
      multiply_panels(task.a + i * task.a_pitch, task.b + j * task.b_pitch, task.tiles,
                      task.c + i * kPanelLines * task.c_pitch + j * kPanelLines, task.c_pitch);
    }
  }
}

}  // namespace

const ByteKernel portable_bytes_kernel = {"bytes in plain loops", "portable", [] { return true; }, [] {}, [] {}, run};

}  // namespace ozfp4
