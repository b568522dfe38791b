// What the kernel of whole tiles needs to know of a plan: constants of its first moduli, in the form of its parameters.
#pragma once

#include <cstdint>
#include <optional>

#include "arith/limbs/residue_bytes.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/reconstruct/reconstruct_plan.hpp"

namespace ozfp4::cuda {

inline constexpr int kMostTileInner = 64;  // entries of K
inline constexpr int kMostTileModuli = kRowsPerStep;
inline constexpr int kTileIntegerWords = 2;  // of the integers of an operand
inline constexpr int kTileIntegerBits = byte_bits(kTileIntegerWords);

// Constants of the residues of two moduli, as arith/limbs/residue_bytes.hpp has them, from dot products of bytes or of residues.
struct Quotient {
  std::uint32_t preset = 0;
  float inverse = 0, shift = 0;
  std::uint32_t negated = 0;
};

struct TileTables {
  int count = 0;  // of moduli: kMostTileModuli at most
  // No result is lost whose lines' integers have norms with norm_a^2 norm_b^2 < 2^most_log_square; and none of integers of `bits`
  // bits and kMostTileInner entries or fewer.
  int most_log_square = 0, bits = 0;
  Quotient encode[kMostTileModuli], fold[kMostTileModuli];
  std::uint32_t weight[kMostTileModuli][kTileIntegerWords] = {};
  ColumnConstants<4> columns{};
  std::uint32_t finish[2][32] = {};  // ReconstructPlan::fragment
};

// Of a plan for K = k; nothing where the kernel does not serve it: plans of another scheme or alphabet, of complex numbers, of
// parts, with too few moduli for `bits` bits, and longer K.
std::optional<TileTables> make_tile_tables(const Plan& plan, int k, int bits);

}  // namespace ozfp4::cuda
