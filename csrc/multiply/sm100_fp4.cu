// tcgen05 on E2M1 codes (kind::mxf4), FP32 accumulators.
#include "multiply/sm100_gemm.hpp"
#include "multiply/sm100_kernel.cuh"

namespace ozfp4::cuda::sm100 {
namespace {

using Fp4 = Config<cutlass::mx_float4_t<cutlass::float_e2m1_t>, float, cutlass::arch::OpClassBlockScaledTensorOp,
                   cutlass::gemm::KernelTmaWarpSpecialized2SmMxf4Sm100, Fp4Mainloop, block_entries(Element::e2m1)>;

// A tile of scales, ue8m0. Both are 2, so that an accumulator counts limb products: a code is half its limb.
struct alignas(128) ScaleTile {
  static constexpr int kBytes = kTile * Fp4::kBlockEntries / 32;
  std::uint32_t word[kBytes / 4];
  constexpr ScaleTile() : word() {
    for (std::uint32_t& w : word) w = 0x80808080u;
  }
};
__device__ const ScaleTile scale_tile;

}  // namespace

cudaError_t launch_fp4(const GemmProblem& problem, const TileChoice& choice, int device, cudaStream_t stream) {
  void* scales = nullptr;
  if (const cudaError_t error = cudaGetSymbolAddress(&scales, scale_tile)) return error;
  return launch_passes<Fp4>(problem, choice, device, stream, [&](auto& mainloop) {
    using Scales = typename Fp4::Collective::Sm1xxBlkScaledConfig;
    const auto one_tile = cute::make_shape(kTile, kTile, Fp4::kBlockEntries, 1);
    mainloop.ptr_SFA = mainloop.ptr_SFB = static_cast<const cutlass::float_ue8m0_t*>(scales);
    mainloop.layout_SFA = Scales::tile_atom_to_shape_SFA(one_tile);
    mainloop.layout_SFB = Scales::tile_atom_to_shape_SFB(one_tile);
  });
}

}  // namespace ozfp4::cuda::sm100
