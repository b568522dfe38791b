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

template <class T, int Parts>
__device__ Entry<T, Parts>& entry_at(const Mirrored& m, std::int64_t matrix, std::int64_t row, std::int64_t column) {
  char* const at = m.data + matrix * m.matrix_stride + row * m.row_stride + column * m.column_stride;
  return *reinterpret_cast<Entry<T, Parts>*>(at);
}

// Tiles of the rows [first, last) and columns [0, first), or up to the diagonal, whose transposes are above it.
template <class T, int Parts>
__global__ void __launch_bounds__(kSide* kRows) mirror_kernel(const __grid_constant__ Mirrored m) {
  using Own = Entry<T, Parts>;
  __shared__ Own tile[kSide][kSide + 1];
  const std::int64_t end = m.is_settled ? m.last : m.first;
  const std::int64_t across = (end + kSide - 1) / kSide, down = (m.last - m.first + kSide - 1) / kSide;
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (std::int64_t at = blockIdx.x; at < across * down * m.matrices; at += gridDim.x) {
    const std::int64_t matrix = at / (across * down), place = at % (across * down);
    const std::int64_t column = place % across * kSide, row = m.first + place / across * kSide;
    for (int i = y; i < kSide; i += kRows) {
      if (column + i < end && row + x < m.last) tile[i][x] = entry_at<T, Parts>(m, matrix, column + i, row + x);
    }
    __syncthreads();
    for (int i = y; i < kSide; i += kRows) {
      if (row + i < m.last && column + x < min(end, row + i)) {
        Own entry = tile[x][i];
        if constexpr (Parts == 2) {
          if (m.is_conjugated) entry.part[1] = conjugated(entry.part[1]);
        }
        entry_at<T, Parts>(m, matrix, row + i, column + x) = entry;
      }
    }
    __syncthreads();
  }
}

template <class T>
__global__ void settle_diagonal(const __grid_constant__ Mirrored m) {
  const std::int64_t rows = m.last - m.first, step = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t at = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; at < rows * m.matrices; at += step) {
    const std::int64_t row = m.first + at % rows;
    T& imaginary = entry_at<T, 2>(m, at / rows, row, row).part[1];
    if (magnitude_bits(imaginary) <= kInfinityBits<T>) imaginary = 0;  // NaN where the line is not finite
  }
}

// Calls body(T()), T being an unsigned integer of so many bytes.
template <class Body>
void with_word(int bytes, const Body& body) {
  switch (bytes) {
    case 1: return body(std::uint8_t());
    case 2: return body(std::uint16_t());
    case 4: return body(std::uint32_t());
    default: return body(std::uint64_t());
  }
}

}  // namespace

void launch_mirror(const Mirrored& matrix, cudaStream_t stream) {
  const std::int64_t end = matrix.is_settled ? matrix.last : matrix.first, rows = matrix.last - matrix.first;
  const std::int64_t tiles = ceil_div(end, kSide) * ceil_div(rows, kSide) * matrix.matrices;
  if (tiles == 0) return;
  LaunchConfig config;
  config.stage = Stage::reconstruct;
  config.detail = "the lower part of a Gram matrix";
  config.grid = dim3(static_cast<unsigned>(std::min(tiles, kMostBlocks)));
  config.block = dim3(kSide, kRows);
  config.stream = stream;
  if (!matrix.is_complex) {
    with_word(entry_bytes(matrix.part), [&](auto zero) { launch(mirror_kernel<decltype(zero), 1>, config, matrix); });
  } else {
    launch(matrix.part == ElementType::float64 ? mirror_kernel<double, 2> : mirror_kernel<float, 2>, config, matrix);
  }
  if (!matrix.is_settled || !matrix.is_conjugated) return;
  config.grid = dim3(static_cast<unsigned>(std::min(ceil_div(rows * matrix.matrices, 256), kMostBlocks)));
  config.block = dim3(256);
  launch(matrix.part == ElementType::float64 ? settle_diagonal<double> : settle_diagonal<float>, config, matrix);
}

}  // namespace ozfp4::cuda
