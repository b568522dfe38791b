// From the integers of a group to its limbs in every plane, one function for each kind of plan.
#pragma once

#include <cstdint>

#include "arith/limbs/limb_words.hpp"
#include "cuda/encode/group.cuh"

namespace ozfp4::cuda {

// An EncodeUnit as it lies in shared memory: 16-byte loads, the same for all threads.
template <int Words>
struct alignas(16) SharedUnit {
  ByteModulus<Words> modulus;
  std::uint16_t table, planes;
};
static_assert(sizeof(SharedUnit<3>) == 32, "two 16-byte loads");

// Residues, or the limbs that the table has for them.
template <EncodeKind Kind, int Words, class Integer>
__device__ __forceinline__ void encode_residues(const Integer (&v)[kGroup], PlaneWriter<kWritesCodes<Kind>> writer,
                                                const SharedUnit<Words>* units, int count, const std::uint32_t* table) {
  IntegerBytes<Words> bytes[kGroup];
#pragma unroll
  for (int i = 0; i < kGroup; ++i) bytes[i] = bytes_of(v[i]);
#pragma unroll(Kind == EncodeKind::residues ? 2 : 1)
  for (const SharedUnit<Words>* end = units + count; units != end; ++units) {
    const SharedUnit<Words> unit = *units;
    std::uint32_t word[kGroup];
#pragma unroll
    for (int i = 0; i < kGroup; ++i) word[i] = residue_byte(bytes[i], unit.modulus);
    if constexpr (Kind == EncodeKind::residues) {
      writer.write<0>(word);
    } else {
#pragma unroll
      for (int i = 0; i < kGroup; ++i) word[i] = table[unit.table + (word[i] & 255u)];
      writer.write_limbs(word, static_cast<int>(unit.planes));
    }
  }
}

template <bool Codes>
__device__ __forceinline__ void encode_digits13(const std::int64_t (&integer)[kGroup], PlaneWriter<Codes> writer, int planes,
                                                const std::uint32_t* table) {
  Parts13 parts[kGroup];
  std::int32_t v[kGroup] = {};
#pragma unroll
  for (int i = 0; i < kGroup; ++i) parts[i] = split_parts13(integer[i]);
#pragma unroll
  for (int triple = 0; 3 * triple < 15; ++triple) {
    if (3 * triple >= planes) break;
    std::uint32_t word[kGroup];
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      if (triple % kTriplesPerPart == 0) v[i] += parts[i].part[triple / kTriplesPerPart];
      word[i] = table[take_triple_index(v[i])];
      v[i] += triple_carry(word[i]);
    }
    writer.write_limbs(word, planes - 3 * triple);
  }
}

__device__ __forceinline__ void encode_digits256(const std::int64_t (&v)[kGroup], PlaneWriter<false> writer, int planes) {
  std::uint32_t low[kGroup], high[kGroup];
#pragma unroll
  for (int i = 0; i < kGroup; ++i) {
    const std::uint64_t digits = balanced_bytes(v[i]);
    low[i] = static_cast<std::uint32_t>(digits);
    high[i] = static_cast<std::uint32_t>(digits >> 32);
  }
  writer.write_limbs(low, planes);
  if (planes > 3) writer.write<3>(low);
  if (planes > 4) writer.write_limbs(high, planes - 4);
}

// int8 entries are numbers of table entries already.
__device__ __forceinline__ void encode_int8(const std::int8_t (&x)[kGroup], PlaneWriter<false> writer, const SharedUnit<1>* units,
                                            int count, const std::uint32_t* table) {
  for (const SharedUnit<1>* end = units + count; units != end; ++units) {
    std::uint32_t word[kGroup];
#pragma unroll
    for (int i = 0; i < kGroup; ++i) word[i] = table[units->table + x[i] + 128];
    writer.write_limbs(word, static_cast<int>(units->planes));
  }
}

}  // namespace ozfp4::cuda
