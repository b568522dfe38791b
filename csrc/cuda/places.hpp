// Sizes of what may be larger than any memory, and places in a workspace.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "arith/multiples.hpp"

namespace ozfp4::cuda {

// Above what any memory holds, and so little that a sum of all parts of a workspace does not overflow.
inline constexpr std::int64_t kMostBytes = std::int64_t(1) << 55;

// The product, or kMostBytes where it is larger: stacks of expanded operands can be of any size. Precondition: numbers from 0 on.
inline std::int64_t size_of(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor != 0 && product > kMostBytes / factor) return kMostBytes;
    product *= factor;
  }
  return product;
}

inline constexpr std::int64_t kPlaceAlignment = 256;

// Places one behind the other; `bytes` is the end of the last.
struct PlaceCount {
  std::int64_t bytes = 0;

  std::int64_t take(std::int64_t size) {
    const std::int64_t place = bytes;
    bytes = round_up(bytes + size, kPlaceAlignment);
    return place;
  }
};

}  // namespace ozfp4::cuda
