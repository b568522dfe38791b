// The grid that CUTLASS makes of an output, however wide, is one that CUDA launches.
#include <cutlass/gemm/kernel/tile_scheduler.hpp>
#include <string>

#include "arith/multiples.hpp"
#include "check.hpp"
#include "cuda/multiply/tcgen05/pass.hpp"

using namespace ozfp4::cuda;

namespace {

using Edge = cute::Int<tcgen05::kTile>;
using Tile = cute::Shape<Edge, Edge, cute::_256>;
using Cluster = cute::Shape<cute::_2, cute::_1, cute::_1>;
using Scheduler = cutlass::gemm::kernel::detail::PersistentTileSchedulerSm100<Cluster, 3>;

void check_grid(int m, int n) {
  Scheduler::Arguments arguments;
  tcgen05::lay_out_grid(n, arguments);
  const auto problem = cute::make_shape(m, n, 256, 3);
  const cutlass::KernelHardwareInfo hardware;
  const auto params = Scheduler::to_underlying_arguments(problem, Tile{}, Cluster{}, Cluster{}, hardware, arguments);
  const dim3 grid = Scheduler::get_grid_shape(params, problem, Tile{}, Cluster{}, Cluster{}, hardware);
  const std::string name = std::to_string(m) + " x " + std::to_string(n) + ": " + std::to_string(grid.x) + ", " +
                           std::to_string(grid.y) + ", " + std::to_string(grid.z);
  report("extents of a grid", grid.x <= INT32_MAX && grid.y <= kMostGridExtent && grid.z == 3, name);
  const std::int64_t tiles = ozfp4::ceil_div(m, tcgen05::kTile) * ozfp4::ceil_div(n, tcgen05::kTile);
  report("two blocks a tile", std::int64_t(grid.x) * grid.y == 2 * tiles, name);
}

}  // namespace

int main() {
  for (const int m : {1, 64, 256, 257, 5000, 100000}) {
    for (const int n : {1, 256, 257, 16776960, 16776961, 17000000}) check_grid(m, n);
  }
  check_grid(17000000, 64);
  check_grid(1, ozfp4::kLongestExtent);
  check_grid(ozfp4::kLongestExtent, 1);
  return finish();
}
