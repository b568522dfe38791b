// Integers modulo m, for the making of plans.
#pragma once

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

namespace ozfp4 {

// a mod m in [0, m). Range: m > 0.
inline std::int64_t modulo(std::int64_t a, std::int64_t m) {
  const std::int64_t r = a % m;
  return r < 0 ? r + m : r;
}

// a^-1 modulo m in [0, m), by Euclid's algorithm. Range: 0 < m < 2^31; throws std::logic_error where there is none.
inline std::int64_t inverse_modulo(std::int64_t a, std::int64_t m) {
  std::int64_t r0 = m, r1 = modulo(a, m), t0 = 0, t1 = 1;
  while (r1 != 0) {
    const std::int64_t q = r0 / r1, r2 = r0 - q * r1, t2 = t0 - q * t1;
    r0 = r1, r1 = r2, t0 = t1, t1 = t2;
  }
  if (r0 != 1) throw std::logic_error(std::to_string(a) + " has no inverse modulo " + std::to_string(m));
  return modulo(t0, m);
}

// The least u in [1, m] with u * to = from (mod m), or -1 where there is none. Range: from and to in [0, m), m < 2^31.
inline std::int64_t ratio(std::int64_t from, std::int64_t to, std::int64_t m) {
  const std::int64_t divisor = std::gcd(to, m);
  if (from % divisor != 0) return -1;
  const std::int64_t reduced = m / divisor;
  const std::int64_t u = reduced == 1 ? 1 : from / divisor % reduced * inverse_modulo(to / divisor, reduced) % reduced;
  return u == 0 ? reduced : u;
}

}  // namespace ozfp4
