// Why a product was made by ozfp4, or left to the real routine.
#pragma once

#include <cstdint>

namespace ozfp4::exec {

enum class Reason : std::uint8_t {
  none,  // of what is not decided yet, or is made
  // Caught.
  always,
  alone,
  large,
  // Left, by what was asked for.
  spared,
  type_not_asked,
  below_min_size,
  // By the call.
  refused_by_blas,
  conjugated_alone,
  nothing_to_multiply,
  factor_not_finite,
  other_rounding,
  // By time.
  small,
  many_repairs,
  // By what the product met.
  unsupported,
  no_device,
  other_version,
  factor_on_device,
  other_types,
  captured,
  no_memory,
  little_stack,
  failed,
  count
};
constexpr int reason_count = static_cast<int>(Reason::count);

constexpr bool is_caught(Reason reason) { return reason >= Reason::always && reason <= Reason::large; }

inline const char* text_of(Reason reason) {
  static const char* const texts[] = {
      "",
      "always",
      "no other library has the routine",
      "large enough to gain",
      "its routine or library is spared",
      "its dtype is not asked for",
      "below the least size",
      "arguments that BLAS refuses, or that this BLAS alone knows",
      "a matrix that is conjugated and not transposed, as OpenBLAS alone has it",
      "nothing to multiply",
      "alpha or beta is not finite",
      "the program rounds otherwise than to nearest",
      "an extent below what gains on this device",
      "a product from its calling address needed many repairs",
      "its extents are larger than any plan is exact for",
      "no libozfp4 with CUDA is there, or no GPU that it has kernels for",
      "a cuBLAS that is not of CUDA 13",
      "alpha and beta are on the device",
      "types that ozfp4 does not have",
      "a CUDA graph is captured",
      "no memory for it",
      "its thread has too little stack left, or a stack of the program's own",
      "an error of ozfp4",
  };
  static_assert(sizeof texts / sizeof *texts == reason_count, "a text for each");
  return texts[static_cast<int>(reason)];
}

}  // namespace ozfp4::exec
