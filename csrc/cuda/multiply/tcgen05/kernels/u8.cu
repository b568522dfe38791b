// tcgen05 on unsigned bytes (kind::i8), INT32 accumulators. sm_100 has these units, sm_103 has not.
#include "cuda/multiply/tcgen05/collective/mainloop.cuh"
#include "cuda/multiply/tcgen05/kernel.cuh"

namespace ozfp4::cuda::tcgen05 {

void launch_bytes(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream) {
  using Bytes = Config<cutlass::arch::Sm100, std::uint8_t, std::int32_t, cutlass::arch::OpClassTensorOp,
                       cutlass::gemm::KernelTmaWarpSpecialized2SmSm100, ByteMainloop, block_entries(Element::u8)>;
  launch_passes<Bytes>(row, problem, choice, stream, [](auto&) {});
}

}  // namespace ozfp4::cuda::tcgen05
