#include "cuda/complex/copy.hpp"
#include "cuda/complex/pairs.cuh"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kPairThreads)
    copy_kernel(const PairExtents extents, const PairMatrices from, const PairMatrices to, bool is_turned) {
  for_pairs(extents, [&](std::int64_t matrix, std::int64_t row, std::int64_t column, bool is_inside) {
    if (!is_inside) return;
    const Two<T> x = load_pair<T>(place_of(from, matrix, row, column));
    store_pair<T>(place_of(to, matrix, row, column), is_turned ? Two<T>{-x.im, x.re} : x);
  });
}

}  // namespace

void launch_copy(const PairExtents& extents, const PairMatrices& from, const PairMatrices& to, bool is_turned,
                 cudaStream_t stream) {
  const LaunchConfig config = config_of_pairs(extents, "copies of complex matrices", stream);
  launch(from.part == ElementType::float64 ? copy_kernel<double> : copy_kernel<float>, config, extents, from, to, is_turned);
}

}  // namespace ozfp4::cuda
