#include "cpu/accuracy/lane_errors.hpp"

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {

OZFP4_VECTORISED std::int64_t find_errors(const ErrorTerms& row, const LaneErrorTerms& columns, int n, double* error) {
  const double rounded = row.rounded, nonzeros = row.nonzeros, half = row.half;
  std::int64_t zeros = 0;
  for (int i = 0; i < n; ++i) {
    const double of_row = columns.rounded[i] < nonzeros ? columns.rounded[i] : nonzeros;
    const double of_column = rounded < columns.nonzeros[i] ? rounded : columns.nonzeros[i];
    const double own = of_row * half + of_column * columns.half[i];
    error[i] = own;
    zeros += own == 0.0 ? 1 : 0;
  }
  return zeros;
}

OZFP4_VECTORISED bool is_any(const std::int64_t* refused, int n) {
  std::int64_t any = 0;
  for (int i = 0; i < n; ++i) any |= refused[i];
  return any != 0;
}

}  // namespace ozfp4
