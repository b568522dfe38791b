// Integers modulo a number below 2^63.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/host_device.hpp"

namespace ozfp4 {

// ---- Of 128 bits: where an integer product is asked for modulo m ------------------------------------------------------------

__extension__ typedef unsigned __int128 Unsigned128;
__extension__ typedef __int128 Signed128;

struct Modulo {
  std::uint64_t number = 0;  // m, in [1, 2^63)
  double inverse = 0;        // fl(1 / m)
};

inline Modulo make_modulo(std::uint64_t m) { return {m, 1.0 / static_cast<double>(m)}; }

// x mod m. Precondition: x < 2^40 m. The quotient is estimated in FP64: it is below 2^40 with a relative error under 2^-50, and
// so off by one at most.
OZFP4_HD std::uint64_t reduce(Unsigned128 x, const Modulo& m) {
  const double value = static_cast<double>(static_cast<std::uint64_t>(x >> 64)) * 18446744073709551616.0 +
                       static_cast<double>(static_cast<std::uint64_t>(x));
  const auto quotient = static_cast<std::uint64_t>(value * m.inverse);
  auto rest = static_cast<Signed128>(x - static_cast<Unsigned128>(quotient) * m.number);
  if (rest < 0) rest += m.number;
  if (rest >= static_cast<Signed128>(m.number)) rest -= m.number;
  return static_cast<std::uint64_t>(rest);
}

// x y mod m. Precondition: x, y < m.
inline std::uint64_t multiply_modulo(std::uint64_t x, std::uint64_t y, std::uint64_t m) {
  return static_cast<std::uint64_t>(static_cast<Unsigned128>(x) * y % m);
}

// The residue nearest to zero: at most m / 2 in magnitude. Precondition: x of an integer type, 1 <= m < 2^63.
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
