// Integers modulo m, for the making of plans.
#pragma once

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

namespace ozfp4 {

// a mod m in [0, m). Precondition: m > 0.
inline std::int64_t modulo(std::int64_t a, std::int64_t m) {
  const std::int64_t r = a % m;
  return r < 0 ? r + m : r;
}

// a^-1 modulo m in [0, m), by Euclid's algorithm. Precondition: 0 < m < 2^31; throws std::logic_error where there is none.
inline std::int64_t inverse_modulo(std::int64_t a, std::int64_t m) {
  std::int64_t r0 = m, r1 = modulo(a, m), t0 = 0, t1 = 1;
  while (r1 != 0) {
    const std::int64_t q = r0 / r1, r2 = r0 - q * r1, t2 = t0 - q * t1;
    r0 = r1, r1 = r2, t0 = t1, t1 = t2;
  }
  if (r0 != 1) throw std::logic_error(std::to_string(a) + " has no inverse modulo " + std::to_string(m));
  return modulo(t0, m);
}

// The least u in [1, m] with u * to = from (mod m), or -1 where there is none. Precondition: from and to in [0, m), m < 2^31.
inline std::int64_t ratio(std::int64_t from, std::int64_t to, std::int64_t m) {
  const std::int64_t divisor = std::gcd(to, m);
  if (from % divisor != 0) return -1;
  const std::int64_t reduced = m / divisor;
  const std::int64_t u = reduced == 1 ? 1 : from / divisor % reduced * inverse_modulo(to / divisor, reduced) % reduced;
  return u == 0 ? reduced : u;
}

// a^exponent modulo m. Precondition: a in [0, m), exponent >= 0, 0 < m < 2^31.
inline std::int64_t power_modulo(std::int64_t a, std::int64_t exponent, std::int64_t m) {
  std::int64_t power = 1 % m;
  for (; exponent > 0; exponent /= 2, a = a * a % m) {
    if (exponent % 2 == 1) power = power * a % m;
  }
  return power;
}

// r in (0, m) with r^2 = -1 (mod m) where all prime factors of m are 1 modulo 4; else 0. Precondition: 1 < m < 2^31.
inline std::int64_t root_of_minus_one(std::int64_t m) {
  std::int64_t root = 0, solved = 1;
  for (std::int64_t rest = m, p = 2; rest > 1; ++p) {
    if (p * p > rest) p = rest;
    if (rest % p != 0) continue;
    if (p % 4 != 1) return 0;
    std::int64_t power = 1;
    for (; rest % p == 0; rest /= p) power *= p;
    // Half of all g are no squares modulo p, and their power is a root; modulo the power of p by Newton's iteration.
    std::int64_t own = 0;
    for (std::int64_t g = 2; own * own % p != p - 1; ++g) own = power_modulo(g, (p - 1) / 4, p);
    while ((own * own + 1) % power != 0) {
      own = modulo(own - (own * own + 1) % power * inverse_modulo(2 * own, power) % power, power);
    }
    root += solved * (modulo(own - root, power) * inverse_modulo(solved, power) % power);
    solved *= power;
  }
  return root;
}

}  // namespace ozfp4
