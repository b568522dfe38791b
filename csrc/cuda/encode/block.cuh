// A block of encode: its shared memory, and how it encodes a tile.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/limbs/e2m1.hpp"
#include "cuda/encode/limbs/limbs.cuh"
#include "cuda/encode/limbs/residues.cuh"

namespace ozfp4::cuda {

template <EncodeKind Kind>
inline constexpr bool kHasLimbTable =
    Kind == EncodeKind::limb_tables || Kind == EncodeKind::int8_limbs || Kind == EncodeKind::limb_codes ||
    Kind == EncodeKind::pair_tables || Kind == EncodeKind::pair_codes;
template <EncodeKind Kind>
inline constexpr bool kHasDigits13 = Kind == EncodeKind::digits13 || Kind == EncodeKind::digit13_codes;
template <EncodeKind Kind>
using TableOf = std::conditional_t<kHasLimbTable<Kind>, LimbTable, NoTable>;

// Words of integers that a unit takes at once.
template <EncodeKind Kind, int Words>
inline constexpr int kUnitWords = kUnitsPerModulus<Kind> * Words;

// The units in shared memory: two at a time where residues are all that is asked for.
template <EncodeKind Kind>
inline constexpr bool kHasUnitPairs = Kind == EncodeKind::residues || Kind == EncodeKind::pairs;
template <EncodeKind Kind, int Words>
using UnitsOf = std::conditional_t<kHasUnitPairs<Kind>, UnitPair<kUnitWords<Kind, Words>>, SharedUnit<kUnitWords<Kind, Words>>>;
template <EncodeKind Kind>
__host__ __device__ inline int shared_units(int units) {
  return kHasUnitPairs<Kind> ? (units + 1) / 2 : units;
}

// Words of the table, three limbs (or codes) each.
template <EncodeKind Kind>
__host__ __device__ inline int shared_table_entries(int table_entries) {
  return kHasLimbTable<Kind> ? table_entries : kHasDigits13<Kind> ? kTripleEntries : 0;
}

template <int Words, class Parameters>
__device__ __forceinline__ void fill_units(UnitPair<Words>* pairs, const Parameters& arguments) {
  constexpr int room = sizeof arguments.unit / sizeof arguments.unit[0];
  static_assert(room <= kEncodeThreads && room % 2 == 0, "a thread for each, and none alone");
  const auto u = static_cast<int>(threadIdx.x);
  if (u / 2 < (arguments.units + 1) / 2) fill_half(pairs[u / 2], u % 2, arguments.unit[u].modulus);  // the last may be 0
}
template <int Words, class Parameters>
__device__ __forceinline__ void fill_units(SharedUnit<Words>* units, const Parameters& arguments) {
  static_assert(sizeof arguments.unit / sizeof arguments.unit[0] <= kEncodeThreads, "a thread for each");
  const auto u = static_cast<int>(threadIdx.x);
  if (u < arguments.units) {
    const EncodeUnit& unit = arguments.unit[u];
    units[u] = {leading_words<Words>(unit.modulus), unit.table, unit.planes};
  }
}

template <EncodeKind Kind>
__device__ __forceinline__ void fill_table(std::uint32_t* table, const TableOf<Kind>& source, int entries) {
  for (int i = static_cast<int>(threadIdx.x); i < entries; i += kEncodeThreads) {
    if constexpr (kHasLimbTable<Kind>) {
      const unsigned codes = source.entry[i];
      std::uint32_t word = 0;
#pragma unroll
      for (int p = 0; p < 3; ++p) {
        const unsigned code = (codes >> (4 * p)) & 15u;
        const unsigned byte = kWritesCodes<Kind> ? code : static_cast<unsigned>(e2m1_decode(code)) & 255u;
        word |= byte << (8 * p);
      }
      table[i] = word;
    } else if constexpr (kHasDigits13<Kind>) {
      table[i] = kWritesCodes<Kind> ? triple_codes(triple_word(i)) : triple_word(i);
    }
  }
}

template <EncodeKind Kind, int Words>
struct EncodeShared {
  UnitsOf<Kind, Words>* units;
  std::uint32_t* table;
};

template <int Words>
using IntegerOf = std::conditional_t<Words == 1, std::int32_t, std::conditional_t<Words == 2, std::int64_t, WideInt<Words>>>;

// Integers of a group as bytes; of pairs, two behind each other.
template <EncodeKind Kind, int Words, int UnitWords, int Items>
__device__ __forceinline__ void cut_bytes(const IntegerOf<Words> (&v)[kGroup], IntegerBytes<UnitWords> (&bytes)[Items]) {
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    if constexpr (kIsOfPairs<Kind>) {
      bytes[i] = pair_bytes<Words>(bytes_of(v[kPair * i]), bytes_of(v[kPair * i + 1]));
    } else {
      bytes[i] = bytes_of(v[i]);
    }
  }
}

