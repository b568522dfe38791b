#include "cpu/words/entries.hpp"

#include "arith/float_fields.hpp"
#include "cpu/runtime/vectorise.hpp"
#include "cpu/runtime/vectors.hpp"

namespace ozfp4 {

// An entry is rounded where its integer is another number, or 0 though it is not: then the scaled number may have vanished.
OZFP4_VECTORISED void convert_entries(double* x, std::uint64_t* words, std::int64_t step, std::int64_t count, const double* scale,
                                      LaneIntegers& found) {
  constexpr std::uint64_t magnitude_mask = ~std::uint64_t(0) >> 1;
  Numbers squares = {}, own;
  Counts rounded = {};
  load_lanes(scale, own);
  for (std::int64_t i = 0; i < count; ++i, x += step, words += step) {
    Words bits, word;
    load_lanes(x, bits);
    const Words magnitude = bits & magnitude_mask, kept = magnitude < kInfinityBits<double> ? bits : 0 * bits;
    Numbers z, value;
    take_bits(kept, z);
    z *= own;
    split_near_entry(z, value, word);
    rounded -= (value != z) | ((value == 0.0) & ((kept & magnitude_mask) != 0));
    squares += value * value;
    store_lanes(value, x);
    store_lanes(word, words);
  }
  store_lanes(squares, found.squares);
  store_lanes(rounded, found.rounded);
}

OZFP4_VECTORISED void find_residues(const double* __restrict integers, std::int64_t n, const Bridge& bridge,
                                    double* __restrict residues) {
  const Bridge own = bridge;
  for (std::int64_t i = 0; i < n; ++i) residues[i] = near_residue(integers[i], own);
}

OZFP4_VECTORISED void find_wide_residues(const double* __restrict integers, std::int64_t n, std::uint64_t* __restrict residues) {
  const Bridge own = kWideBridge;
  constexpr double magic = 0x1.8p52;  // as split_near_entry
  for (std::int64_t i = 0; i < n; ++i) {
    residues[i] = float_bits(near_residue(integers[i], own) + magic) - 0x4338000000000000u;
  }
}

}  // namespace ozfp4
