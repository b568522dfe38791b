// Residues of integers by dot products of their bytes with weights, where the CPU has instructions for these.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/runtime/matrix_view.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// Words of the longest integers: 96 bits, sign included.
inline constexpr int kMostByteWords = 3;

// An integer v in two's complement is sum_j b_j 2^(8 j) - 2^(8 J - 1) for its bytes b_j, the top bit of the last one turned. So v
// = x (mod m) for x = start + sum_j b_j w_j, where w_j = 2^(8 j) and start = -2^(8 J - 1) modulo m. Both are balanced, in [-m /
// 2, m / 2): |x| <= 12 * 255 * 128 + 128 < 2^19. x - m rint(x / m) is found as by cpu/encode/residue.hpp.
struct ByteModulus {
  float modulus, inverse;
  bool has_ties;  // even, but not 256, of which bytes hold -128 alone
  std::int32_t start;
  std::uint32_t weight[kMostByteWords];  // signed bytes
  std::int64_t plane;
};

// All of the planes of lines of integers: residues in [-m / 2, m / 2).
class ByteEncoder {
 public:
  // An encoder for the first `count` moduli and integers of up to 2^bits in magnitude. None where it is not possible: limbs that
  // are no residues, integers that are too long, or a CPU without the instructions.
  static std::optional<ByteEncoder> of(const Plan& plan, int count, int bits);

  // Planes of one line, `pitch` apart: word[0][i], word[1][i] and so on are the words of integer i. Precondition:
  // 1 <= n <= kTileInner.
  void encode(const std::uint32_t (*word)[kTileInner], std::int64_t n, std::int8_t* limbs, std::int64_t pitch) const;

 private:
  int words_ = 0;
  std::vector<ByteModulus> moduli_;
};

}  // namespace ozfp4
