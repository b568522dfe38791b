#include "cuda/ways/ways.hpp"

#include <algorithm>

#include "cuda/direct/direct.hpp"
#include "cuda/fused/tile.hpp"
#include "cuda/thin/thin.hpp"
#include "cuda/ways/stages.hpp"

namespace ozfp4::cuda {
namespace {

// For which ways there are kernels, of those that `direct` allows. The stages can make every product.
struct Reach {
  bool direct = false, thin = false, tiles = false;
};

Reach reach_of(const CudaPlan& plan, const CudaProduct& product, const Turn& turn, Direct direct) {
  const Promise& promise = plan.promise;
  if (direct == Direct::never || plan.integer || promise.modulus != 0 || promise.second != Second::none ||
      product.stored_a.exists() || product.stored_b.exists()) {
    return {};
  }
  const ReconstructJob job = views_of(turn);
  const CapacityRule rule{plan.bits, promise.accuracy, promise.precision};
  const auto may_be = [&](Direct kind) { return direct == kind || direct == Direct::where_it_pays; };
  const bool is_plain = !(promise.is_whole || promise.updates || plan.plan.is_complex);  // others have cuda/direct alone
  Reach can;
  can.direct =
      may_be(Direct::always) && (promise.is_whole ? can_multiply_integers_directly(job) : can_multiply_directly(job, rule));
  can.thin = is_plain && may_be(Direct::thin) && can_multiply_thinly(job, rule);
  can.tiles = is_plain && may_be(Direct::tiles) && can_multiply_tiles(plan.tile_limbs, job, rule);
  return can;
}

OfWays times_of(const CudaPlan& plan, const Turn& turn, const Gpu& gpu, const Reach& can) {
  const bool certifies = plan.promise.certifies();
  OfWays times{INFINITY, INFINITY, INFINITY, microseconds_of_stages(plan, turn, gpu)};
  if (can.direct) times.direct = microseconds_directly(turn.result, turn.a.inner, certifies, gpu.multiprocessors);
  if (can.thin) times.thin = microseconds_of_thin(views_of(turn), certifies, gpu.multiprocessors);
  if (can.tiles) {
    const TileDevice device{gpu.multiprocessors, gpu.shared_bytes};
    times.tiles = microseconds_of_tiles(plan.tile_limbs, turn.result, turn.a.inner, certifies, device) +
                  (certifies ? settling_microseconds(turn, true) : 0);
  }
  return times;
}

}  // namespace

ReconstructJob views_of(const Turn& turn) {
  ReconstructJob job;
  job.result = turn.result;
  job.a.view = turn.a;
  job.b.view = turn.b;
  return job;
}

OfWays model_times(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu) {
  const Turn turn = turn_at(product, longest_turns(product), 0);
  return times_of(plan, turn, gpu, reach_of(plan, product, turn, Direct::where_it_pays));
}

Whole find_whole(const CudaPlan& plan, const CudaProduct& product, const Turn& turn, const Gpu& gpu, Direct direct,
                 const OfWays& factors) {
  const Reach can = reach_of(plan, product, turn, direct);
  if (direct == Direct::always) return can.direct ? Whole::direct : Whole::stages;
  if (direct == Direct::thin) return can.thin ? Whole::thin : Whole::stages;
  if (direct == Direct::tiles) return can.tiles ? Whole::tiles : Whole::stages;
  if (!(can.direct || can.thin || can.tiles)) return Whole::stages;
  OfWays times = times_of(plan, turn, gpu, can);
  times = {factors.direct * times.direct, factors.thin * times.thin, factors.tiles * times.tiles, factors.stages * times.stages};
  const double least = std::min({times.direct, times.thin, times.tiles, times.stages});
  return times.stages == least   ? Whole::stages
         : times.direct == least ? Whole::direct
         : times.tiles == least  ? Whole::tiles
                                 : Whole::thin;
}

}  // namespace ozfp4::cuda
