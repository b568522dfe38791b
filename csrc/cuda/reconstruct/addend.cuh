// The entry of C that an entry of the product is added to.
#pragma once

#include <cstdint>

#include "cuda/stack_index.cuh"

namespace ozfp4::cuda {

// Of a matrix, a row and a column of the block that `update` is for; 0 where there is no C.
__device__ __forceinline__ double addend_at(const DeviceUpdate& update, std::int32_t matrix, std::int64_t row,
                                            std::int64_t column) {
  const DeviceResult& c = update.c;
  if (c.data == nullptr) return 0.0;
  const char* at = c.data + StackIndex{matrix}.offset(c.stack) + row * c.row_stride + column * c.column_stride;
  return c.type == ElementType::float64 ? *reinterpret_cast<const double*>(at)
                                        : static_cast<double>(*reinterpret_cast<const float*>(at));
}

}  // namespace ozfp4::cuda
