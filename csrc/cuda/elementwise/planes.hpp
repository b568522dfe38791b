// Work on the planes that multiply left, entry by entry: sums over parts of K, and residues of complex plans. Launches throw
// LaunchError.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/encode/residue_bytes.hpp"
#include "cuda/multiply/schedule.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"

namespace ozfp4::cuda {

// The sum of a modulus: the residues of both outputs are the low two bytes.
struct JoinedModulus {
  bool is_joined = false;  // else the outputs are the parts already
  ByteModulus<1> re, im;
};

struct JoinPlan {
  int moduli = 0;
  JoinedModulus modulus[kMaxModuli / kPair];
};

// Empty unless the plan is complex. Throws std::length_error for more moduli than it holds. Precondition: moduli of a byte.
JoinPlan make_join_plan(const Plan& plan);

// From the two residues of each modulus to those of the real and imaginary parts. In place, of outputs [modulus][which of
// two][byte] with plane_stride bytes each, a multiple of 16, as the address is. `moduli_used` (device, may be null): how many
// leading moduli.
void launch_join_parts(const JoinPlan& plan, std::uint8_t* outputs, std::int64_t plane_stride, const int* moduli_used,
                       cudaStream_t stream);

// Outputs of parts of K: planes of `bytes` bytes, plane_stride apart, of a sum, where the first part has left its own, and of
// `parts` further ones, part_stride apart. All are multiples of 4.
struct ByteParts {
  std::uint8_t* sum;
  const std::uint8_t* part;
  std::int64_t part_stride;
  int parts;
  std::int64_t plane_stride, bytes;
  const int* moduli_used = nullptr;  // on the device; null: all
  bool overlap_previous = false;     // programmatic dependent launch
};

// Adds the parts to the sum for all planes of the schedule: residues modulo their moduli, digits with their carries.
// Precondition: digits of a sum that has room in the planes.
void launch_add_bytes(const Schedule& schedule, const ByteParts& at, cudaStream_t stream);

}  // namespace ozfp4::cuda
