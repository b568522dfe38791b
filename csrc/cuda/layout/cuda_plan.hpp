// What a plan becomes on a GPU.
#pragma once

#include <optional>

#include "cuda/elementwise/planes.hpp"
#include "cuda/encode/encode.hpp"
#include "cuda/integers/integer_plan.hpp"
#include "cuda/layout/promise.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/reconstruct/reconstruct_plan.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"
#include "plan/schedule.hpp"

namespace ozfp4::cuda {

// For one inner dimension and one kernel; built once, reused by every call.
struct CudaPlan {
  Plan plan;  // without moduli that no product of the promise needs
  int bits = 53;
  int exact_bits = 0;  // of lines of "correct" that are converted exactly (exact_capacity)
  int k = 0;
  bool integer = false;  // INT8 x INT8 -> INT32
  Kernel kernel = Kernel::hopper;
  Promise promise;
  Schedule schedule;
  PrefixRule prefixes;
  EncodePlan encode;
  JoinPlan join;
  ReconstructPlan reconstruct;
  IntegerPlan whole;  // in its place where the promise is one of integers
  // Where results are correct, plans have moduli to spare for unusual data. What serves the counts up to `few.all` with
  // shorter integers or by the short form, and is launched beside the other: the data decides which of the two runs.
  std::optional<ReconstructPlan> few;
  int tile_limbs = 0;  // where one launch may make products of tiles
};

// Throws std::invalid_argument where the kernel does not take the plan's planes, or the plan has too few bits for the
// promise; std::length_error where `k` is too long.
CudaPlan make_cuda_plan(const Plan& plan, int k, Kernel kernel, const Promise& promise = {});

// What multiply has to do by a schedule for `matrices` products of m x k by k x n limbs of a plane; `may_split`: the range of K
// may be cut, where the schedule allows it. Throws std::length_error where the matrices exceed an int.
GemmShape gemm_shape(const Schedule& schedule, std::int32_t m, std::int32_t n, std::int32_t k, std::int64_t matrices,
                     bool may_split, const Gpu& gpu);

}  // namespace ozfp4::cuda
