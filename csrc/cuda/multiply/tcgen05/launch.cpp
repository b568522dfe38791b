#include "cuda/multiply/tcgen05/launch.hpp"

#include "cuda/launch.hpp"

// OZFP4_TARGETS_<kernel>: see multiply/registry.cpp.

namespace ozfp4::cuda::sm100 {

void launch(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, cudaStream_t stream) {
  switch (kernel) {
#ifdef OZFP4_TARGETS_sm100_fp4
    case Kernel::sm100_fp4: return launch_fp4(problem, choice, stream);
#endif
#ifdef OZFP4_TARGETS_sm103_fp4
    case Kernel::sm103_fp4: return launch_fp4_96(problem, choice, stream);
#endif
#ifdef OZFP4_TARGETS_sm100_bytes
    case Kernel::sm100_bytes:
      return is_signed(problem.element) ? launch_s8(problem, choice, stream) : launch_u8(problem, choice, stream);
#endif
    default: throw LaunchError(Stage::multiply, cudaErrorNoKernelImageForDevice, kernel_name(kernel));
  }
}

}  // namespace ozfp4::cuda::sm100
