// Stage 4 where the result is integers: bytes of multiply -> x modulo 2^64 or m -> the result's type.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/integers/integer_plan.hpp"
#include "cuda/planes.hpp"

namespace ozfp4::cuda {

struct IntegerJob {
  DeviceResult result;
  Residues residues;
  const int* units_used = nullptr;          // on the device; null: all
  unsigned long long* overflows = nullptr;  // on the device: grows by the entries that the result's type does not hold
  bool overlap_previous = false;            // programmatic dependent launch
};

// nullptr where the views keep the ranges of find_bytes_error and the result is of integers, else the reason.
const char* find_integer_error(const IntegerPlan& plan, const IntegerJob& job);

// Enqueues one kernel on the stream; neither synchronises nor allocates; may be captured into a graph. Throws LaunchError.
// Precondition: nothing that find_integer_error has a reason against; overflows are given where the plan has fractions.
void launch_integer_reconstruct(const IntegerPlan& plan, const IntegerJob& job, cudaStream_t stream);

}  // namespace ozfp4::cuda
