// Blocks take a chunk of K of one line, or of 32 neighbouring lines where these are what lies side by side in memory; a second
// kernel joins the chunks.
#include <algorithm>
#include <cstdint>

#include "arith/accuracy/piece_facts.hpp"
#include "arith/line_sum.hpp"
#include "arith/multiples.hpp"
#include "cuda/launch.hpp"
#include "cuda/partial/facts.hpp"
#include "cuda/scale/line_source.cuh"

namespace ozfp4::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kAbreast = 32;                // lines of a block where they lie side by side
constexpr std::int64_t kLeastChunk = 2048;  // entries along K
constexpr std::int64_t kWantedBlocks = 2048, kMostChunks = 1024;

struct FactsArguments {
  const char* data;
  std::int64_t outer_stride, inner_stride;
  std::int32_t outer, inner;
  std::int32_t chunk;   // entries
  std::int32_t chunks;  // of a line
  PieceFacts* found;    // [chunk][line]
};

// Of the entries that a thread has seen.
struct ThreadFacts {
  LineFacts facts;
  LineSum sum;
  std::uint32_t special = kFinite;
};

template <class T>
__device__ __forceinline__ void add(ThreadFacts& all, T x) {
  const FloatBits<T> magnitude = magnitude_bits(x);
  if (magnitude >= kInfinityBits<T>) {
    all.special |= magnitude > kInfinityBits<T> ? kHasNan : kHasInfinity;
  } else if (magnitude != 0) {
    add_entry(all.facts, x);
    add_entry(all.sum, x);
  }
}

__device__ __forceinline__ ThreadFacts combine(const ThreadFacts& x, const ThreadFacts& y) {
  return {ozfp4::combine(x.facts, y.facts), ozfp4::combine(x.sum, y.sum), x.special | y.special};
}

// Lines: of a block, whose threads with equal threadIdx.x % Lines share one.
template <class T, int Lines>
__global__ void __launch_bounds__(kThreads) facts_kernel(const __grid_constant__ FactsArguments p) {
  constexpr int kShares = kThreads / Lines;
  __shared__ __align__(16) unsigned char bytes[kThreads * sizeof(ThreadFacts)];  // values of a class have no initialisers there
  auto* shared = reinterpret_cast<ThreadFacts*>(bytes);
  const int lane = static_cast<int>(threadIdx.x) % Lines, share = static_cast<int>(threadIdx.x) / Lines;
  const std::int64_t line = std::int64_t(blockIdx.x) * Lines + lane;
  ThreadFacts own;
  if (line < p.outer) {
    const char* source = p.data + line * p.outer_stride;
    const std::int64_t begin = std::int64_t(blockIdx.y) * p.chunk;
    const std::int64_t end = begin + p.chunk < p.inner ? begin + p.chunk : p.inner;
#pragma unroll 4
    for (std::int64_t k = begin + share; k < end; k += kShares)
      add(own, *reinterpret_cast<const T*>(source + k * p.inner_stride));
  }
  shared[threadIdx.x] = own;
  for (int distance = kShares / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (share < distance) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + distance * Lines]);
  }
  if (share == 0 && line < p.outer) {
    const ThreadFacts& all = shared[threadIdx.x];
    p.found[std::int64_t(blockIdx.y) * p.outer + line] = {all.facts, static_cast<double>(all.sum.sum),
                                                          static_cast<std::uint8_t>(all.special)};
  }
}

__global__ void __launch_bounds__(kThreads)
    join_kernel(const PieceFacts* found, std::int32_t lines, std::int32_t chunks, std::int64_t* words) {
  const std::int64_t line = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (line >= lines) return;
  PieceFacts all = found[line];
  for (std::int64_t chunk = 1; chunk < chunks; ++chunk) all = ozfp4::combine(all, found[chunk * lines + line]);
  to_words(all, words + line * kPieceWords);
}

// How the lines lie, and so how many of them a block takes.
int lines_of_block(const DeviceOperand& operand) { return runs_along_k(operand) ? 1 : kAbreast; }

std::int64_t chunks_of(const DeviceOperand& operand) {
  const std::int64_t groups = ceil_div(operand.outer, lines_of_block(operand));
  const std::int64_t most = std::min(kMostChunks, ceil_div(operand.inner, kLeastChunk));
  return std::clamp<std::int64_t>(ceil_div(kWantedBlocks, groups), 1, most);
}

template <class T>
void launch_facts(const FactsArguments& arguments, int lines, const LaunchConfig& config) {
  lines == 1 ? launch(facts_kernel<T, 1>, config, arguments) : launch(facts_kernel<T, kAbreast>, config, arguments);
}

}  // namespace

std::int64_t piece_facts_scratch(const DeviceOperand& operand) {
  return chunks_of(operand) * operand.outer * static_cast<std::int64_t>(sizeof(PieceFacts));
}

void launch_piece_facts(const DeviceOperand& operand, std::int64_t* words, void* scratch, cudaStream_t stream) {
  const int lines = lines_of_block(operand);
  FactsArguments arguments{operand.data,
                           operand.outer_stride,
                           operand.inner_stride,
                           operand.outer,
                           operand.inner,
                           0,
                           0,
                           static_cast<PieceFacts*>(scratch)};
  const std::int64_t chunk = ceil_div(operand.inner, chunks_of(operand));
  arguments.chunk = static_cast<std::int32_t>(chunk);
  arguments.chunks = static_cast<std::int32_t>(ceil_div(operand.inner, chunk));
  LaunchConfig config;
  config.stage = Stage::scale;
  config.detail = "facts of pieces of lines";
  config.grid = dim3(static_cast<unsigned>(ceil_div(operand.outer, lines)), static_cast<unsigned>(arguments.chunks));
  config.block = dim3(kThreads);
  config.stream = stream;
  operand.type == ElementType::float64 ? launch_facts<double>(arguments, lines, config)
                                       : launch_facts<float>(arguments, lines, config);
  config.grid = dim3(static_cast<unsigned>(ceil_div(operand.outer, kThreads)));
  const PieceFacts* found = arguments.found;
  launch(join_kernel, config, found, arguments.outer, arguments.chunks, words);
}

}  // namespace ozfp4::cuda
