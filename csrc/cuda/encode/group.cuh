// Groups of entries along K: from shared memory to integers, and from limbs to the planes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/scale_entry.hpp"
#include "cuda/encode/tile.cuh"

namespace ozfp4::cuda {

// Whether numbers are scaled by FP64 multiplications, else in integers. B300 runs the code for B200 where a build has none for
// it: there the device decides.
__device__ __forceinline__ bool multiplies_fp64(bool has_fast_fp64) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1000
  return has_fast_fp64;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 860
  (void)has_fast_fp64;
  return false;
#else
  (void)has_fast_fp64;
  return OZFP4_HAS_FEW_FP64_UNITS == 0;
#endif
}

// The entry types of kernels that take FP64 and FP32 entries, and integers of 64 bits as well. All are read and scaled as they
// are, and the integers are the same.
struct AnyFloat;
struct AnyEntry;

// The same where the size of entries alone counts, and where none is an integer.
template <class T>
using FloatsOf = std::conditional_t<std::is_same_v<T, AnyEntry>, AnyFloat, T>;

// Calls make(T()), T being the type of the operand's entries.
template <class T, class Make>
__device__ __forceinline__ auto with_entries(const EncodeOperand& operand, const Make& make) {
  if constexpr (std::is_same_v<T, AnyEntry>) {
    if (operand.type != ElementType::float64 && operand.type != ElementType::float32) return make(std::int64_t());
  }
  if constexpr (std::is_same_v<T, AnyFloat> || std::is_same_v<T, AnyEntry>) {
    return operand.type == ElementType::float32 ? make(float()) : make(double());
  } else {
    return make(T());
  }
}

__device__ __forceinline__ std::uint32_t tile_groups(const EncodeOperand& operand) {
  return 1u << (operand.log_tile_k + operand.log_tile_lines - kLogGroup);
}

// Numbers the groups of a tile so that a warp's groups are neighbours along K, for writes of whole cache lines. In columns,
// two lines of FP64 (four of FP32) alternate: with eight groups that makes the entries of one 16-byte piece.
struct GroupPlace {
  std::uint32_t line, k;
};
template <class T>
__device__ __forceinline__ GroupPlace group_place(const EncodeOperand& operand, std::uint32_t group) {
  const std::uint32_t log_groups = operand.log_tile_k - kLogGroup;
  const std::uint32_t log_bytes =
      with_entries<FloatsOf<T>>(operand, [](auto entry) { return kLog<static_cast<int>(sizeof(decltype(entry)))>; });
  const std::uint32_t log_alternate = operand.order.has_columns ? 4 - log_bytes : 0;
  const std::uint32_t k = (group >> log_alternate) & ((1u << log_groups) - 1);
  return {(group >> (log_groups + log_alternate) << log_alternate) | (group & ((1u << log_alternate) - 1)), k << kLogGroup};
}

// The entries of a group.
template <class T>
__device__ __forceinline__ void read_group(const unsigned char* tile, const EncodeOperand& operand, const GroupPlace& at,
                                           T (&x)[kGroup]) {
  const TileLayout<T> layout(operand);
  if (layout.has_columns) {
    const std::uint32_t first = layout.in_columns(at.line, at.k);
#pragma unroll
    for (int i = 0; i < kGroup; ++i) x[i] = *reinterpret_cast<const T*>(tile + (first ^ (i << layout.log_pitch)));
    return;
  }
  constexpr int width = sizeof(T) == 1 ? kGroup : 16 / sizeof(T);
  struct alignas(width * sizeof(T)) Load {
    T x[width];
  };
  const std::uint32_t first = layout.in_lines(at.line, at.k);
#pragma unroll
  for (int i = 0; i < kGroup; i += width) {
    const auto load = *reinterpret_cast<const Load*>(tile + (first ^ (i * static_cast<std::uint32_t>(sizeof(T)))));
#pragma unroll
    for (int j = 0; j < width; ++j) x[i + j] = load.x[j];
  }
}

// The integers of a group. Integer is std::int32_t for capacities up to byte_bits(1).
template <class Integer, class T>
__device__ __forceinline__ void scale_group(const T (&x)[kGroup], int shift, bool has_fast_fp64, Integer (&v)[kGroup]) {
  if ((sizeof(T) == 4 && sizeof(Integer) == 4) || multiplies_fp64(has_fast_fp64)) {
    using Real = std::conditional_t<sizeof(Integer) == 4, T, double>;  // FP32 for short integers of FP32 entries
    const ShiftHalves halves = halves_of(shift);
    const Real first = exact_power_of_two<Real>(halves.first), second = exact_power_of_two<Real>(halves.second);
#pragma unroll
    for (int i = 0; i < kGroup; ++i) v[i] = scaled_integer_by_multiplication<Integer>(static_cast<Real>(x[i]), first, second);
  } else {
#pragma unroll
    for (int i = 0; i < kGroup; ++i) v[i] = static_cast<Integer>(scaled_integer(x[i], shift));
  }
}

