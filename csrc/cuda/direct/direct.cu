#include <algorithm>
#include <cmath>

#include "arith/multiples.hpp"
#include "cuda/direct/direct.hpp"
#include "cuda/direct/kernel.cuh"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

using namespace direct;

constexpr std::int64_t kMostMatrices = 65535;  // of a grid's second extent
static_assert(kMostDirectInner <= kLimbedProducts<3> && kMostDirectInner <= kMostShortEntries, "sums and facts of all of K fit");

bool runs_along_k(const DeviceOperand& operand) { return std::abs(operand.inner_stride) < std::abs(operand.outer_stride); }

}  // namespace

bool can_multiply_directly(const ReconstructJob& job, const CapacityRule& capacity) {
  const ElementType type = job.result.type;
  const int most = capacity.accuracy == Accuracy::scaled ? capacity.bits : accuracy_bits(capacity.precision);
  return is_float(type) && job.a.view.type == type && job.b.view.type == type && most <= kLimbedBits<4> - 1 &&
         capacity.accuracy != Accuracy::correct && job.a.view.inner <= kMostDirectInner &&
         job.result.stack.count() <= kMostMatrices &&
         ceil_div(job.result.rows, kRows) * ceil_div(job.result.columns, kColumns) <= INT32_MAX;
}

WholeTimes whole_times(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t matrices, bool certifies,
                       int multiprocessors) {
  // Microseconds on an H200, fitted to benchmarks/small.py; other devices are taken to differ in both alike.
  const std::int64_t blocks = ceil_div(rows, kRows) * ceil_div(columns, kColumns) * matrices;
  const auto rounds = static_cast<double>(ceil_div(blocks, multiprocessors));
  const auto k = static_cast<double>(inner);
  const double block = 2.5 + k * (rounds > 1 ? 0.03 : inner <= kLimbedProducts<2> ? 0.055 : 0.09);
  const double direct = (certifies ? 8 : 4) + rounds * block * (!certifies ? 1 : rounds > 1 ? 1.6 : 1.15);
  const auto tiles = static_cast<double>(ceil_div(rows, 64) * ceil_div(columns, 64) * matrices);
  const double stages = (certifies ? 19.5 : 14) + tiles * (0.035 + 0.0017 * k) * (certifies ? 1.5 : 1);
  return {rounds > 32 ? INFINITY : direct, stages};  // nobody has measured more
}

void launch_direct(const ReconstructJob& job, const CapacityRule& capacity, cudaStream_t stream,
                   const Certification* certification) {
  Parameters p{};
  p.job = job;
  p.capacity = capacity;
  if (certification != nullptr) p.certification = *certification;
  p.tiles_x = static_cast<std::int32_t>(ceil_div(job.result.columns, kColumns));
  p.runs_along_k[0] = runs_along_k(job.a.view);
  p.runs_along_k[1] = runs_along_k(job.b.view);
  LaunchConfig config;
  config.stage = Stage::direct;
  config.grid =
      dim3(static_cast<unsigned>(p.tiles_x * ceil_div(job.result.rows, kRows)), static_cast<unsigned>(job.result.stack.count()));
  config.block = dim3(kThreads);
  config.overlap_previous = job.overlap_previous;
  config.stream = stream;
  const bool is_double = job.result.type == ElementType::float64;
  if (certification != nullptr) {
    launch(is_double ? direct_kernel<double, true> : direct_kernel<float, true>, config, p);
  } else {
    launch(is_double ? direct_kernel<double, false> : direct_kernel<float, false>, config, p);
  }
}

}  // namespace ozfp4::cuda
