// Sizes in whole multiples.
#pragma once

#include <cstdint>

namespace ozfp4 {

// Precondition: x >= 0, multiple >= 1, x + multiple - 1 < 2^63; likewise below.
constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t multiple) { return (x + multiple - 1) / multiple; }

constexpr std::int64_t round_up(std::int64_t x, std::int64_t multiple) { return ceil_div(x, multiple) * multiple; }

}  // namespace ozfp4
