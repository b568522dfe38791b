#include <algorithm>

#include "arith/multiples.hpp"
#include "cuda/integers/combine.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = std::int64_t(1) << 20;

__device__ char* place_of(const IntegerMatrices& x, std::int64_t matrix, std::int64_t row, std::int64_t column) {
  return x.data + matrix * x.matrix_stride + row * x.row_stride + column * x.column_stride;
}

template <class T>
__device__ std::uint64_t word_of(const char* entry) {
  return static_cast<std::uint64_t>(*reinterpret_cast<const T*>(entry));
}

__device__ std::uint64_t load_word(ElementType type, const char* entry) {
  switch (type) {
    case ElementType::int8: return word_of<std::int8_t>(entry);
    case ElementType::uint8: return word_of<std::uint8_t>(entry);
    case ElementType::int16: return word_of<std::int16_t>(entry);
    case ElementType::uint16: return word_of<std::uint16_t>(entry);
    case ElementType::int32: return word_of<std::int32_t>(entry);
    case ElementType::uint32: return word_of<std::uint32_t>(entry);
    default: return word_of<std::uint64_t>(entry);
  }
}

// The lower bits, which are the same of signed and unsigned integers.
__device__ void store_word(ElementType type, char* entry, std::uint64_t word) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8: *reinterpret_cast<std::uint8_t*>(entry) = static_cast<std::uint8_t>(word); return;
    case ElementType::int16:
    case ElementType::uint16: *reinterpret_cast<std::uint16_t*>(entry) = static_cast<std::uint16_t>(word); return;
    case ElementType::int32:
    case ElementType::uint32: *reinterpret_cast<std::uint32_t*>(entry) = static_cast<std::uint32_t>(word); return;
    default: *reinterpret_cast<std::uint64_t*>(entry) = word;
  }
}

__global__ void __launch_bounds__(kThreads) combine_kernel(const __grid_constant__ IntegerSum sum) {
  const std::int64_t across = (sum.columns + kThreads - 1) / kThreads, lines = sum.rows * sum.matrices;
  for (std::int64_t at = blockIdx.x; at < across * lines; at += gridDim.x) {
    const std::int64_t line = at / across, column = at % across * kThreads + threadIdx.x;
    if (column >= sum.columns) continue;
    const std::int64_t matrix = line / sum.rows, row = line % sum.rows;
    std::uint64_t word = 0;
    if (sum.x.data != nullptr) word = sum.alpha * load_word(sum.x.type, place_of(sum.x, matrix, row, column));
    if (sum.beta != 0) word += sum.beta * load_word(sum.addend.type, place_of(sum.addend, matrix, row, column));
    store_word(sum.to.type, place_of(sum.to, matrix, row, column), sum.is_truth ? word != 0 : word);
  }
}

}  // namespace

void launch_combine(const IntegerSum& sum, cudaStream_t stream) {
  LaunchConfig config;
  config.stage = Stage::reconstruct;
  config.detail = "integers with factors";
  const std::int64_t blocks = ceil_div(sum.columns, kThreads) * sum.rows * sum.matrices;
  config.grid = dim3(static_cast<unsigned>(std::min(blocks, kMostBlocks)));
  config.block = dim3(kThreads);
  config.stream = stream;
  launch(combine_kernel, config, sum);
}

}  // namespace ozfp4::cuda