// Entries that are integers themselves. Precondition: they fit, uint64 ones in three words.
__device__ __forceinline__ void take_group(const std::int64_t (&x)[kGroup], ElementType, std::int32_t (&v)[kGroup]) {
#pragma unroll
  for (int i = 0; i < kGroup; ++i) v[i] = static_cast<std::int32_t>(x[i]);
}
__device__ __forceinline__ void take_group(const std::int64_t (&x)[kGroup], ElementType type, WideInt<3> (&v)[kGroup]) {
  const std::uint32_t signs = type == ElementType::int64 ? ~0u : 0u;
#pragma unroll
  for (int i = 0; i < kGroup; ++i) {
    const auto bits = static_cast<std::uint64_t>(x[i]);
    const auto high = static_cast<std::uint32_t>(bits >> 32);
    v[i] = {{static_cast<std::uint32_t>(bits), high, static_cast<std::uint32_t>(static_cast<std::int32_t>(high) >> 31) & signs}};
  }
}

// Integers of more than two words.
template <int Words, class T>
__device__ __forceinline__ void scale_group(const T (&x)[kGroup], int shift, bool has_fast_fp64, WideInt<Words> (&v)[kGroup]) {
  if constexpr (Words == 3) {
    if (multiplies_fp64(has_fast_fp64)) {
      const ShiftHalves halves = halves_of(shift);
      const double first = exact_power_of_two<double>(halves.first), second = exact_power_of_two<double>(halves.second);
#pragma unroll
      for (int i = 0; i < kGroup; ++i) v[i] = scaled_wide_by_multiplication(static_cast<double>(x[i]), first, second);
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < kGroup; ++i) v[i] = scaled_wide<Words>(x[i], shift);
}

// The bytes number `Byte` of the words, as they lie in a plane.
template <int Entries>
struct alignas(Entries) PlaneBytes {
  std::uint32_t word[Entries / 4];
};
template <int Byte, int Entries>
__device__ __forceinline__ PlaneBytes<Entries> gather_bytes(const std::uint32_t (&word)[Entries]) {
  constexpr std::uint32_t pick = Byte | (Byte + 4) << 4;
  PlaneBytes<Entries> bytes;
#pragma unroll
  for (int i = 0; i < Entries; i += 4) {
    bytes.word[i / 4] = __byte_perm(__byte_perm(word[i], word[i + 1], pick), __byte_perm(word[i + 2], word[i + 3], pick), 0x5410);
  }
  return bytes;
}

// Writes the entries of a group to plane after plane: a byte an entry, or the low nibbles of two in one. Entries: 8, or 4 where
// each is of a pair.
template <bool Codes, int Entries = kGroup>
class PlaneWriter {
 public:
  __device__ __forceinline__ PlaneWriter(std::uint8_t* first, std::int64_t plane_stride) : at_(first), stride_(plane_stride) {}

  // The bytes number `Byte` of the words.
  template <int Byte>
  __device__ __forceinline__ void write(const std::uint32_t (&word)[Entries]) {
    const PlaneBytes<Entries> bytes = gather_bytes<Byte>(word);
    if constexpr (Codes) {
      static_assert(Entries == 8 || Entries == 4, "so many codes make a word or half of one");
      // Codes lie in the low nibbles of bytes: after the shift bytes 0 and 2 hold two each.
      const std::uint32_t low = bytes.word[0] | (bytes.word[0] >> 4);
      if constexpr (Entries == 8) {
        const std::uint32_t high = bytes.word[1] | (bytes.word[1] >> 4);
        *reinterpret_cast<std::uint32_t*>(at_) = __byte_perm(low, high, 0x6420);
      } else {
        *reinterpret_cast<std::uint16_t*>(at_) = static_cast<std::uint16_t>(__byte_perm(low, 0, 0x4420));
      }
    } else {
      *reinterpret_cast<PlaneBytes<Entries>*>(at_) = bytes;
    }
    at_ += stride_;
  }

  // The bytes 0, 1, 2 for at most three planes.
  __device__ __forceinline__ void write_limbs(const std::uint32_t (&word)[Entries], int planes) {
    write<0>(word);
    if (planes > 1) write<1>(word);
    if (planes > 2) write<2>(word);
  }

 private:
  std::uint8_t* at_;
  std::int64_t stride_;
};

}  // namespace ozfp4::cuda
