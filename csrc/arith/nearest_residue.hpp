// An integer modulo m, nearest to zero.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/host_device.hpp"

namespace ozfp4 {

// At most m / 2 in magnitude. Range: x of an integer type, 1 <= m < 2^63.
template <class T>
OZFP4_HD std::int64_t nearest_residue(T x, std::int64_t m) {
  std::int64_t rest = 0;
  if constexpr (std::is_unsigned_v<T>) {
    rest = static_cast<std::int64_t>(x % static_cast<std::uint64_t>(m));
  } else {
    rest = x % m;
    if (rest < 0) rest += m;
  }
  return rest > m / 2 ? rest - m : rest;
}

}  // namespace ozfp4
