// From the two residues that multiply leaves of each modulus of a complex plan to those of the real and imaginary parts.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/limbs/residue_bytes.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"

namespace ozfp4::cuda {

// What a modulus adds up: the residues of both outputs are the low two bytes.
struct JoinedModulus {
  bool is_joined = false;  // else the outputs are the parts already
  ByteModulus<1> re, im;
};

struct JoinPlan {
  int moduli = 0;
  JoinedModulus modulus[kMaxModuli / kPair];
};

// Empty unless the plan is complex. Throws std::length_error for more moduli than it holds. Range: moduli of a byte.
JoinPlan make_join_plan(const Plan& plan);

// In place, of outputs [modulus][which of two][byte] with plane_stride bytes each, a multiple of 16, as the address is.
// `moduli_used` (device, may be null): how many leading moduli. Throws LaunchError.
void launch_join_parts(const JoinPlan& plan, std::uint8_t* outputs, std::int64_t plane_stride, const int* moduli_used,
                       cudaStream_t stream);

}  // namespace ozfp4::cuda
