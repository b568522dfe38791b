#include <algorithm>

#include "arith/multiples.hpp"
#include "cuda/fused/planes/fused.hpp"
#include "cuda/fused/planes/kernel.cuh"
#include "cuda/launch.hpp"
#include "cuda/multiply/ptx/tensor_map.cuh"
#include "cuda/reconstruct/short_launch.cuh"

namespace ozfp4::cuda {
namespace {

using namespace fused_planes;

constexpr std::uint32_t kBand = 8;  // tiles, see walk/tile_order.cuh

// Measured on an H200 at 16384 x k x 16384; beyond this K the kernel of multiply, whose tiles are larger, gains more than bytes
// of residues cost. Below so many tiles for every multiprocessor nobody has measured it.
constexpr std::int64_t kMostFusedInner = 256, kLeastFusedRounds = 16;

template <class T, class S>
void start(const ReconstructPlan& plan, const GemmProblem& problem, const ReconstructJob& job, cudaStream_t stream,
           const Certification* certification) {
  const auto m_tiles = static_cast<std::uint32_t>(ceil_div(problem.m, Config::kM));
  const auto n_tiles = static_cast<std::uint32_t>(ceil_div(problem.n, Config::kN));
  const auto matrices = static_cast<std::uint32_t>(problem.batch.count());
  Parameters<S> p{};
  encode_plane_map(&p.a_map, problem.a, problem.m, problem.k, Config::kM, kBlockK);
  encode_plane_map(&p.b_map, problem.b, problem.n, problem.k, Config::kN, kBlockK);
  p.order = make_tile_order(m_tiles, n_tiles, matrices, kBand);
  p.batches = make_divisor(matrices);
  p.batch = problem.batch;
  p.tiles = m_tiles * n_tiles * matrices;
  p.k_blocks = static_cast<std::int32_t>(ceil_div(problem.k, kBlockK));
  std::copy_n(problem.steps, plan.all, p.steps);
  p.rest = short_form::make_parameters<T, S>(plan, job, certification, 1);
  LaunchConfig how;
  how.stage = Stage::multiply;
  how.detail = "and reconstruct";
  how.grid = dim3(std::min<unsigned>(p.tiles, static_cast<unsigned>(current_device(Stage::multiply).multiprocessors)));
  how.block = dim3(Config::kThreads);
  how.shared_bytes = Config::kSharedBytes;
  how.overlap_previous = job.overlap_previous;
  how.stream = stream;
  launch(fused_kernel<T, S>, how, p);
}

}  // namespace

bool can_fuse(Kernel kernel, const Schedule& schedule, const ReconstructPlan& plan) {
  return kernel == Kernel::hopper && schedule.element == Element::u8 && schedule.units_per_modulus == 1 &&
         schedule.unit_begin[static_cast<std::size_t>(plan.all)] == plan.all && !plan.is_long() && !plan.positional &&
         plan.words <= 4 && plan.row_steps == 1;
}

bool pays_fused(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t matrices, int multiprocessors) {
  const std::int64_t tiles = ceil_div(rows, Config::kM) * ceil_div(columns, Config::kN) * matrices;
  return inner <= kMostFusedInner && tiles >= kLeastFusedRounds * multiprocessors;
}

void launch_fused(const ReconstructPlan& plan, const GemmProblem& problem, const ReconstructJob& job, cudaStream_t stream,
                  const Certification* certification) {
  using Start = void (*)(const ReconstructPlan&, const GemmProblem&, const ReconstructJob&, cudaStream_t, const Certification*);
  const bool is_double = job.result.type == ElementType::float64;
  const auto choose = [&](auto shape) -> Start {
    using S = decltype(shape);
    return is_double ? start<double, S> : start<float, S>;
  };
  const Start chosen = certification != nullptr ? choose(short_form::Shape<4, 1, false, true>())
                       : plan.words == 4        ? choose(short_form::Shape<4, 1, false, false>())
                                                : choose(short_form::Shape<2, 1, false, false>());
  chosen(plan, problem, job, stream, certification);
}

}  // namespace ozfp4::cuda
