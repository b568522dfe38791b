// The operands' entries of a tile: from memory to what scale finds of their lines, and to residues in shared memory.
#pragma once

#include <cstdint>

#include "arith/limbs/split_integer.hpp"
#include "cuda/encode/group.cuh"
#include "cuda/fused/tile_shape.cuh"
#include "cuda/multiply/ptx/hold.cuh"
#include "cuda/reconstruct/columns.cuh"

namespace ozfp4::cuda::fused {

__device__ __forceinline__ void load_words(std::uint32_t (&x)[4], std::uint32_t address) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address)
               : "memory");
}

// The same, never merged with another: where an accumulator starts.
__device__ __forceinline__ void load_start(std::uint32_t (&x)[4], std::uint32_t address) {
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void store_words(std::uint32_t address, const uint2& x) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(x.x), "r"(x.y) : "memory");
}

// One of them by its values: by its address both would lie in local memory.
__device__ __forceinline__ Source choose(bool is_b, const Source& a, const Source& b) {
  return {is_b ? b.data : a.data, is_b ? b.outer_stride : a.outer_stride, is_b ? b.inner_stride : a.inner_stride,
          is_b ? b.lines : a.lines};
}

// A chunk of a line.
struct Unit {
  int line, chunk;
};

// This thread's of an operand: neighbouring threads read what are neighbours in memory.
__device__ __forceinline__ Unit own_unit(bool runs_along_k) {
  const int number = static_cast<int>(threadIdx.x);
  return runs_along_k ? Unit{number / kChunks, number % kChunks} : Unit{number % kTile, number / kTile};
}

// Zeros beyond the lines and K.
__device__ __forceinline__ void load_unit(double (&x)[kChunk], const Source& from, const Unit& unit, int inner) {
  const char* at = from.data + unit.line * from.outer_stride + unit.chunk * from.inner_stride;
  const std::int64_t step = kChunks * from.inner_stride;
  if (inner == kMostTileInner && from.lines == kTile) {
#pragma unroll
    for (int i = 0; i < kChunk; ++i) x[i] = *reinterpret_cast<const double*>(at + i * step);
    return;
  }
  const int left = unit.line < from.lines ? inner - unit.chunk : 0;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) x[i] = kChunks * i < left ? *reinterpret_cast<const double*>(at + i * step) : 0.0;
}

// Tables for all threads of the block.
template <bool Certifies>
__device__ __forceinline__ void fill_tables(TileShared<Certifies>& shared, const TileTables& tables) {
  static_assert(kTileThreads == 32 * kFinishColumns && kFinishColumns == kMostTileModuli / 2, "a thread for each fragment");
  const int i = static_cast<int>(threadIdx.x), lane = i % 32, n = lane / 4;
  shared.finish.column[i / 32][lane] = finish_fragment(tables.finish, i / 32, lane);
  const int modulus = 2 * (i / 32) + n % 2;
  const bool is_own = n / 2 == lane % 4;
  shared.weight[i / 32][lane] = {is_own ? tables.weight[modulus][0] : 0u, is_own ? tables.weight[modulus][1] : 0u};
  if (i < kMostTileModuli) {
    shared.encode[i] = tables.encode[i];
    shared.fold[i] = tables.fold[i];
    for (int j = 0; j < 4; ++j) shared.fold_start[i][j] = tables.fold[i].preset;
    for (int j = 0; j < 2; ++j) shared.encode_start[i / 2][i % 2 + 2 * j] = tables.encode[i].preset;
  }
  if (i == 0) shared.columns = tables.columns;
}

// The integers of a unit plus their offsets, by the scale exponent of its line. All lanes of the warp call it.
template <int Entries>
__device__ __forceinline__ void scale_entries(double* x, const SplitScale& scale,
                                              IntegerBytes<kTileIntegerWords> (&bytes)[Entries]) {
  if (__any_sync(0xFFFFFFFFu, scale.rest != 1.0)) {
#pragma unroll
    for (int i = 0; i < Entries; ++i) x[i] *= scale.rest;
  }
#pragma unroll
  for (int i = 0; i < Entries; ++i) bytes[i] = split_integer(x[i], scale.factor);
}

// A word whose low byte is the residue; `bits` from the preset of the constants.
__device__ __forceinline__ std::uint32_t reduce(std::uint32_t bits, const Quotient& by) {
  return reduce_dot(bits, by.inverse, by.shift, by.negated);
}

// The residues of a unit modulo moduli 2 pair and 2 pair + 1, sixteen bytes each. Rows of the left operand are entries, of which
// each lane has the bytes of two; as in finish.cuh the right operand's columns 2 t and 2 t + 1 take those of lane t alone.
template <int Entries>
__device__ __forceinline__ void residues_of(const IntegerBytes<kTileIntegerWords> (&bytes)[Entries], const uint2& weight,
                                            std::uint32_t start, const Quotient& first, const Quotient& second,
                                            std::uint32_t (&word)[2][Entries / 4]) {
#pragma unroll
  for (int i = 0; i < Entries / 4; ++i) {
    std::uint32_t r[2][4];
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      const auto &x = bytes[4 * i + j], &y = bytes[4 * i + j + 1];
      std::uint32_t c[4];
      load_start(c, start);
      multiply_bytes(c, x.word[0], y.word[0], x.word[1], y.word[1], weight.x, weight.y);
      r[0][j] = reduce(c[0], first), r[1][j] = reduce(c[1], second);
      r[0][j + 1] = reduce(c[2], first), r[1][j + 1] = reduce(c[3], second);
    }
#pragma unroll
    for (int m = 0; m < 2; ++m) word[m][i] = gather_bytes<0>(r[m]).word[0];
  }
}

// Encodes a unit of the block's line number `line` for the moduli of a pass. All lanes of the warp call it.
template <bool Certifies>
__device__ __forceinline__ void encode_unit(TileShared<Certifies>& shared, double (&x)[kChunk], int line, int chunk,
                                            int first_modulus, int count) {
  const OwnLine& own = shared.line[line];
  const SplitScale scale = split_scale(own.shift);
  const std::uint32_t base = shared_address(shared.planes) + static_cast<std::uint32_t>(line * kMostTileInner) +
                             place_of_chunk(static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(chunk));
  const int pairs = (min(kPassModuli, count - first_modulus) + 1) / 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {  // registers have no room for the integers of all beside residues of the result
    IntegerBytes<kTileIntegerWords> bytes[8];
    scale_entries(x + 8 * half, scale, bytes);
    // Lower words lie beside others that are not wanted; an operation that does nothing moves them once to where the matrix unit
    // takes them, else they are moved for every pair of moduli.
    const std::uint32_t nothing = own.special >> 8;
#pragma unroll
    for (auto& entry : bytes) entry.word[0] ^= nothing;
    std::uint32_t target = base + static_cast<std::uint32_t>(8 * half);
#pragma unroll 1
    for (int pair = first_modulus / 2; pair < first_modulus / 2 + pairs; ++pair, target += 2 * kPlaneBytes) {
      std::uint32_t word[2][2];
      residues_of(bytes, shared.weight[pair][threadIdx.x % 32], shared_address(shared.encode_start[pair]),
                  shared.encode[2 * pair], shared.encode[2 * pair + 1], word);
      store_words(target, uint2{word[0][0], word[0][1]});
      store_words(target + kPlaneBytes, uint2{word[1][0], word[1][1]});
    }
  }
}

}  // namespace ozfp4::cuda::fused
