// Tensor maps for TMA, encoded on the host. The driver's function is looked up at run time, so nothing links libcuda.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/launch.hpp"
#include "cuda/multiply/contract.hpp"

namespace ozfp4::cuda {

// Throws LaunchError, with cudaErrorNotSupported where the driver has no tensor maps.
inline void encode_map(CUtensorMap* map, int rank, const void* data, const cuuint64_t* extent, const cuuint64_t* stride,
                       const cuuint32_t* box, CUtensorMapSwizzle swizzle) {
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
#else
    const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
    const bool is_found = error == cudaSuccess && found == cudaDriverEntryPointSuccess;
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(is_found ? function : nullptr);
  }();
  if (encode == nullptr) throw LaunchError(Stage::multiply, cudaErrorNotSupported, "the driver's tensor maps");
  const cuuint32_t element_stride[5] = {1, 1, 1, 1, 1};
  const CUresult result =
      encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, static_cast<cuuint32_t>(rank), const_cast<void*>(data), extent, stride, box,
             element_stride, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);  // reads outside give zeros
  if (result != CUDA_SUCCESS) throw LaunchError(Stage::multiply, cudaErrorInvalidValue, "a tensor map");
}

// Planes [plane][batch][row][byte], read in boxes of `box_rows` rows x `box_bytes` bytes (128 or 64: the swizzled row). The
// extent along K is the true one, so the padding of a row reads as zero.
inline void encode_plane_map(CUtensorMap* map, const PlaneArray& planes, int rows, std::int64_t bytes, int box_rows,
                             int box_bytes) {
  const cuuint64_t extent[4] = {static_cast<cuuint64_t>(bytes), static_cast<cuuint64_t>(rows),
                                static_cast<cuuint64_t>(planes.batches), static_cast<cuuint64_t>(planes.planes)};
  const cuuint64_t stride[3] = {static_cast<cuuint64_t>(planes.pitch), static_cast<cuuint64_t>(planes.batch_stride),
                                static_cast<cuuint64_t>(planes.plane_stride)};
  const cuuint32_t box[4] = {static_cast<cuuint32_t>(box_bytes), static_cast<cuuint32_t>(box_rows), 1, 1};
  encode_map(map, 4, planes.data, extent, stride, box, box_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B);
}

// Byte output [matrix][row][column], written in boxes of 64 rows x 128 (64) bytes.
inline void encode_output_map(CUtensorMap* map, const GemmProblem& problem, int matrices_of_plane, int box_columns) {
  const cuuint64_t extent[3] = {static_cast<cuuint64_t>(problem.n), static_cast<cuuint64_t>(problem.m),
                                static_cast<cuuint64_t>(problem.out_planes) * static_cast<cuuint64_t>(matrices_of_plane)};
  const cuuint64_t stride[2] = {static_cast<cuuint64_t>(problem.out_pitch), static_cast<cuuint64_t>(problem.out_matrix_stride)};
  const cuuint32_t box[3] = {static_cast<cuuint32_t>(box_columns), 64, 1};
  encode_map(map, 3, problem.out, extent, stride, box,
             box_columns == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B);
}

}  // namespace ozfp4::cuda
