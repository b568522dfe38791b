// Which multiply kernel runs where, and the launch of any of them.
//
// OZFP4_TARGETS_<kernel> lists what this build holds code for, as list_held_code of cmake/gpu_targets.cmake writes it.
// OZFP4_NO_<KERNEL> leaves a kernel out; those of sm_100 are in where their targets are given.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "cuda/multiply/check.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/mma_sync/launch.hpp"
#include "cuda/multiply/tcgen05/launch.hpp"
#include "cuda/multiply/tcgen05/pass.hpp"

#ifndef OZFP4_TARGETS_sm90
#define OZFP4_TARGETS_sm90 -90
#endif
#ifndef OZFP4_TARGETS_bytes_copy
#define OZFP4_TARGETS_bytes_copy 80, 86, 89, 90, 120
#endif
#ifndef OZFP4_TARGETS_bytes_bulk
#define OZFP4_TARGETS_bytes_bulk 90, 120
#endif
#ifndef OZFP4_TARGETS_fp4
#define OZFP4_TARGETS_fp4 120
#endif
#ifndef OZFP4_TARGETS_stand_in_copy
#define OZFP4_TARGETS_stand_in_copy 80, 86, 89, 90
#endif
#ifndef OZFP4_TARGETS_stand_in_bulk
#define OZFP4_TARGETS_stand_in_bulk -90
#endif
#if defined(OZFP4_TARGETS_sm100_fp4) || defined(OZFP4_TARGETS_sm100_bytes)
#define OZFP4_SM100
#endif

