// What certifies all entries of a row and a segment of columns at once, or leaves to each a test that costs next to nothing.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/accuracy/certificate.hpp"
#include "arith/wide/round_fast.hpp"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda::short_form {

// Extremes of the columns of a segment; counts are at most K < 2^31.
struct SegmentRecord {
  std::int64_t depth = 0;
  std::int32_t least_nonzeros = INT32_MAX, most_nonzeros = 0, most_rounded = 0;
  std::int32_t least_capacity = INT32_MAX;  // of columns with rounded entries
  std::int32_t most_capacity = 0;

  OZFP4_HD void add(const LineRecord& column) {
    const auto nonzeros = static_cast<std::int32_t>(column.nonzeros), rounded = static_cast<std::int32_t>(column.rounded);
    depth = max(depth, column.depth);
    least_nonzeros = min(least_nonzeros, nonzeros);
    most_nonzeros = max(most_nonzeros, nonzeros);
    most_rounded = max(most_rounded, rounded);
    if (rounded != 0) least_capacity = min(least_capacity, column.capacity);
    most_capacity = max(most_capacity, column.capacity);
  }

  // Over the lanes of the warp.
  __device__ __forceinline__ void combine() {
    constexpr unsigned all_lanes = 0xffffffffu;
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
      depth = max(depth, static_cast<std::int64_t>(__shfl_xor_sync(all_lanes, static_cast<long long>(depth), apart)));
    }
    least_nonzeros = __reduce_min_sync(all_lanes, least_nonzeros);
    most_nonzeros = __reduce_max_sync(all_lanes, most_nonzeros);
    most_rounded = __reduce_max_sync(all_lanes, most_rounded);
    least_capacity = __reduce_min_sync(all_lanes, least_capacity);
    most_capacity = __reduce_max_sync(all_lanes, most_capacity);
  }
};

// What an entry of the row is asked, a number for both tests below; kNoTest: nothing.
inline constexpr std::int32_t kNoTest = INT32_MIN / 2;

// The counts of rounded_products, at most, over the columns of a segment.
struct SegmentCounts {
  std::uint64_t by_row, by_column;
  OZFP4_HD SegmentCounts(const LineRecord& row, const SegmentRecord& columns)
      : by_row(min(row.rounded, static_cast<std::uint64_t>(columns.most_nonzeros))),
        by_column(min(static_cast<std::uint64_t>(columns.most_rounded), static_cast<std::uint64_t>(row.nonzeros))) {}
};

// certify for every column of the segment, by what is least for all of them; and where that fails, certified_length, less 1.
OZFP4_HD std::int32_t fp64_test(const LineRecord& row, const SegmentRecord& columns, std::int64_t inner, int precision) {
  const SegmentCounts count(row, columns);
  if (count.by_row == 0 && count.by_column == 0) return kNoTest;
  const int below_column = count.by_column == 0 ? 0 : binades_below(count.by_column, inner);
  const int below_row = count.by_row == 0 ? 0 : binades_below(count.by_row, inner);
  const std::int64_t overlap = row.nonzeros + columns.least_nonzeros - inner;
  if (overlap >= 1) {
    // capacities less error_exponent, in the certificate; a count of 0 would make it larger
    int spare = INT32_MAX;
    if (count.by_column != 0) spare = columns.least_capacity + below_column;
    if (count.by_row != 0) spare = min(spare, row.capacity + below_row);
    if (row.depth + columns.depth <= overlap * (floor_log2(overlap) + spare - precision - 2)) return kNoTest;
  }
  int exponent = INT32_MIN / 4;  // error_exponent, at most
  if (count.by_column != 0) exponent = row.capacity - below_column;
  if (count.by_row != 0) exponent = max(exponent, columns.most_capacity - below_row);
  return exponent + max(floor_log2(inner) + 1, precision) + 1;
}

// e with E < 2^e for every column of the segment.
OZFP4_HD std::int32_t correct_test(const LineRecord& row, const SegmentRecord& columns) {
  const SegmentCounts count(row, columns);
  if (count.by_row == 0 && count.by_column == 0) return kNoTest;
  int exponent = INT32_MIN / 4;
  if (count.by_column != 0) exponent = highest_bit(count.by_column) + 1 + row.capacity;
  if (count.by_row != 0) exponent = max(exponent, highest_bit(count.by_row) + 1 + columns.most_capacity);
  return exponent;
}

// What the entries of a row are asked.
struct RowTest {
  std::int32_t number = kNoTest;
  bool is_correct = false;  // which of the two it is
};

// Whether an entry x * 2^scale, normalised as for round_leading, has to be looked at more closely; `first_scale` is the scale
// that x had before, 2^first_scale the weight of the last bit of 2^k V, and the test's number one of the two above plus k.
//
// In a window of 62 or 63 bits and a sign (round_leading) the lowest bits, 9 or 10 for FP64, are rounded away; with the 32 bits
// below the window they are a fraction of the last place, cut off by less than one of its units. V - E and V + E round to the
// same bits where the fraction is further from one half than E and that unit, and E is less than a quarter of the last place,
// so that no tie of the smaller places below a power of two is reached either. In two's complement the distance from one half is
// the same for both signs. A number of few bits, 0 among them, has a fraction of tiny units: any error is too large for it.
template <class T, int Words>
OZFP4_HD bool is_doubtful(const WideInt<Words>& x, std::int32_t scale, std::int32_t first_scale, const RowTest& test) {
  if (test.number == kNoTest) return false;
  if constexpr (Words == 2) {
    return true;
  } else {
    const std::uint32_t high = x.word[Words - 1], middle = x.word[Words - 2], low = x.word[Words - 3];
    const std::uint32_t shift = (leading_shift(high) - 1u) & 31u;
    const std::uint32_t window_high = funnel_left(middle, high, shift);
    const std::int32_t window_scale = scale + 32 * (Words - 2) - static_cast<std::int32_t>(shift);
    if (!test.is_correct) return window_scale + 61 < test.number + first_scale;
    const std::uint32_t window_low = funnel_left(low, middle, shift), next = funnel_left(x.word[Words - 4], low, shift);
    const bool is_long = (((window_high >> 30) ^ (window_high >> 31)) & 1u) != 0;
    if constexpr (std::is_same_v<T, double>) {
      const int bits = (is_long ? 10 : 9) + 32;
      const std::uint64_t fraction = ((static_cast<std::uint64_t>(window_low) << 32) | next) & ((std::uint64_t(1) << bits) - 1);
      const std::int32_t error = test.number + first_scale - (window_scale - 32);  // E < 2^error units
      const std::uint64_t half = std::uint64_t(1) << (bits - 1), distance = fraction > half ? fraction - half : half - fraction;
      return error >= bits - 2 || distance < (std::uint64_t(1) << max(error, 0)) + 2;
    } else {
      const int bits = is_long ? 39 : 38;
      const std::uint64_t window = (static_cast<std::uint64_t>(window_high) << 32) | window_low;
      const std::uint64_t fraction = window & ((std::uint64_t(1) << bits) - 1);
      const std::int32_t error = test.number + first_scale - window_scale;
      const std::uint64_t half = std::uint64_t(1) << (bits - 1), distance = fraction > half ? fraction - half : half - fraction;
      return error >= bits - 2 || distance < (std::uint64_t(1) << max(error, 0)) + 2;
    }
  }
}

}  // namespace ozfp4::cuda::short_form
