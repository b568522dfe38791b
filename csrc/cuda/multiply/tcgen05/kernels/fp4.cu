// tcgen05 on E2M1 codes (kind::mxf4, K = 64), FP32 accumulators: sm_100 and sm_103.
#include "cuda/multiply/tcgen05/collective/mainloop.cuh"
#include "cuda/multiply/tcgen05/collective/scale_tile.cuh"
#include "cuda/multiply/tcgen05/kernel.cuh"

namespace ozfp4::cuda::tcgen05 {
namespace {

constexpr int kEntries = block_entries(Element::e2m1);
using Fp4 =
    Config<cutlass::arch::Sm100, cutlass::mx_float4_t<cutlass::float_e2m1_t>, float, cutlass::arch::OpClassBlockScaledTensorOp,
           cutlass::gemm::KernelTmaWarpSpecialized2SmMxf4Sm100, Fp4Mainloop, kEntries>;

__device__ const ScaleTile<kTile * kEntries / 32> scale_tile;

}  // namespace

void launch_fp4(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream) {
  void* scales = nullptr;
  require_launched(cudaGetSymbolAddress(&scales, scale_tile), Stage::multiply, "its table of scales");
  launch_passes<Fp4>(row, problem, choice, stream,
                     [&](auto& mainloop) { set_scales<Fp4::Collective, kTile, kEntries>(mainloop, scales); });
}

}  // namespace ozfp4::cuda::tcgen05
