// The operands' entries of a tile: from memory to what scale finds of their lines, and to residues in shared memory.
#pragma once

#include <cstdint>

#include "arith/limbs/residue_bytes.hpp"
#include "arith/scale_entry.hpp"
#include "cuda/fused/tile_shape.cuh"

namespace ozfp4::cuda::fused {

// Sixteen entries of a line: chunk `chunk`.
struct Unit {
  int line, chunk;
};

// This thread's number `i` of an operand: neighbouring threads read what are neighbours in memory.
template <class S>
__device__ __forceinline__ Unit unit_of(int i, bool runs_along_k) {
  const int number = static_cast<int>(threadIdx.x) + i * kTileThreads;
  return runs_along_k ? Unit{number / S::Chunks, number % S::Chunks} : Unit{number % kTile, number / kTile};
}

// Zeros beyond the lines and K.
template <class S>
__device__ __forceinline__ void load_unit(double (&x)[16], const Source& from, const Unit& unit, int inner) {
  const char* at = from.data + unit.line * from.outer_stride + unit.chunk * from.inner_stride;
  const int left = unit.line < from.lines ? inner - unit.chunk : 0;
#pragma unroll
  for (int i = 0; i < 16; ++i, at += S::Chunks * from.inner_stride) {
    x[i] = S::Chunks * i < left ? *reinterpret_cast<const double*>(at) : 0.0;
  }
}

// Tables for all threads of the block.
template <bool Certifies>
__device__ __forceinline__ void fill_tables(TileShared<Certifies>& shared, const TileTables& tables) {
  const int i = static_cast<int>(threadIdx.x), lane = i % 32, n = lane / 4;
  static_assert(kTileThreads == 32 * kFinishColumns && kTileThreads == 32 * kMostTileModuli / 2, "a thread for each fragment");
  shared.finish.column[i / 32][lane] = finish_fragment(tables.finish, i / 32, lane);
  const int modulus = 2 * (i / 32) + n % 2;
  const bool is_own = n / 2 == lane % 4;
  shared.weight[i / 32][lane] = {is_own ? tables.weight[modulus][0] : 0u, is_own ? tables.weight[modulus][1] : 0u};
  if (i < kMostTileModuli) {
    shared.encode[i] = tables.encode[i];
    shared.fold[i] = tables.fold[i];
  }
  if (i == 0) shared.columns = tables.columns;
}

// The integers of a unit plus their offsets, by the scale exponent of its line.
__device__ __forceinline__ void scale_unit(const double (&x)[16], int shift, IntegerBytes<kTileIntegerWords> (&bytes)[16]) {
  const ShiftHalves halves = halves_of(shift);
  const auto first = exact_power_of_two<double>(halves.first), second = exact_power_of_two<double>(halves.second);
#pragma unroll
  for (int i = 0; i < 16; ++i) bytes[i] = bytes_of(scaled_integer_by_multiplication<std::int64_t>(x[i], first, second));
}

// A word whose low byte is the residue; `bits` from the preset of the constants.
__device__ __forceinline__ std::uint32_t reduce(std::uint32_t bits, const Quotient& by) {
  return reduce_dot(bits, by.inverse, by.shift, by.negated);
}

__device__ __forceinline__ std::uint32_t low_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

// The residues of a unit modulo moduli 2 pair and 2 pair + 1, sixteen bytes each. Rows of the left operand are entries, of which
// each lane has the bytes of two; as in finish.cuh the right operand's columns 2 t and 2 t + 1 take those of lane t alone.
__device__ __forceinline__ void residues_of(const IntegerBytes<kTileIntegerWords> (&bytes)[16], const uint2& weight,
                                            const Quotient& first, const Quotient& second, std::uint32_t (&word)[2][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    std::uint32_t r[2][4];
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      const auto &x = bytes[4 * i + j], &y = bytes[4 * i + j + 1];
      std::uint32_t c[4] = {first.preset, second.preset, first.preset, second.preset};
      multiply_bytes(c, x.word[0], y.word[0], x.word[1], y.word[1], weight.x, weight.y);
      r[0][j] = reduce(c[0], first), r[1][j] = reduce(c[1], second);
      r[0][j + 1] = reduce(c[2], first), r[1][j + 1] = reduce(c[3], second);
    }
#pragma unroll
    for (int m = 0; m < 2; ++m) word[m][i] = low_bytes(r[m][0], r[m][1], r[m][2], r[m][3]);
  }
}

// Encodes one operand's lines, from line number `at` of the block on, for the moduli of a pass.
template <class S, bool Certifies>
__device__ __forceinline__ void encode_operand(TileShared<Certifies>& shared, const Source& from, bool runs_along_k, int at,
                                               int inner, int first_modulus, int count) {
#pragma unroll 1
  for (int i = 0; i < S::units; ++i) {
    const Unit unit = unit_of<S>(i, runs_along_k);
    const auto line = static_cast<std::uint32_t>(at + unit.line);
    double x[16];
    load_unit<S>(x, from, unit, inner);
    IntegerBytes<kTileIntegerWords> bytes[16];
    scale_unit(x, shared.line[line].shift, bytes);
    std::uint32_t target =
        shared_address(shared.planes) + line * S::pitch + S::place_of(line, static_cast<std::uint32_t>(unit.chunk));
    const int pairs = (min(S::moduli, count - first_modulus) + 1) / 2;
#pragma unroll 1
    for (int pair = first_modulus / 2; pair < first_modulus / 2 + pairs; ++pair, target += 2 * S::plane_bytes) {
      std::uint32_t word[2][4];
      residues_of(bytes, shared.weight[pair][threadIdx.x % 32], shared.encode[2 * pair], shared.encode[2 * pair + 1], word);
      store_shared(target, {word[0][0], word[0][1], word[0][2], word[0][3]});
      store_shared(target + S::plane_bytes, {word[1][0], word[1][1], word[1][2], word[1][3]});
    }
  }
}

}  // namespace ozfp4::cuda::fused
