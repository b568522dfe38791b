#include "multiply/sm100_gemm.hpp"

#include "multiply/gemm_problem.hpp"
#include "multiply/sm100_pass.hpp"

namespace ozfp4::cuda::sm100 {
namespace {

// Machine code with the features of one architecture runs on that one only, code of the family on both.
bool runs_on(Element element, int major, int minor) {
  return major == 10 && (minor == 0 || (minor == 3 && element == Element::e2m1));
}

}  // namespace

const char* find_error(const GemmProblem& problem, const TileChoice& choice) {
  if (const char* error = find_problem_error(problem, choice)) return error;
  return find_pass_error(problem, choice);
}

cudaError_t launch(const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream) {
  if (find_error(problem, choice) != nullptr) return cudaErrorInvalidValue;
  if (problem.unit_count == 0) return cudaSuccess;
  int device = 0, major = 0, minor = 0;
  if (const cudaError_t error = cudaGetDevice(&device)) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device)) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device)) return error;
  if (!runs_on(problem.element, major, minor)) return cudaErrorNoKernelImageForDevice;
  switch (problem.element) {
    case Element::e2m1: return launch_fp4(problem, choice, device, stream);
#ifndef OZFP4_NO_SM100_BYTES
    case Element::u8: return launch_u8(problem, choice, device, stream);
    case Element::s8: return launch_s8(problem, choice, device, stream);
#endif
    default: return cudaErrorNoKernelImageForDevice;
  }
}

}  // namespace ozfp4::cuda::sm100
