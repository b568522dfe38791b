// From the integers of a group to limbs in every plane: those that a table has for their residues, and digits.
#pragma once

#include <cstdint>

#include "arith/limbs/limbs.hpp"
#include "cuda/encode/group.cuh"
#include "cuda/encode/residue_bytes.hpp"

namespace ozfp4::cuda {

// An EncodeUnit as it lies in shared memory: 16-byte loads, the same for all threads.
template <int Words>
struct alignas(16) SharedUnit {
  ByteModulus<Words> modulus;
  std::uint16_t table, planes;
};
static_assert(sizeof(SharedUnit<3>) == 32, "two 16-byte loads");

// Limbs of integers, or of pairs of them as integers of twice the words: each has one residue of every unit.
template <bool Codes, int UnitWords, int Items>
__device__ __forceinline__ void encode_tables(const IntegerBytes<UnitWords> (&bytes)[Items], PlaneWriter<Codes, Items> writer,
                                              const SharedUnit<UnitWords>* units, int count, const std::uint32_t* table) {
#pragma unroll 1
  for (const SharedUnit<UnitWords>* end = units + count; units != end; ++units) {
    const SharedUnit<UnitWords> unit = *units;
    std::uint32_t word[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i) word[i] = table[unit.table + (residue_byte(bytes[i], unit.modulus) & 255u)];
    writer.write_limbs(word, static_cast<int>(unit.planes));
  }
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

// ---- Digits ----------------------------------------------------------------------------------------------------------------

// The digits of three words, which are split at once.
template <bool Codes>
__device__ __forceinline__ void encode_digits13(const WideInt<3> (&integer)[kGroup], PlaneWriter<Codes> writer, int planes,
                                                const std::uint32_t* table) {
  constexpr int limbs = 30;
  WideParts13 parts[kGroup];
  std::int32_t v[kGroup] = {};
#pragma unroll
  for (int i = 0; i < kGroup; ++i) parts[i] = split_parts13(integer[i]);
#pragma unroll
  for (int triple = 0; 3 * triple < limbs; ++triple) {
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

// Longer ones are divided by 13^6 again and again, the sign with every part.
template <bool Codes>
__device__ __forceinline__ void encode_digits13(const WideInt<kMaxByteWords> (&integer)[kGroup], PlaneWriter<Codes> writer,
                                                int planes, const std::uint32_t* table) {
  WideInt<kMaxByteWords> rest[kGroup];
  std::uint32_t sign[kGroup];
  std::int32_t v[kGroup] = {};
#pragma unroll
  for (int i = 0; i < kGroup; ++i) {
    sign[i] = wide_sign_mask(integer[i]);
    rest[i] = wide_magnitude(integer[i], sign[i]);
  }
#pragma unroll 1
  for (int left = planes; left > 0; left -= 3 * kTriplesPerPart) {
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      std::uint32_t part;
      rest[i] = wide_divide_small(rest[i], kPart13, part);
      v[i] += static_cast<std::int32_t>((part ^ sign[i]) - sign[i]);
    }
#pragma unroll
    for (int triple = 0; triple < kTriplesPerPart; ++triple) {
      if (3 * triple >= left) break;
      std::uint32_t word[kGroup];
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        word[i] = table[take_triple_index(v[i])];
        v[i] += triple_carry(word[i]);
      }
      writer.write_limbs(word, left - 3 * triple);
    }
  }
}

template <int Words>
__device__ __forceinline__ void encode_digits256(const WideInt<Words> (&v)[kGroup], PlaneWriter<false> writer, int planes) {
  WideInt<Words> digits[kGroup];
#pragma unroll
  for (int i = 0; i < kGroup; ++i) digits[i] = balanced_bytes(v[i]);
#pragma unroll
  for (int at = 0; at < Words; ++at) {
    const int left = planes - 4 * at;
    if (left <= 0) break;
    std::uint32_t word[kGroup];
#pragma unroll
    for (int i = 0; i < kGroup; ++i) word[i] = digits[i].word[at];
    writer.write_limbs(word, left);
    if (left > 3) writer.write<3>(word);
  }
}

}  // namespace ozfp4::cuda
