#include <algorithm>
#include <stdexcept>
#include <string>

#include "arith/add_bytes.hpp"
#include "arith/multiples.hpp"
#include "cuda/launch.hpp"
#include "cuda/multiply/accumulate.hpp"

namespace ozfp4::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 16;

struct BytePlanes {
  std::uint32_t* sum;
  const std::uint32_t* part;
  std::int64_t words;  // of a plane
  int planes;
  bool has_carries;
  std::uint16_t modulus[kMaxUnits];
};

// Every thread takes four entries, plane after plane, the lowest digit first. The last digit is a byte in two's complement: its
// modulus is 256, and its carry goes nowhere.
__global__ void __launch_bounds__(kThreads) add_bytes_kernel(const __grid_constant__ BytePlanes p) {
  const std::int64_t step = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < p.words; i += step) {
    std::uint32_t carry = 0;
    for (int plane = 0; plane < p.planes; ++plane) {
      const std::int64_t at = plane * p.words + i;
      if (!p.has_carries) carry = 0;
      p.sum[at] = add_bytes(p.sum[at], p.part[at], p.modulus[plane], carry);
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    add_words_kernel(WordMatrices<std::uint32_t> sum, WordMatrices<const std::uint32_t> part, std::int64_t lines,
                     std::int32_t rows, std::int32_t columns) {
  for (std::int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    const std::int64_t matrix = line / rows, row = line % rows;
    std::uint32_t* to = sum.data + matrix * sum.matrix_stride + row * sum.pitch;
    const std::uint32_t* from = part.data + matrix * part.matrix_stride + row * part.pitch;
    for (std::int64_t column = threadIdx.x; column < columns; column += kThreads) to[column] += from[column];
  }
}

LaunchConfig config_of(unsigned blocks, cudaStream_t stream) {
  LaunchConfig config;
  config.stage = Stage::accumulate;
  config.grid = dim3(blocks);
  config.block = dim3(kThreads);
  config.stream = stream;
  return config;
}

}  // namespace

void launch_add_bytes(const Schedule& schedule, std::uint8_t* sum, const std::uint8_t* part, std::int64_t plane_bytes,
                      cudaStream_t stream) {
  BytePlanes p{};
  p.sum = reinterpret_cast<std::uint32_t*>(sum);
  p.part = reinterpret_cast<const std::uint32_t*>(part);
  p.words = plane_bytes / 4;
  p.planes = schedule.out_planes;
  if (p.planes > kMaxUnits || plane_bytes % 4 != 0) {
    throw std::invalid_argument("accumulate: " + std::to_string(p.planes) + " planes of " + std::to_string(plane_bytes) +
                                " bytes; it takes at most " + std::to_string(kMaxUnits) + " of a multiple of 4");
  }
  for (const GemmStep& step : schedule.steps) {
    if (step.action != Action::store_residue && step.action != Action::store_digit) continue;
    p.modulus[step.out_plane] = static_cast<std::uint16_t>(step.modulus);
    p.has_carries = p.has_carries || step.action == Action::store_digit;
  }
  const auto blocks = static_cast<unsigned>(std::min(ceil_div(p.words, kThreads), kMostBlocks));
  launch(add_bytes_kernel, config_of(blocks, stream), p);
}

void launch_add_words(const WordMatrices<std::uint32_t>& sum, const WordMatrices<const std::uint32_t>& part,
                      std::int64_t matrices, std::int32_t rows, std::int32_t columns, cudaStream_t stream) {
  const std::int64_t lines = matrices * rows;
  const auto blocks = static_cast<unsigned>(std::min(lines, kMostBlocks));
  launch(add_words_kernel, config_of(blocks, stream), sum, part, lines, rows, columns);
}

}  // namespace ozfp4::cuda
