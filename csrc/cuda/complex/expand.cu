#include <algorithm>

#include "arith/multiples.hpp"
#include "cuda/complex/expand.hpp"
#include "cuda/complex/pairs.cuh"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

constexpr int kTile = 32;  // entries along K and along N
constexpr int kLines = 8;  // that a block copies at a time
constexpr std::int64_t kMostBlocks = 1 << 20;

// Tiles go through shared memory, read along whatever lies closer together and written along K.
template <class T>
__global__ void __launch_bounds__(kTile* kLines)
    expand_kernel(const ComplexMatrices from, Two<T>* to, std::int64_t tiles_k, std::int64_t tiles_n, bool reads_along_k) {
  __shared__ Two<T> tile[kTile][kTile + 1];  // [n][k]
  const auto* data = static_cast<const Two<T>*>(from.data);
  const int lane = static_cast<int>(threadIdx.x), line = static_cast<int>(threadIdx.y);
  for (std::int64_t index = blockIdx.x; index < tiles_k * tiles_n * from.matrices; index += gridDim.x) {
    const std::int64_t of_matrix = index / tiles_k, matrix = of_matrix / tiles_n;
    const std::int64_t k0 = (index - of_matrix * tiles_k) * kTile, n0 = (of_matrix - matrix * tiles_n) * kTile;
    for (int i = line; i < kTile; i += kLines) {
      const int k = reads_along_k ? lane : i, n = reads_along_k ? i : lane;
      if (k0 + k >= from.k || n0 + n >= from.n) continue;
      Two<T> x = data[matrix * from.matrix_stride + (k0 + k) * from.k_stride + (n0 + n) * from.n_stride];
      if (from.is_conjugated) x.im = -x.im;
      if (from.is_turned) x = {-x.im, x.re};
      tile[n][k] = x;
    }
    __syncthreads();
    for (int i = line; i < kTile; i += kLines) {
      if (k0 + lane >= from.k || n0 + i >= from.n) continue;
      const Two<T> x = tile[i][lane];
      Two<T>* column = to + 2 * (matrix * from.n + n0 + i) * from.k + k0 + lane;
      column[0] = {x.re, -x.im};
      column[from.k] = {x.im, x.re};
    }
    __syncthreads();
  }
}

template <class T>
void launch_type(const ComplexMatrices& from, void* to, cudaStream_t stream) {
  const std::int64_t tiles_k = ceil_div(from.k, kTile), tiles_n = ceil_div(from.n, kTile);
  const auto length = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  const bool reads_along_k = length(from.k_stride) < length(from.n_stride);
  LaunchConfig config;
  config.stage = Stage::encode;
  config.detail = "columns of a complex operand";
  config.grid = dim3(static_cast<unsigned>(std::min(tiles_k * tiles_n * from.matrices, kMostBlocks)));
  config.block = dim3(kTile, kLines);
  config.stream = stream;
  launch(expand_kernel<T>, config, from, static_cast<Two<T>*>(to), tiles_k, tiles_n, reads_along_k);
}

}  // namespace

void launch_expand(const ComplexMatrices& from, void* to, cudaStream_t stream) {
  from.type == ElementType::float64 ? launch_type<double>(from, to, stream) : launch_type<float>(from, to, stream);
}

}  // namespace ozfp4::cuda
