// From the integers of a group to limbs that a table has for their residues, in every plane.
#pragma once

#include <cstdint>

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

}  // namespace ozfp4::cuda
