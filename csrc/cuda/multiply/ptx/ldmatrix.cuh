// Fragments of MMAs from shared memory.
#pragma once

#include <cstdint>

namespace ozfp4::cuda {

// Four 8 x 16-byte matrices: word q of lane l is bytes 4 (l % 4) .. of row l / 4 of the matrix whose rows the lanes
// 8 q .. 8 q + 7 point to. All lanes of a warp call it.
__device__ __forceinline__ void load_matrices(std::uint32_t (&words)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

}  // namespace ozfp4::cuda
