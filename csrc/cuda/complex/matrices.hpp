// Complex matrices on the device, for the kernels that take an entry a thread.
#pragma once

#include <cstdint>

#include "arith/element_type.hpp"

namespace ozfp4::cuda {

struct PairExtents {
  std::int64_t matrices = 1, rows = 0, columns = 0;
};

// Pairs (re, im) of `part`, float64 or float32, and bytes from row to row, from column to column, from matrix to matrix. Entries
// are aligned to their parts. Null: there are none.
struct PairMatrices {
  char* data = nullptr;
  ElementType part = ElementType::float64;
  std::int64_t stride = 0, column_stride = 0, matrix_stride = 0;
};

}  // namespace ozfp4::cuda
