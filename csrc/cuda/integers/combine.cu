#include <algorithm>
#include <type_traits>

#include "arith/multiples.hpp"
#include "cuda/integers/combine.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = std::int64_t(1) << 20;

template <class T>
__global__ void __launch_bounds__(kThreads) combine_kernel(const __grid_constant__ IntegerSum sum) {
  const std::int64_t across = (sum.columns + kThreads - 1) / kThreads;
  for (std::int64_t at = blockIdx.x; at < across * sum.rows; at += gridDim.x) {
    const std::int64_t row = at / across, column = at % across * kThreads + threadIdx.x;
    if (column >= sum.columns) continue;
    T& place = reinterpret_cast<T*>(sum.c + row * sum.stride)[column];
    std::uint64_t value = 0;
    if (sum.x != nullptr) value = sum.alpha * reinterpret_cast<const T*>(sum.x)[row * sum.columns + column];
    if (sum.beta != 0) value += sum.beta * place;
    place = static_cast<T>(value);
  }
}

}  // namespace

void launch_combine(const IntegerSum& sum, cudaStream_t stream) {
  LaunchConfig config;
  config.stage = Stage::reconstruct;
  config.detail = "integers with factors";
  config.grid = dim3(static_cast<unsigned>(std::min(ceil_div(sum.columns, kThreads) * sum.rows, kMostBlocks)));
  config.block = dim3(kThreads);
  config.stream = stream;
  // What wraps is the same of signed and unsigned integers.
  with_integer(sum.type, [&](auto zero) { launch(combine_kernel<std::make_unsigned_t<decltype(zero)>>, config, sum); });
}

}  // namespace ozfp4::cuda
