// Registers that the compiler is to keep.
#pragma once

#include <cstdint>

namespace ozfp4::cuda {

// Keeps a value in its register: the compiler does not know where it came from, and can neither compute it anew elsewhere nor put
// its computation off.
__device__ __forceinline__ void hold(std::uint32_t& x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void hold(std::int32_t& x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void hold(std::int64_t& x) { asm volatile("" : "+l"(x)); }

}  // namespace ozfp4::cuda
