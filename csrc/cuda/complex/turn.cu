#include "cuda/complex/pairs.cuh"
#include "cuda/complex/turn.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kPairThreads) turn_kernel(const __grid_constant__ PairMatrices from, Two<T>* to) {
  for_pairs(from.matrices * from.rows, from.columns, [&](std::int64_t line, std::int64_t column, bool is_inside) {
    if (!is_inside) return;
    const std::int64_t matrix = line / from.rows, row = line - matrix * from.rows;
    const Two<T> x = reinterpret_cast<const Two<T>*>(from.data + matrix * from.matrix_stride + row * from.stride)[column];
    to[line * from.columns + column] = {-x.im, x.re};
  });
}

template <class T>
void launch_type(const PairMatrices& from, void* to, cudaStream_t stream) {
  const LaunchConfig config = config_of_pairs(from.matrices * from.rows, from.columns, "i times C", stream);
  launch(turn_kernel<T>, config, from, static_cast<Two<T>*>(to));
}

}  // namespace

void launch_turn(const PairMatrices& from, void* to, cudaStream_t stream) {
  from.part == ElementType::float64 ? launch_type<double>(from, to, stream) : launch_type<float>(from, to, stream);
}

}  // namespace ozfp4::cuda