// The integers of a group, to the planes from `first` on. All lanes of a warp call it for kinds with pairs of units, also lanes
// without a group.
template <EncodeKind Kind, int Words>
__device__ __forceinline__ void encode_integers(const IntegerOf<Words> (&v)[kGroup], std::uint8_t* first,
                                                std::int64_t plane_stride, bool is_there, const EncodeShared<Kind, Words>& shared,
                                                int units, int planes) {
  constexpr int items = kGroup / kUnitsPerModulus<Kind>;
  if constexpr (kHasUnitPairs<Kind>) {
    IntegerBytes<kUnitWords<Kind, Words>> bytes[items];
    cut_bytes<Kind, Words>(v, bytes);
    encode_residues<Words>(bytes, ResidueWriter<items>(first, plane_stride, is_there), shared.units, units);
  } else {
    const PlaneWriter<kWritesCodes<Kind>, items> writer(first, plane_stride);
    if constexpr (kHasDigits13<Kind>) {
      encode_digits13(v, writer, planes, shared.table);
    } else if constexpr (Kind == EncodeKind::digits256) {
      encode_digits256(v, writer, planes);
    } else {
      IntegerBytes<kUnitWords<Kind, Words>> bytes[items];
      cut_bytes<Kind, Words>(v, bytes);
      encode_tables(bytes, writer, shared.units, units, shared.table);
    }
  }
}

// Group number `group` of a tile: `units` units. All lanes of a warp call it.
template <class T, EncodeKind Kind, int Words>
__device__ __forceinline__ void encode_group(const EncodeArguments& arguments, const TilePlace& place, const unsigned char* tile,
                                             const EncodeShared<Kind, Words>& shared, int units, std::uint32_t group) {
  const TileOrigin origin = *place.origin;
  const EncodeOperand& operand = arguments.operand[origin.is_b];
  const GroupPlace at = group_place<T>(operand, group);
  const TileLine line = place.line[at.line];
  const bool is_there = line.source != nullptr && origin.k0 + at.k < operand.padded_inner;
  // The matrix unit takes whole warps.
  if (kHasUnitPairs<Kind> ? __any_sync(0xFFFFFFFFu, is_there) == 0 : !is_there) return;
  const std::int64_t target = line.target + (at.k >> kLogEntriesPerByte<Kind>);
  if constexpr (Kind == EncodeKind::int8_limbs) {
    T x[kGroup];
    read_group(tile, operand, at, x);
    encode_int8(x, PlaneWriter<false>(operand.planes + target, operand.plane_stride), shared.units, units, shared.table);
  } else {
    IntegerOf<Words> v[kGroup];
    with_entries<T>(operand, [&](auto entry) {
      decltype(entry) x[kGroup];
      read_group(tile, operand, at, x);
      if constexpr (std::is_integral_v<decltype(entry)>) {
        take_group(x, operand.type, v);
      } else {
        scale_group(x, line.shift, arguments.has_fast_fp64, v);
      }
    });
    encode_integers<Kind, Words>(v, operand.planes + target, operand.plane_stride, is_there, shared, units, arguments.planes);
  }
}

// Blocks a multiprocessor that leave the compiler enough registers. Counts: of the kernel that counts, too.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900)
template <EncodeKind Kind, int Words, bool Counts = false>
inline constexpr int kEncodeBlocks = Words > 4                                                ? 1
                                     : Words == 4                                             ? 2
                                     : Words == 3 || (Counts && Kind == EncodeKind::residues) ? 3
                                                                                              : 4;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030)
template <EncodeKind Kind, int Words, bool Counts = false>
inline constexpr int kEncodeBlocks = Words > 4                                      ? 1
                                     : Words >= 3 || Kind == EncodeKind::int8_limbs ? 2
                                                                                    : 3;
#else
template <EncodeKind Kind, int Words, bool Counts = false>
inline constexpr int kEncodeBlocks = Words > 4 ? 1 : 2;  // consumer cards: their 100 KiB of shared memory admit no more
#endif

}  // namespace ozfp4::cuda
