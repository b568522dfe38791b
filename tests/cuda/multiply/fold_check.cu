// The fold of the epilogues to bytes, on a GPU: every modulus.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "arith/fold.hpp"
#include "check.hpp"
#include "cuda/gpu.hpp"

using namespace ozfp4;

namespace {

// fold_to_byte against the remainder, for every modulus: all values of its inner sum and the ends of the 32-bit range.
__global__ void check_fold(byte_fold constants, std::uint32_t modulus, unsigned long long* wrong) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, negated = 0u - modulus;
  for (std::uint32_t i = thread; i < (1u << 20); i += gridDim.x * blockDim.x) {
    for (const std::uint32_t x : {i, ~i, i * 4099u, (1u << 31) + i, (1u << 31) - i}) {
      const std::uint32_t word = fold_to_byte(x, constants, negated), residue = x % modulus;
      const bool right = word - byte_fold_excess(constants, modulus) == residue && (word & 255) == (residue & 255);
      if (!right) atomicAdd(wrong, 1ull);
    }
  }
}

bool folds_are_right() {
  unsigned long long wrong = 0, *device_wrong;
  REQUIRE(cudaMalloc(&device_wrong, sizeof wrong));
  REQUIRE(cudaMemset(device_wrong, 0, sizeof wrong));
  for (std::uint32_t modulus = 2; modulus <= 256; ++modulus) {
    if (!is_byte_fold(make_byte_fold(modulus), modulus)) ++wrong;
    check_fold<<<128, 256>>>(make_byte_fold(modulus), modulus, device_wrong);
  }
  unsigned long long found = 0;
  REQUIRE(cudaMemcpy(&found, device_wrong, sizeof found, cudaMemcpyDeviceToHost));
  REQUIRE(cudaFree(device_wrong));
  if (wrong + found != 0) std::printf("%llu wrong folds\n", wrong + found);
  return wrong + found == 0;
}

}  // namespace

int main() {
  require_gpu();
  report("folds", folds_are_right());
  return finish();
}
