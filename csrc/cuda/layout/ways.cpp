#include "cuda/layout/ways.hpp"

#include <algorithm>
#include <cmath>

#include "arith/multiples.hpp"
#include "cuda/direct/direct.hpp"
#include "cuda/multiply/cost.hpp"
#include "cuda/thin/thin.hpp"
#include "cuda/tiles/tiles.hpp"

namespace ozfp4::cuda {
namespace {

// ---- What the stages take ----------------------------------------------------------------------------------------------

// Fitted to 170 products of 15 moduli (benchmarks/choice.py, stacks, short K, few lines, small results). Their median is off by 3
// %, and none near another way's time by more than 10 %.
constexpr double kLaunches = 9.2, kCertifiedLaunches = 5.5;  // microseconds
constexpr double kComplexLaunches = 8;                       // three more, none of which waits for a full device
constexpr double kClocks = 1300;  // of multiply's model in a microsecond: between other stages, from planes that others wrote
// Microseconds for a million: entries of the operands; the first 8 of them, which caches do not keep from being written; entries
// that scale alone reads again. Then lines, of which a block takes one at least; entries of the result, and where its rows do not
// fill tiles.
constexpr double kEntries = 3.73, kFirstEntries = 0.93, kReadAgain = 1.93, kLines = 240, kResults = 5.5, kRaggedResults = 2.3;
constexpr double kCertifiedEntries = 0.6, kCertifiedLines = 400, kCertifiedResults = 0.9;
constexpr std::int32_t kLongestAtOnce = 8192;  // K of scale and encode in one launch
constexpr double kBytesOfFit = 8 + 15;         // of an entry, read and written

// The time that tiles take beyond their model where warp-level instructions, which multiply all pairs of limbs, are slower than
// on an H200.
double microseconds_of_slower_tiles(int limbs, const Turn& turn, const Gpu& gpu) {
  const double products =
      static_cast<double>(turn.result.stack.count()) * turn.result.rows * turn.result.columns * turn.a.inner * limbs * limbs;
  const double clocks = products / gpu.multiprocessors * (1 / mma_sync::byte_rate(gpu.capability) - 1 / mma_sync::byte_rate(90));
  return clocks / kClocks;
}

// The part of the schedule that multiply does for random operands: their norms are below the bound by some bits, and certified
// products have moduli to spare for others.
GemmShape used(GemmShape shape, const CudaPlan& plan) {
  if (!plan.plan.prefix_allowed) return shape;
  const double k = std::log2(std::max(plan.k, 1)), bits = plan.promise.counts_rounded() ? plan.promise.precision : plan.bits;
  const double share = std::min(1.0, (2 * bits + k + 1 - std::min(4.0, k / 3)) / (2 * plan.bits + k + 1));
  for (int* count : {&shape.units, &shape.steps, &shape.folds})
    *count = std::max(1, static_cast<int>(std::lround(share * *count)));
  return shape;
}

// ---- The choice --------------------------------------------------------------------------------------------------------

// Times of the ways that `direct` allows and that have kernels for the product; INFINITY for all others and for the stages.
OfWays times_without_planes(const CudaPlan& plan, const CudaProduct& product, const Turn& turn, const Gpu& gpu,
                            WithoutPlanes direct) {
  OfWays times{INFINITY, INFINITY, INFINITY, INFINITY};
  const Promise& promise = plan.promise;
  if (direct == WithoutPlanes::never || plan.integer || promise.modulus != 0 || promise.second != Second::none ||
      product.stored_a.exists() || product.stored_b.exists()) {
    return times;
  }
  const ReconstructJob job = views_of(turn);
  const CapacityRule rule{plan.bits, promise.accuracy, promise.precision};
  const bool certifies = promise.certifies();
  const auto may_be = [&](WithoutPlanes kind) { return direct == kind || direct == WithoutPlanes::where_it_pays; };
  if (may_be(WithoutPlanes::direct) &&
      (promise.has_integers ? can_multiply_integers_directly(job) : can_multiply_directly(job, rule))) {
    times.direct = microseconds_directly(turn.result, turn.a.inner, certifies, gpu.multiprocessors);
  }
  if (promise.has_integers || promise.updates || plan.plan.is_complex) return times;  // they have cuda/direct alone
  if (may_be(WithoutPlanes::thin) && can_multiply_thinly(job, rule)) {
    times.thin = microseconds_of_thin(job, certifies, gpu.multiprocessors);
  }
  if (may_be(WithoutPlanes::tiles) && can_multiply_tiles(plan.tile_limbs, job, rule)) {
    const TileDevice device{gpu.multiprocessors, gpu.shared_bytes};
    times.tiles = microseconds_of_tiles(plan.tile_limbs, turn.result, turn.a.inner, certifies, device) +
                  (certifies ? chain_microseconds(turn, true) : 0);
    // Other devices lose as much in the stages.
    if (gpu.has_tcgen05()) times.tiles += microseconds_of_slower_tiles(plan.tile_limbs, turn, gpu);
  }
  return times;
}

}  // namespace

double chain_microseconds(const Turn& turn, bool by_tiles) {
  const std::int32_t k = turn.a.inner;
  const double pieces =  // 16 x 32 entries of the result
      static_cast<double>(ceil_div(turn.a.outer, 16) * ceil_div(turn.b.outer, 32) * turn.result.stack.count());
  if (k <= 2) return 0.003 * pieces;
  if (k < 16) return 0.028 * pieces;
  const double at_16 = by_tiles ? 25 + 0.012 * pieces : 35 + 0.009 * pieces;
  return at_16 * std::max(32 - k, 0) / 16;
}

double microseconds_of_stages(const CudaPlan& plan, const Turn& turn, const Gpu& gpu) {
  const int width = plan.plan.width();  // of columns and of entries along K, for one of a complex plan
  const std::int64_t matrices = turn.result.stack.count();
  const Schedule& schedule = plan.schedule;
  GemmShape shape = gemm_shape(schedule, turn.a.outer, std::max(turn.b.outer / width, 1), std::max(turn.a.inner / width, 1),
                               std::max<std::int64_t>(matrices, 1), true, gpu);
  shape = used(shape, plan);
  // Else the kernel of the device that the ways were measured on.
  const Kernel kernel = gpu.has_tcgen05() ? plan.kernel : Kernel::hopper;
  const double multiply = choose_tile(shape, kernel, schedule.element, gpu, {}).predicted_clocks / kClocks;

  const bool certifies = plan.promise.certifies();
  // Each entry of a complex B stands twice in the real one.
  const double count = static_cast<double>(matrices) * 1e-6 * (plan.plan.is_complex ? 0.75 : 1);
  const double lines = (static_cast<double>(turn.a.outer) + turn.b.outer) * count, entries = lines * turn.a.inner;
  const double results = static_cast<double>(turn.a.outer) * turn.b.outer * count;
  const double share = static_cast<double>(shape.units) / schedule.unit_count();
  const double encoded = (8 + share * schedule.planes / width) / kBytesOfFit,
               reconstructed = (8 + share * schedule.out_planes / width) / kBytesOfFit;
  const double of_entries = encoded * (kEntries * entries + kFirstEntries * std::min(entries, 8.0)) +
                            (turn.a.inner > kLongestAtOnce ? kReadAgain * entries : 0) + kLines * lines;
  const double of_results = reconstructed * results * (kResults + (turn.b.outer % 128 != 0 ? kRaggedResults : 0));
  const double certified = certifies ? kCertifiedLaunches + kCertifiedEntries * entries + kCertifiedLines * lines +
                                           kCertifiedResults * results + chain_microseconds(turn, false)
                                     : 0;
  return kLaunches + (plan.plan.is_complex ? kComplexLaunches : 0) + of_entries + multiply + of_results + certified;
}

double clocks_of(const Plan& plan, Kernel kernel, const ProductShape& shape, const Gpu& gpu) {
  const auto within = [](std::int64_t extent) {  // larger ones differ by factors that all kernels have
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(extent, 1, 1 << 16));
  };
  const std::int32_t k = within(shape.inner / plan.width());
  const Schedule schedule = make_schedule(plan, element_of(plan, kernel), k);
  const GemmShape work = gemm_shape(schedule, within(shape.m), within(shape.n), k, within(shape.matrices), true, gpu);
  return choose_tile(work, kernel, schedule.element, gpu).predicted_clocks;
}