namespace ozfp4::cuda {
namespace {

constexpr int kPtx = 1000;  // in a list of targets: added where it is PTX

// Machine code runs on its own capability and, unless it is for that one only, on later ones of the same generation; PTX on all
// later ones.
bool is_held(std::initializer_list<int> targets, int capability) {
  for (const int target : targets) {
    if (target == -capability || (target / 10 == capability / 10 && target <= capability)) return true;
    if (target >= kPtx && target - kPtx <= capability) return true;
  }
  return false;
}

bool has_code(Kernel kernel, int capability) {
  switch (kernel) {
#ifndef OZFP4_NO_SM90
    case Kernel::sm90: return is_held({OZFP4_TARGETS_sm90}, capability);
#endif
    case Kernel::warp_copy: return is_held({OZFP4_TARGETS_bytes_copy}, capability);
#ifndef OZFP4_NO_WARP_BULK
    case Kernel::warp_bulk: return is_held({OZFP4_TARGETS_bytes_bulk}, capability);
#endif
#ifndef OZFP4_NO_WARP_FP4
    case Kernel::warp_fp4: return is_held({OZFP4_TARGETS_fp4}, capability);
#endif
#ifdef OZFP4_TARGETS_sm100_fp4
    case Kernel::sm100_fp4: return is_held({OZFP4_TARGETS_sm100_fp4}, capability);
#endif
#ifdef OZFP4_TARGETS_sm103_fp4
    case Kernel::sm103_fp4: return is_held({OZFP4_TARGETS_sm103_fp4}, capability);
#endif
#ifdef OZFP4_TARGETS_sm100_bytes
    case Kernel::sm100_bytes: return is_held({OZFP4_TARGETS_sm100_bytes}, capability);
#endif
#ifndef OZFP4_NO_STAND_IN_COPY
    case Kernel::stand_in_copy: return is_held({OZFP4_TARGETS_stand_in_copy}, capability);
#endif
#ifndef OZFP4_NO_STAND_IN_BULK
    case Kernel::stand_in_bulk: return is_held({OZFP4_TARGETS_stand_in_bulk}, capability);
#endif
    default: return false;
  }
}

}  // namespace

const char* kernel_name(Kernel kernel) {
  constexpr const char* names[kKernels] = {
      "wgmma s8 sm_90a", "warp s8 cp.async",           "warp s8 tma",          "warp fp4 tma", "tcgen05 fp4", "tcgen05 fp4 K=96",
      "tcgen05 s8",      "warp fp4 stand-in cp.async", "warp fp4 stand-in tma"};
  return static_cast<int>(kernel) < kKernels ? names[static_cast<int>(kernel)] : "unknown kernel";
}

const char* find_kernel_error(Kernel kernel, Element element, const Gpu& gpu) {
  if (static_cast<int>(kernel) >= kKernels) return "unknown kernel";
  if (takes_codes(kernel) != (element == Element::e2m1)) {
    return takes_codes(kernel) ? "the kernel multiplies E2M1 codes, not bytes" : "the kernel multiplies bytes, not E2M1 codes";
  }
  if (kernel == Kernel::sm90 && gpu.capability != 90) return "the kernel needs compute capability 9.0";
  if (kernel == Kernel::warp_copy && gpu.capability < 80) return "the kernel needs compute capability 8.0 or later";
  if (kernel == Kernel::warp_bulk && gpu.capability < 90) return "the kernel needs compute capability 9.0 or later";
  if (kernel == Kernel::warp_fp4 && gpu.capability / 10 != 12) return "the kernel needs the FP4 units of compute capability 12.x";
  if (kernel == Kernel::sm100_fp4 && gpu.capability / 10 != 10)
    return "the kernel needs the FP4 units of compute capability 10.x";
  if (kernel == Kernel::sm103_fp4 && gpu.capability != 103) return "the kernel needs the FP4 units of compute capability 10.3";
  if (kernel == Kernel::sm100_bytes && gpu.capability != 100) return "the kernel needs the INT8 units of compute capability 10.0";
  if (!has_code(kernel, gpu.capability)) return "this build holds no code of the kernel for the GPU's compute capability";
  return nullptr;
}

bool find_kernel(Element element, const Gpu& gpu, bool residues, Kernel* kernel) {
  for (const Kernel candidate : {Kernel::sm90, Kernel::sm103_fp4, Kernel::sm100_fp4, Kernel::sm100_bytes, Kernel::warp_fp4,
                                 Kernel::warp_bulk, Kernel::warp_copy}) {
    if (find_kernel_error(candidate, element, gpu) != nullptr || (!residues && stores_residues_only(candidate))) continue;
    *kernel = candidate;
    return true;
  }
  return false;
}

double predict_clocks(const GemmShape& shape, const TileChoice& choice, Kernel kernel, Element element, const Gpu& gpu) {
#ifndef OZFP4_NO_SM90
  if (kernel == Kernel::sm90) return predict_clocks(shape, choice, gpu.multiprocessors);
#endif
#ifdef OZFP4_SM100
  if (stores_residues_only(kernel)) return sm100::model_clocks(shape, choice, kernel, element, gpu);
#endif
  return warp::model_clocks(shape, choice, kernel, element, gpu);
}

const int* held_capabilities() {
  static const std::vector<int> held = [] {
    std::vector<int> capabilities = {OZFP4_TARGETS_bytes_copy};
    for (int& capability : capabilities) capability = std::abs(capability) % kPtx;
    std::sort(capabilities.begin(), capabilities.end());
    capabilities.erase(std::unique(capabilities.begin(), capabilities.end()), capabilities.end());
    capabilities.push_back(0);
    return capabilities;
  }();
  return held.data();
}

TileChoice choose_tile(const GemmShape& shape, Kernel kernel, Element element, const Gpu& gpu) {
#ifndef OZFP4_NO_SM90
  if (kernel == Kernel::sm90) return choose_tile(shape, gpu.multiprocessors);
#endif
#ifdef OZFP4_SM100
  if (stores_residues_only(kernel)) return sm100::choose(shape, kernel, element, gpu);
#endif
  return warp::choose(shape, kernel, element, gpu);
}

const char* find_launch_error(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, const Gpu& gpu) {
  if (const char* error = find_kernel_error(kernel, problem.element, gpu)) return error;
  if (const char* error = find_problem_error(problem, choice)) return error;
#ifdef OZFP4_SM100
  if (stores_residues_only(kernel)) return sm100::find_pass_error(problem, choice);
#endif
  return nullptr;
}

void launch_gemm(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, cudaStream_t stream) {
  if (problem.unit_count == 0) return;
#ifndef OZFP4_NO_SM90
  if (kernel == Kernel::sm90) return launch_gemm(problem, choice, stream);
#endif
#ifdef OZFP4_SM100
  if (stores_residues_only(kernel)) return sm100::launch(problem, choice, kernel, stream);
#endif
  warp::launch(problem, choice, kernel, stream);
}

}  // namespace ozfp4::cuda
