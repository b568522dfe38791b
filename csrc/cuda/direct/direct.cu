#include <algorithm>
#include <cmath>

#include "arith/multiples.hpp"
#include "cuda/direct/direct.hpp"
#include "cuda/direct/kernel.cuh"
#include "cuda/launch.hpp"

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

}  // namespace ozfp4::cuda
