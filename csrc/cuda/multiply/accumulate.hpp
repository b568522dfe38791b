// Outputs of multiply over consecutive pieces of K, added up where the first piece has left its own.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "plan/schedule.hpp"

namespace ozfp4::cuda {

// sum += part for all planes of bytes of the schedule: residues modulo their moduli, digits with their carries. Both lie as
// [plane][byte], `plane_bytes` each, a multiple of 4, as the address is. Throws LaunchError. Range: digits of a sum
// that has room in the planes.
void launch_add_bytes(const Schedule& schedule, std::uint8_t* sum, const std::uint8_t* part, std::int64_t plane_bytes,
                      cudaStream_t stream);

// Matrices of int32 one behind the other; pitch and stride in entries.
template <class T>
struct WordMatrices {
  T* data;
  std::int64_t pitch, matrix_stride;
};

// sum += part modulo 2^32. Throws LaunchError. Range: matrices * rows < 2^63.
void launch_add_words(const WordMatrices<std::uint32_t>& sum, const WordMatrices<const std::uint32_t>& part,
                      std::int64_t matrices, std::int32_t rows, std::int32_t columns, cudaStream_t stream);

}  // namespace ozfp4::cuda
