// The accumulators of a warpgroup behind a K loop, as walk/act.cuh wants them.
//
// Bytes go through shared memory: a thread holds pairs of neighbouring bytes, TMA wants boxes of 64 rows x 128 (64) bytes. They
// are swizzled so that the eight rows that a warp writes at once fall into different banks.
#pragma once

#include <cstdint>

#include "cuda/multiply/hopper/tiles.hpp"
#include "cuda/multiply/ptx/async.cuh"
#include "cuda/multiply/ptx/wgmma.cuh"
#include "cuda/multiply/walk/act.cuh"
#include "cuda/multiply/walk/stages.cuh"

namespace ozfp4::cuda::hopper {

using namespace ptx;

// The accumulators of a thread: of its slabs, kN / 2 registers each.
template <class C>
using Accumulators = std::int32_t[C::kSlabs][C::kN / 2];

template <class C>
struct Epilogue {
  static constexpr bool kSigned = C::kSigned, kStoredSigned = kSigned;
  static constexpr int kRegisters = C::kSlabs * C::kN / 2, kRowGroups = 2 * C::kSlabs, kPairs = C::kN / 8;

  Accumulators<C>& acc;
  const MultiplyParams& p;
  const OutPlace to;
  const int group;
  const std::uint32_t staging;  // boxes of this warpgroup

  static __device__ __forceinline__ std::int32_t& at(Accumulators<C>& acc, int i) {
    return acc[i / (C::kN / 2)][i % (C::kN / 2)];
  }
  __device__ __forceinline__ std::int32_t at(int i, int j, int e) const { return acc[i / 2][4 * j + 2 * (i % 2) + e]; }
  __device__ __forceinline__ int row_of(int i) const {
    return to.row + 64 * (i / 2) + 16 * (threadIdx.x / 32 % 4) + 8 * (i % 2) + threadIdx.x % 32 / 4;
  }
  __device__ __forceinline__ void pin() const { ptx::pin(acc); }
  __device__ __forceinline__ void begin() const {}
  __device__ __forceinline__ void shift(const Fold&) const {}
  __device__ __forceinline__ void end(bool) const {}

  // Each pass over the accumulators starts with pin(), so that the compiler does not compute part of it for all of them ahead of
  // time, and spill. Accumulators of the widest tile are taken in parts, each behind a branch that the compiler cannot see
  // through: else it begins with all of them at once, and spills.
  static constexpr int kPart = kRegisters > 128 ? 32 : kRegisters;
  template <class Change>
  __device__ __forceinline__ void change(const Fold& f, const Change& changed) const {
    pin();
#pragma unroll
    for (int first = 0; first < kRegisters; first += kPart) {
      if (kPart < kRegisters && f.negated == first + 1u) continue;  // never: it is -modulus, or 0 where a step has none
#pragma unroll
      for (int i = first; i < first + kPart; ++i) at(acc, i) = changed(at(acc, i));
    }
  }

  static __device__ __forceinline__ void clear(Accumulators<C>& acc) {
#pragma unroll
    // volatile keeps a rare clear behind its branch: plain assignments become one select per accumulator, always.
    for (int i = 0; i < kRegisters; ++i) asm volatile("mov.b32 %0, 0;" : "=r"(at(acc, i)));
  }

  // acc mod m of all accumulators into the staging boxes.
  template <bool kKeeps>
  __device__ __forceinline__ void stage(const Fold& f) const {
    const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const std::uint32_t row = 16 * warp + lane / 4, pair = 2 * (lane % 4);
    pin();
#pragma unroll
    for (int i = 0; i < kRegisters / 4; ++i) {
      const int slab = i / (C::kN / 8), j = i % (C::kN / 8);
      const int box = slab * C::kBoxes + 8 * j / C::kBoxColumns, column = 8 * j % C::kBoxColumns;
      // The rows of the two halves differ by 8, so their swizzle is the same.
      const std::uint32_t at =
          staging + pair + swizzled_chunk<C::kBoxColumns>(row, column / 16) + (box * C::kBoxBytes + column % 16);
      if constexpr (!kKeeps) to_residue_words<C::kSigned, 4>(&acc[slab][4 * j], f);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        std::uint32_t left = static_cast<std::uint32_t>(acc[slab][4 * j + 2 * half]);
        std::uint32_t right = static_cast<std::uint32_t>(acc[slab][4 * j + 2 * half + 1]);
        if constexpr (kKeeps) left = residue_word<C::kSigned>(left, f), right = residue_word<C::kSigned>(right, f);
        const std::uint32_t bytes = __byte_perm(left, right, 0x3240);
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(at + half * 8 * C::kBoxColumns), "h"(static_cast<std::uint16_t>(bytes))
                     : "memory");
      }
    }
  }

  __device__ __forceinline__ void store_bytes(const Fold& f, bool keeps) const {
    if (to.row >= p.m) return;  // the whole warpgroup may lie below the last row
    const bool is_storer = threadIdx.x % 128 == 0;
    if (is_storer) wait_stores_read();  // the previous tile has left the staging boxes
    __syncwarp();
    named_sync(1 + group, 128);
    keeps ? stage<true>(f) : stage<false>(f);
    publish_to_copy_engine();
    named_sync(1 + group, 128);
    if (is_storer) {
#pragma unroll
      for (int i = 0; i < C::kSlabs * C::kBoxes; ++i) {
        const int row = to.row + 64 * (i / C::kBoxes), column = to.column + C::kBoxColumns * (i % C::kBoxes);
        if (row < p.m && column < p.n) store_box(&p.out_map, staging + i * C::kBoxBytes, {column, row, to.matrix});
      }
      close_store_group();
    }
    __syncwarp();
  }
};

}  // namespace ozfp4::cuda::hopper
