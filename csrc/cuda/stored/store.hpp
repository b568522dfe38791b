// Scale and encode of an operand by itself, into memory that is kept for any number of products.
#pragma once

#include "cuda/layout/cuda_plan.hpp"
#include "cuda/stages.hpp"
#include "cuda/stored/layout.hpp"

namespace ozfp4::cuda {

// Throws std::invalid_argument with the reason and the stage that has it, where a stage would not take the operand. Of the data
// pointer the alignment alone counts. Range: every extent >= 1, a promise with records; of a complex plan an operand expanded as
// kPair says, that of B seen by its parts.
void check_store(const CudaPlan& plan, const DeviceOperand& operand, const Gpu& gpu);

// Enqueues both stages. `memory` holds the bytes of make_stored_layout, `scratch` scale_scratch_bytes, both aligned to 256.
// Throws LaunchError. Range: what check_store has nothing against.
void launch_store(const CudaPlan& plan, const DeviceOperand& operand, char* memory, char* scratch, const LaunchOptions& options);

}  // namespace ozfp4::cuda
