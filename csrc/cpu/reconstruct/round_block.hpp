// Entries of a block in runs, and every integer of it rounded to nearest.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/crt/columns.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {

inline constexpr std::int64_t kRoundGrain = 8192;

// Calls body(row, column, n, address) for runs of up to kLanes entries of a row of the result, on several threads.
template <class Body>
void for_runs(const ResultView& result, const Body& body) {
  const std::int64_t grain = std::max<std::int64_t>(1, kRoundGrain / result.columns);
  parallel_for(result.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t column = 0; column < result.columns; column += kLanes) {
        body(row, column, static_cast<int>(std::min<std::int64_t>(kLanes, result.columns - column)), result.at(row, column));
      }
    }
  });
}

// `Source`: as in CertifiedBlock.
template <class T, class Source>
void round_block(const Source& integers, const std::int32_t* shift_a, const std::int32_t* shift_b, const ResultView& result) {
  for_runs(result, [&](std::int64_t row, std::int64_t column, int n, char* address) {
    std::int32_t exponent[kLanes];
    T rounded[kLanes];
    for (int i = 0; i < n; ++i) exponent[i] = -(shift_a[row] + shift_b[column + i]);
    integers.round(integers.at(row, column), n, exponent, rounded);
    store_line(address, result.column_stride, rounded, n);
  });
}

}  // namespace ozfp4
