// Sums of residues or digits, four bytes at a time.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"

namespace ozfp4 {

// (x + y + carry) mod modulus in each byte; carry becomes 1 in the bytes where the modulus was taken away. Precondition: bytes of
// x and y below the modulus, which is at most 256, and bytes of carry 0 or 1; others give bytes of no meaning.
OZFP4_HD std::uint32_t add_bytes(std::uint32_t x, std::uint32_t y, std::uint32_t modulus, std::uint32_t& carry) {
  std::uint32_t sum = 0, carries = 0;
  for (int bits = 0; bits < 32; bits += 8) {
    const std::uint32_t digit = ((x >> bits) & 0xffu) + ((y >> bits) & 0xffu) + ((carry >> bits) & 0xffu);
    const bool is_over = digit >= modulus;
    sum |= ((digit - (is_over ? modulus : 0u)) & 0xffu) << bits;
    carries |= (is_over ? 1u : 0u) << bits;
  }
  carry = carries;
  return sum;
}

}  // namespace ozfp4
