// The form of a plan on a GPU, for a product's promise.
#pragma once

#include <cstdint>
#include <optional>

#include "arith/modes.hpp"
#include "cuda/elementwise/planes.hpp"
#include "cuda/encode/encode.hpp"
#include "cuda/integers/integers.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/schedule.hpp"
#include "cuda/reconstruct/reconstruct_plan.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"

namespace ozfp4::cuda {

// ---- The promise of a product, and what it leaves in addition to the result ---------------------------------------------

enum class Second : std::uint8_t {
  none,
  bound,      // a float64 bound of each entry's error
  upper,      // the same product rounded up, in the result's type
  overflows,  // of integers: one number of 64 bits, which grows by the entries that the result's type does not hold
};

struct Promise {
  Accuracy accuracy = Accuracy::scaled;
  Rounding rounding = Rounding::nearest;  // of the result; Precondition: nearest unless the accuracy is correct
  Second second = Second::none;
  int precision = 53;         // of the result's type: 53 or 24
  bool updates = false;       // the result is alpha A B + beta C
  bool has_integers = false;  // entries are integers, and so are results: the exact product modulo 2^w of their type, or
  std::uint64_t modulus = 0;  // modulo this number, 1 to 2^63 - 1; 0: none
  bool may_lengthen = false;  // the plan may get more moduli, because no caller keeps its planes; operands are float64

  bool certifies() const { return accuracy != Accuracy::scaled; }
  // Whether the rounded entries of the lines are counted: else every nonzero one of a line that is not exact is taken for one.
  bool counts_rounded() const { return accuracy == Accuracy::correct; }
  // Whether anybody asks what is known of the lines (arith/accuracy/certificate.hpp).
  bool has_records() const { return certifies() || second == Second::bound || updates; }
};

// ---- The plan ------------------------------------------------------------------------------------------------------------

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
  IntegerPlan integers;  // in its place where the promise is one of integers
  // For a plan of the long form that has moduli to spare for unusual data: the short form for counts up to `few.all`, which is
  // launched as well. The data decides which of the two runs.
  std::optional<ReconstructPlan> few;
  int tile_limbs = 0;  // where one launch may make products of tiles
};

// Throws std::invalid_argument where the kernel does not take the plan's planes, or the plan has too few bits for the
// promise; std::length_error where `k` is too long.
CudaPlan make_cuda_plan(const Plan& plan, int k, Kernel kernel, const Promise& promise = {});

// The work of multiply by a schedule for `matrices` products of m x k by k x n limbs of a plane. `may_split`: the range of K may
// be cut, where the schedule allows it. Throws std::length_error where the matrices exceed an int.
GemmShape gemm_shape(const Schedule& schedule, std::int32_t m, std::int32_t n, std::int32_t k, std::int64_t matrices,
                     bool may_split, const Gpu& gpu);

}  // namespace ozfp4::cuda
