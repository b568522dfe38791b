#include <algorithm>

#include "arith/exact/conjugate.hpp"
#include "arith/float_fields.hpp"
#include "arith/multiples.hpp"
#include "cuda/gram/mirror.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

constexpr int kSide = 32, kRows = 8;  // of a tile, and of the threads that move it
constexpr std::int64_t kMostBlocks = std::int64_t(1) << 30;

// The parts of an entry as they lie.
template <class T, int Parts>
struct Entry {
  T part[Parts];
};

// Tiles of the rows [first, last) and columns [0, first), or up to the diagonal, whose transposes are above it.
template <class T, int Parts>
__global__ void __launch_bounds__(kSide* kRows) mirror_kernel(const __grid_constant__ Mirrored m) {
  using Own = Entry<T, Parts>;
  __shared__ Own tile[kSide][kSide + 1];
  const std::int64_t end = m.is_settled ? m.last : m.first;
  const std::int64_t across = (end + kSide - 1) / kSide, down = (m.last - m.first + kSide - 1) / kSide;
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (std::int64_t at = blockIdx.x; at < across * down; at += gridDim.x) {
    const std::int64_t column = at % across * kSide, row = m.first + at / across * kSide;
    for (int i = y; i < kSide; i += kRows) {
      if (column + i < end && row + x < m.last) {
        tile[i][x] = reinterpret_cast<const Own*>(m.data + (column + i) * m.stride)[row + x];
      }
    }
    __syncthreads();
    for (int i = y; i < kSide; i += kRows) {
      if (row + i < m.last && column + x < min(end, row + i)) {
        Own entry = tile[x][i];
        if (Parts == 2) entry.part[Parts - 1] = conjugated(entry.part[Parts - 1]);
        reinterpret_cast<Own*>(m.data + (row + i) * m.stride)[column + x] = entry;
      }
    }
    __syncthreads();
  }
}

template <class T>
__global__ void settle_diagonal(const __grid_constant__ Mirrored m) {
  const std::int64_t row = m.first + blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
  if (row >= m.last) return;
  T& imaginary = reinterpret_cast<Entry<T, 2>*>(m.data + row * m.stride)[row].part[1];
  if (magnitude_bits(imaginary) <= kInfinityBits<T>) imaginary = 0;  // NaN where the line is not finite
}

}  // namespace

void launch_mirror(const Mirrored& matrix, cudaStream_t stream) {
  const std::int64_t end = matrix.is_settled ? matrix.last : matrix.first, rows = matrix.last - matrix.first;
  const std::int64_t tiles = ceil_div(end, kSide) * ceil_div(rows, kSide);
  if (tiles == 0) return;
  LaunchConfig config;
  config.stage = Stage::reconstruct;
  config.detail = "the lower part of a Gram matrix";
  config.grid = dim3(static_cast<unsigned>(std::min(tiles, kMostBlocks)));
  config.block = dim3(kSide, kRows);
  config.stream = stream;
  if (matrix.part == ElementType::float64) {
    launch(matrix.is_complex ? mirror_kernel<double, 2> : mirror_kernel<double, 1>, config, matrix);
  } else {
    launch(matrix.is_complex ? mirror_kernel<float, 2> : mirror_kernel<float, 1>, config, matrix);
  }
  if (!matrix.is_settled) return;
  config.grid = dim3(static_cast<unsigned>(ceil_div(rows, 256)));
  config.block = dim3(256);
  launch(matrix.part == ElementType::float64 ? settle_diagonal<double> : settle_diagonal<float>, config, matrix);
}

}  // namespace ozfp4::cuda
