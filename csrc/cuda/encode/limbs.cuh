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

// Words of integers that a unit takes at once.
template <EncodeKind Kind, int Words>
inline constexpr int kUnitWords = kUnitsPerModulus<Kind> * Words;

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

// Residues of pairs, or their limbs: the bytes of both entries make one residue of each unit.
template <EncodeKind Kind, int Words, class Integer>
__device__ __forceinline__ void encode_pairs(const Integer (&v)[kGroup], PlaneWriter<kWritesCodes<Kind>, kGroup / kPair> writer,
                                             const SharedUnit<2 * Words>* units, int count, const std::uint32_t* table) {
  constexpr int pairs = kGroup / kPair;
  IntegerBytes<2 * Words> bytes[pairs];
#pragma unroll
  for (int i = 0; i < pairs; ++i) bytes[i] = pair_bytes<Words>(bytes_of(v[kPair * i]), bytes_of(v[kPair * i + 1]));
#pragma unroll(Kind == EncodeKind::pairs ? 2 : 1)
  for (const SharedUnit<2 * Words>* end = units + count; units != end; ++units) {
    const SharedUnit<2 * Words> unit = *units;
    std::uint32_t word[pairs];
#pragma unroll
    for (int i = 0; i < pairs; ++i) word[i] = residue_byte(bytes[i], unit.modulus);
    if constexpr (Kind == EncodeKind::pairs) {
      writer.template write<0>(word);
    } else {
#pragma unroll
      for (int i = 0; i < pairs; ++i) word[i] = table[unit.table + (word[i] & 255u)];
      writer.write_limbs(word, static_cast<int>(unit.planes));
    }
  }
}

// Of two or three words, which are split at once.
template <bool Codes, class Integer>
__device__ __forceinline__ void encode_digits13(const Integer (&integer)[kGroup], PlaneWriter<Codes> writer, int planes,
                                                const std::uint32_t* table) {
  using Parts = decltype(split_parts13(integer[0]));
  constexpr int limbs = sizeof(Parts) == sizeof(Parts13) ? 15 : 30;
  Parts parts[kGroup];
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
