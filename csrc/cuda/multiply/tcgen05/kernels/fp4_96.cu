// tcgen05 on E2M1 codes with K = 96 instructions, which sm_103 alone has: half as fast again as K = 64. FP32 accumulators.
#include <cstdint>
#include <type_traits>

#include "arith/limbs/e2m1.hpp"
#include "arith/limits.hpp"
#include "cuda/multiply/tcgen05/collective/mainloop_96.cuh"
#include "cuda/multiply/tcgen05/collective/scale_tile.cuh"
#include "cuda/multiply/tcgen05/kernel.cuh"

namespace ozfp4::cuda::tcgen05 {
namespace {

using Codes = cute::tuple<cutlass::float_e2m1_t, cutlass::float_ue8m0_t>;
using Fp4 = Config<cutlass::arch::Sm103, Codes, float, cutlass::arch::OpClassBlockScaledTensorOp,
                   cutlass::gemm::KernelTmaWarpSpecialized2SmBlockScaledMxNvf4UltraVs32Sm103DisablePrefetch, Fp4Mainloop96,
                   block_entries(Element::e2m1), kTileEntries96>;

using Collective = Fp4::Collective;
static_assert(cute::size<2>(typename Collective::TiledMma::AtomShape_MNK{}) == kInstructionEntries96,
              "the instructions are those of K = 96");
static_assert(cute::size<2>(typename Collective::TileShape{}) == kTileEntries96, "CUTLASS has no other main loop for them");
// TMA counts bytes, so that the zeros which it fills in begin behind the last code, whatever encode leaves there.
static_assert(std::is_same_v<typename Collective::TmaInternalElementA, std::uint8_t> &&
              std::is_same_v<typename Collective::TmaInternalElementB, std::uint8_t>);
// An instruction adds six groups of 16 products to a sum. find_pass_error bounds the magnitudes of a whole pass, so every sum on
// the way is exact, and the last one before the bound leaves room for an instruction.
static_assert(kInstructionEntries96 * kE2m1MaxLimb * kE2m1MaxLimb <= kFp32Exact);

__device__ const ScaleTile<kTile * kTileEntries96 / 32> scale_tile;

}  // namespace

void launch_fp4_96(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream) {
  void* scales = nullptr;
  require_launched(cudaGetSymbolAddress(&scales, scale_tile), Stage::multiply, "its table of scales");
  launch_passes<Fp4>(row, problem, choice, stream,
                     [&](auto& mainloop) { set_scales<Fp4::Collective, kTile, kTileEntries96>(mainloop, scales); });
}

}  // namespace ozfp4::cuda::tcgen05
