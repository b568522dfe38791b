// Programmatic dependent launch: a kernel may start while the kernel before it in the stream ends. In code of
// CodeFeature::dependent_launch; nothing in older code, as its launches follow each other as always.
#pragma once

#include "cuda/code.hpp"

namespace ozfp4::cuda {

// Lets a next kernel that was launched with the attribute start as soon as multiprocessors have room. Encode kernels that
// multiply follows do not call it. Blocks of the multiply kernel would be spread as multiprocessors fall free, and lose what
// neighbours on the chip share. On an H200 that cost 13 % at N = 4096 with tiles of 128 x 128.
__device__ __forceinline__ void let_next_kernel_start() {
#if OZFP4_IS_SM90_CODE
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Until all that the previous kernel wrote can be read; at once where this kernel was launched without the attribute.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if OZFP4_IS_SM90_CODE
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace ozfp4::cuda
