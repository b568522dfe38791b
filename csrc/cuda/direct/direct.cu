#include <algorithm>
#include <cmath>
#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/direct/direct.hpp"
#include "cuda/direct/kernel.cuh"
#include "cuda/direct/place.cuh"
#include "cuda/entries.cuh"
#include "cuda/launch.hpp"
#include "cuda/reconstruct/lines.cuh"

namespace ozfp4::cuda {
namespace {

using namespace direct;

static_assert(sizeof(Parameters) <= 4096, "the parameters of one kernel");
static_assert(kMostDirectInner <= kLimbedProducts<3> && kMostDirectInner <= kMostShortEntries, "sums and facts of all of K fit");

}  // namespace

bool can_multiply_directly(const ReconstructJob& job, const CapacityRule& capacity) {
  const ElementType type = job.result.type;
  const int most = capacity.accuracy == Accuracy::scaled ? capacity.bits : accuracy_bits(capacity.accuracy, capacity.precision);
  return is_float(type) && job.a.view.type == type && job.b.view.type == type && most <= kLimbedBits<4> - 1 &&
         capacity.accuracy != Accuracy::correct && job.a.view.inner <= kMostDirectInner && fits_direct_grid(job.result);
}

double microseconds_directly(const DeviceResult& result, std::int32_t inner, bool certifies, int multiprocessors) {
  const std::int64_t blocks = ceil_div(result.rows, kRows) * ceil_div(result.columns, kColumns) * result.stack.count();
  const auto rounds = static_cast<double>(ceil_div(blocks, multiprocessors));
  const double block = 2.5 + inner * (rounds > 1 ? 0.03 : inner <= kLimbedProducts<2> ? 0.055 : 0.09);
  return (certifies ? 8 : 4) + rounds * block * (!certifies ? 1 : rounds > 1 ? 1.6 : 1.15);
}

void launch_direct(const ReconstructJob& job, const CapacityRule& capacity, cudaStream_t stream,
                   const Certification* certification, const DeviceUpdate* update) {
  Parameters p{};
  p.job = job;
  p.capacity = capacity;
  if (certification != nullptr) p.certification = *certification;
  if (update != nullptr) p.update = *update;
  p.tiles_x = static_cast<std::int32_t>(direct_tiles_x(job.result));
  p.runs_along_k[0] = runs_along_k(job.a.view);
  p.runs_along_k[1] = runs_along_k(job.b.view);
  const LaunchConfig config = direct_config(job, stream);
  const bool is_double = job.result.type == ElementType::float64;
  const auto launch_that = [&](auto of_double, auto of_float) { launch(is_double ? of_double : of_float, config, p); };
  if (update != nullptr) {
    launch_that(direct_kernel<double, Makes::update>, direct_kernel<float, Makes::update>);
  } else if (certification != nullptr) {
    launch_that(direct_kernel<double, Makes::certified_product>, direct_kernel<float, Makes::certified_product>);
  } else {
    launch_that(direct_kernel<double, Makes::product>, direct_kernel<float, Makes::product>);
  }
}

// ---- Integers modulo 2^w: a thread sums the products of one entry in a word of 64 bits, which wraps as the result does ------

namespace {

struct IntegerParameters {
  ReconstructJob job;  // without residues and what scale leaves
  std::int32_t tiles_x;
  std::int32_t bytes;  // of an entry of the result
  bool runs_along_k[2];
};

// Words [first, first + count) of K of the lines, to shared memory; zeros beyond.
template <int Lines, int Pitch>
__device__ __forceinline__ void load_words(std::uint64_t (&to)[kChunk][Pitch], const Source& from, bool runs_along_k, int first,
                                           int count) {
  for (int i = static_cast<int>(threadIdx.x); i < Lines * kChunk; i += kThreads) {
    const int line = runs_along_k ? i / kChunk : i % Lines, k = runs_along_k ? i % kChunk : i / Lines;
    const char* at = from.data + line * from.outer_stride + (first + k) * from.inner_stride;
    to[k][line] = line < from.lines && k < count ? *reinterpret_cast<const std::uint64_t*>(at) : 0;
  }
}

__global__ void __launch_bounds__(kThreads) integers_kernel(const __grid_constant__ IntegerParameters p) {
  __shared__ std::uint64_t a_words[kChunk][kRows + 1], b_words[kChunk][kColumns + 1];
  let_next_kernel_start();
  wait_for_previous_kernel();
  const ReconstructJob& job = p.job;
  const Place place = place_of_block(p.tiles_x);
  const Lines lines(job, place);
  const Source a = source_of(job.a.view, lines.a_matrix, place.first_row, job.result.rows, kRows);
  const Source b = source_of(job.b.view, lines.b_matrix, place.first_column, job.result.columns, kColumns);
  const int inner = job.a.view.inner, row = static_cast<int>(threadIdx.x) / 32, column = static_cast<int>(threadIdx.x) % 32;
  std::uint64_t sum = 0;
#pragma unroll 1
  for (int first = 0; first < inner; first += kChunk) {
    const int count = min(kChunk, inner - first);
    __syncthreads();
    load_words<kRows>(a_words, a, p.runs_along_k[0], first, count);
    load_words<kColumns>(b_words, b, p.runs_along_k[1], first, count);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < count; ++k) sum += a_words[k][row] * b_words[k][column];
  }
  if (row >= a.lines || column >= b.lines) return;
  store_entry(job.result.data + lines.result_offset + (std::int64_t(place.first_row) + row) * job.result.row_stride +
                  (std::int64_t(place.first_column) + column) * job.result.column_stride,
              sum, p.bytes);
}

bool is_word(ElementType type) { return type == ElementType::int64 || type == ElementType::uint64; }

}  // namespace

bool can_multiply_integers_directly(const ReconstructJob& job) {
  return is_word(job.a.view.type) && is_word(job.b.view.type) && !is_float(job.result.type) &&
         job.a.view.inner <= kMostDirectInner && fits_direct_grid(job.result);
}

void launch_direct_integers(const ReconstructJob& job, cudaStream_t stream) {
  IntegerParameters p{};
  p.job = job;
  p.tiles_x = static_cast<std::int32_t>(direct_tiles_x(job.result));
  p.bytes = entry_bytes(job.result.type);
  p.runs_along_k[0] = runs_along_k(job.a.view);
  p.runs_along_k[1] = runs_along_k(job.b.view);
  launch(integers_kernel, direct_config(job, stream), p);
}

}  // namespace ozfp4::cuda
