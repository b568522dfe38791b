// What the lines of an operand that holds a piece of K say of themselves, on the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/runtime/export.hpp"
#include "cuda/views.hpp"

namespace ozfp4::cuda {

// Bytes of scratch, aligned to 8.
OZFP4_CUDA_EXPORT std::int64_t piece_facts_scratch(const DeviceOperand& operand);

// Enqueues words[line][kPieceWords] of arith/accuracy/piece_facts.hpp for the lines of one matrix; neither synchronises nor
// allocates. Throws LaunchError. Range: float64 or float32, outer and inner >= 1, no stack.
OZFP4_CUDA_EXPORT void launch_piece_facts(const DeviceOperand& operand, std::int64_t* words, void* scratch, cudaStream_t stream);

}  // namespace ozfp4::cuda
