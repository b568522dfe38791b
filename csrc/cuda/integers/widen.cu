#include <algorithm>

#include "arith/multiples.hpp"
#include "arith/nearest_residue.hpp"
#include "cuda/integers/widen.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = std::int64_t(1) << 20;

template <class T>
__global__ void __launch_bounds__(kThreads) widen_kernel(const __grid_constant__ IntegerLines from, std::int64_t* to) {
  const std::int64_t across = (from.entries + kThreads - 1) / kThreads, lines = from.lines * from.matrices;
  for (std::int64_t at = blockIdx.x; at < across * lines; at += gridDim.x) {
    const std::int64_t line = at / across, entry = at % across * kThreads + threadIdx.x;
    if (entry >= from.entries) continue;
    const char* const own = from.data + line / from.lines * from.matrix_stride + line % from.lines * from.line_stride;
    const T x = *reinterpret_cast<const T*>(own + entry * from.entry_stride);
    to[line * from.entries + entry] = from.modulus == 0 ? static_cast<std::int64_t>(x) : nearest_residue(x, from.modulus);
  }
}

}  // namespace

void launch_widen(const IntegerLines& from, char* to, cudaStream_t stream) {
  LaunchConfig config;
  config.stage = Stage::encode;
  config.detail = "integers of 64 bits";
  const std::int64_t blocks = ceil_div(from.entries, kThreads) * from.lines * from.matrices;
  config.grid = dim3(static_cast<unsigned>(std::min(blocks, kMostBlocks)));
  config.block = dim3(kThreads);
  config.stream = stream;
  auto* const words = reinterpret_cast<std::int64_t*>(to);
  with_integer(from.type, [&](auto zero) { launch(widen_kernel<decltype(zero)>, config, from, words); });
}

}  // namespace ozfp4::cuda
