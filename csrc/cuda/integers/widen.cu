#include <algorithm>

#include "arith/multiples.hpp"
#include "cuda/integers/widen.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = std::int64_t(1) << 20;

template <class T>
__global__ void __launch_bounds__(kThreads) widen_kernel(const __grid_constant__ IntegerLines from, std::int64_t* to) {
  const std::int64_t across = (from.entries + kThreads - 1) / kThreads;
  for (std::int64_t at = blockIdx.x; at < across * from.lines; at += gridDim.x) {
    const std::int64_t line = at / across, entry = at % across * kThreads + threadIdx.x;
    if (entry < from.entries) to[line * from.entries + entry] = reinterpret_cast<const T*>(from.data + line * from.stride)[entry];
  }
}

}  // namespace

void launch_widen(const IntegerLines& from, char* to, cudaStream_t stream) {
  LaunchConfig config;
  config.stage = Stage::encode;
  config.detail = "integers of 64 bits";
  config.grid = dim3(static_cast<unsigned>(std::min(ceil_div(from.entries, kThreads) * from.lines, kMostBlocks)));
  config.block = dim3(kThreads);
  config.stream = stream;
  auto* const words = reinterpret_cast<std::int64_t*>(to);
  with_integer(from.type, [&](auto zero) { launch(widen_kernel<decltype(zero)>, config, from, words); });
}

}  // namespace ozfp4::cuda
