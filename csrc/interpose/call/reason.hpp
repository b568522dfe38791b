// Why a product was made by ozfp4, or left to the real routine.
#pragma once

#include <cstdint>

namespace ozfp4::interpose {

enum class Reason : std::uint8_t {
  // Caught.
  always,
  alone,
  timed,
  faster,
  // Left, by what was asked for.
  type_not_asked,
  below_min_size,
  // By the call.
  refused_by_blas,
  nothing_to_multiply,
  factor_not_finite,
  other_rounding,
  // By time.
  not_measured,
  not_measured_on_device,
  small_on_device,
  slower,
  many_chains,
  // By what the product met.
  unsupported,
  no_device,
  other_version,
  factor_on_device,
  factor_with_both_parts,
  pointers_on_device,
  other_types,
  captured,
  captured_untried,
  no_memory,
  little_stack,
  failed,
  count
};
constexpr int reason_count = static_cast<int>(Reason::count);

constexpr bool is_caught(Reason reason) { return reason <= Reason::faster; }

inline const char* text_of(Reason reason) {
  static const char* const texts[] = {
      "always",
      "no other library has the routine",
      "made by ozfp4 to measure what it takes",
      "measured to be faster",
      "its dtype is not asked for",
      "below the least size",
      "arguments that BLAS refuses, or that this BLAS alone knows",
      "nothing to multiply",
      "alpha or beta is not finite",
      "the program rounds otherwise than to nearest",
      "the real routine, until measuring would be within 1 % of its time",
      "the real routine, until measuring would be within 2 % of the time since the process began",
      "an extent below 1024, which is not measured on a GPU",
      "measured to be slower",
      "many entries of the last product from its calling address were chains",
      "its extents are larger than any plan is exact for",
      "no libozfp4 with CUDA is there, or no GPU that it has kernels for",
      "a cuBLAS that is not of CUDA 13",
      "alpha and beta are on the device",
      "alpha or beta has a real and an imaginary part, for which what is correct takes two products",
      "the pointers to its matrices are on the device",
      "types that ozfp4 does not have",
      "a CUDA graph is captured, and the workspace that the program set is too small",
      "a CUDA graph is captured, in which nothing can be timed or waited for",
      "no memory for it",
      "its thread has too little stack left, or a stack of the program's own",
      "an error of ozfp4",
  };
  static_assert(sizeof texts / sizeof *texts == reason_count, "a text for each");
  return texts[static_cast<int>(reason)];
}

}  // namespace ozfp4::interpose
