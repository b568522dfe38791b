// This header certifies all entries of a row and a segment of columns at once, or leaves to each a test that costs next to
// nothing.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/accuracy/certificate.hpp"
#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/reconstruct/round_fast.hpp"

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

// The question to an entry of the row, the number of the test below; kNoTest: nothing; kLists: nothing, and all of the row's
// entries are listed.
inline constexpr std::int32_t kNoTest = INT32_MIN / 2, kLists = kNoTest - 1;

// The counts of rounded_products, at most, over the columns of a segment.
struct SegmentCounts {
  std::uint64_t by_row, by_column;
  OZFP4_HD SegmentCounts(const LineRecord& row, const SegmentRecord& columns)
      : by_row(min(row.rounded, static_cast<std::uint64_t>(columns.most_nonzeros))),
        by_column(min(static_cast<std::uint64_t>(columns.most_rounded), static_cast<std::uint64_t>(row.nonzeros))) {}
};

// Says for "standard" whether the lines alone certify the row with every column of the segment, by what is least for all of
// them.
OZFP4_HD std::int32_t standard_test(const LineRecord& row, const SegmentRecord& columns, std::int64_t inner) {
  const int rounded = (row.rounded != 0) + (columns.most_rounded != 0);
  const bool is_certified =
      rounded == 0 || certifies_depth(row.depth + columns.depth, row.nonzeros + columns.least_nonzeros - inner, rounded);
  return is_certified ? kNoTest : kLists;
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

// The questions to the entries of a row.
struct RowTest {
  std::int32_t number = kNoTest;
  OZFP4_HD bool tests() const { return number != kNoTest && number != kLists; }
};

// Whether an entry x * 2^scale, normalised as for round_leading, has to be looked at more closely. `first_scale` is the scale
// that x had before, 2^first_scale the weight of the last bit of 2^k V, and the test's number that of correct_test plus k.
//
// In a window of 62 or 63 bits and a sign (round_leading) the lowest bits, 9 or 10 for FP64, are rounded away. With the 32 bits
// below the window they are a fraction of the last place, cut off by less than one of its units. V - E and V + E round to the
// same bits under two conditions. The fraction is further from one half than E and that unit. And E is less than a quarter of the
// last place, so that no tie of the smaller places below a power of two is reached. In two's complement the distance from one
// half is the same for both signs. A number of few bits, 0 among them, has a fraction of tiny units: any error is too large for
// it.
template <class T, int Words>
OZFP4_HD bool is_doubtful(const WideInt<Words>& x, std::int32_t scale, std::int32_t first_scale, const RowTest& test) {
  if (!test.tests()) return false;
  const std::uint32_t high = x.word[Words - 1], middle = x.word[Words - 2], low = x.word[Words - 3];
  const std::uint32_t shift = (leading_shift(high) - 1u) & 31u;
  const std::uint32_t window_high = funnel_left(middle, high, shift);
  const std::int32_t window_scale = scale + 32 * (Words - 2) - static_cast<std::int32_t>(shift);
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

}  // namespace ozfp4::cuda::short_form
