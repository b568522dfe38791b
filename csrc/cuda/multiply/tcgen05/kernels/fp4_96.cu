// tcgen05 on E2M1 codes with K = 96 instructions, which sm_103 alone has: half as fast again as K = 64. FP32 accumulators.
#include "cuda/multiply/tcgen05/collective/mainloop_96.cuh"
#include "cuda/multiply/tcgen05/collective/scale_tile.cuh"
#include "cuda/multiply/tcgen05/kernel.cuh"

namespace ozfp4::cuda::tcgen05 {
namespace {

constexpr int kTileEntries = 768;  // eight instructions, and three blocks
using Codes = cute::tuple<cutlass::float_e2m1_t, cutlass::float_ue8m0_t>;
using Fp4 = Config<cutlass::arch::Sm103, Codes, float, cutlass::arch::OpClassBlockScaledTensorOp,
                   cutlass::gemm::KernelTmaWarpSpecialized2SmBlockScaledMxNvf4UltraVs32Sm103DisablePrefetch, Fp4Mainloop96,
                   block_entries(Element::e2m1), kTileEntries>;

__device__ const ScaleTile<kTile * kTileEntries / 32> scale_tile;

}  // namespace

void launch_fp4_96(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream) {
  void* scales = nullptr;
  require_launched(cudaGetSymbolAddress(&scales, scale_tile), Stage::multiply, "its table of scales");
  launch_passes<Fp4>(row, problem, choice, stream,
                     [&](auto& mainloop) { set_scales<Fp4::Collective, kTile, kTileEntries>(mainloop, scales); });
}

}  // namespace ozfp4::cuda::tcgen05