void order_by_clocks(std::vector<Kernel>& kernels, const Plan& plan, const ProductShape& shape, const Gpu& gpu) {
  if (!shape.decides_on(gpu)) return;
  const auto clocks = [&](Kernel kernel) { return clocks_of(plan, kernel, shape, gpu); };
  std::stable_sort(kernels.begin(), kernels.end(), [&](Kernel x, Kernel y) { return clocks(x) < clocks(y); });
}

ReconstructJob views_of(const Turn& turn) {
  ReconstructJob job;
  job.result = turn.result;
  job.a.view = turn.a;
  job.b.view = turn.b;
  return job;
}

OfWays model_times(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu) {
  const Turn turn = turn_at(product, longest_turns(product), 0);
  OfWays times = times_without_planes(plan, product, turn, gpu, WithoutPlanes::where_it_pays);
  times.stages = microseconds_of_stages(plan, turn, gpu);
  return times;
}

Way find_way(const CudaPlan& plan, const CudaProduct& product, const Turn& turn, const Gpu& gpu, WithoutPlanes direct,
             const OfWays& factors) {
  OfWays times = times_without_planes(plan, product, turn, gpu, direct);
  if (std::min({times.direct, times.thin, times.tiles}) == INFINITY) return Way::stages;  // they can make every product
  if (direct == WithoutPlanes::where_it_pays) times.stages = microseconds_of_stages(plan, turn, gpu);
  times = {factors.direct * times.direct, factors.thin * times.thin, factors.tiles * times.tiles, factors.stages * times.stages};
  const double least = std::min({times.direct, times.thin, times.tiles, times.stages});
  return times.stages == least   ? Way::stages
         : times.direct == least ? Way::direct
         : times.tiles == least  ? Way::tiles
                                 : Way::thin;
}

}  // namespace ozfp4::cuda
