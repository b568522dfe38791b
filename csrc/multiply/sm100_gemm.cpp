#include "multiply/sm100_gemm.hpp"

#include "multiply/sm100_pass.hpp"

// OZFP4_TARGETS_<kernel>: see gemm_dispatch.cpp.

namespace ozfp4::cuda::sm100 {

cudaError_t launch(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, int device, cudaStream_t stream) {
  if (find_pass_error(problem, choice) != nullptr) return cudaErrorInvalidValue;
  switch (kernel) {
#ifdef OZFP4_TARGETS_sm100_fp4
    case Kernel::sm100_fp4: return launch_fp4(problem, choice, device, stream);
#endif
#ifdef OZFP4_TARGETS_sm103_fp4
    case Kernel::sm103_fp4: return launch_fp4_96(problem, choice, device, stream);
#endif
#ifdef OZFP4_TARGETS_sm100_bytes
    case Kernel::sm100_bytes:
      return is_signed(problem.element) ? launch_s8(problem, choice, device, stream) : launch_u8(problem, choice, device, stream);
#endif
    default: return cudaErrorNoKernelImageForDevice;
  }
}

}  // namespace ozfp4::cuda::sm100
