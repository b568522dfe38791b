// What a warpgroup does with its accumulators after a K loop: fold in place, or fold and store.
//
// Bytes go through shared memory: a thread holds pairs of neighbouring bytes, TMA wants boxes of 64 rows x 128 (64)
// bytes, swizzled so that the eight rows that a warp writes at once fall into different banks.
#pragma once

#include <cstdint>

#include "cuda/multiply/hopper/config.cuh"
#include "cuda/multiply/ptx/barrier.cuh"
#include "cuda/multiply/ptx/tma.cuh"
#include "cuda/multiply/ptx/wgmma.cuh"
#include "cuda/multiply/walk/fold.cuh"
#include "cuda/multiply/walk/shared_layout.cuh"

namespace ozfp4::cuda::hopper {

template <class C>
struct Epilogue {
  using Registers = Accumulators<C>&;
  static constexpr int kRegisters = C::kSlabs * C::kN / 2;
  static __device__ __forceinline__ std::int32_t& at(Registers acc, int i) { return acc[i / (C::kN / 2)][i % (C::kN / 2)]; }

  // Accumulators of the widest tile are taken in parts, each behind a branch that the compiler cannot see through: else it begins
  // with all of them at once, and spills.
  static constexpr int kPart = kRegisters > 128 ? 32 : kRegisters;
  template <class Change>
  static __device__ __forceinline__ void change(Registers acc, const Fold& f, const Change& changed) {
    pin(acc);
#pragma unroll
    for (int first = 0; first < kRegisters; first += kPart) {
      if (kPart < kRegisters && f.negated == static_cast<std::uint32_t>(first)) continue;  // never: it is -modulus
#pragma unroll
      for (int i = first; i < first + kPart; ++i) at(acc, i) = changed(at(acc, i));
    }
  }

  // Each pass over the accumulators starts with pin(acc), so that the compiler does not compute part of it for all of
  // them ahead of time, and spill.
  static __device__ __forceinline__ void clear(Registers acc) {
#pragma unroll
    // volatile keeps a rare clear behind its branch: plain assignments become one select per accumulator, always.
    for (int i = 0; i < kRegisters; ++i) asm volatile("mov.b32 %0, 0;" : "=r"(at(acc, i)));
  }

  static __device__ __forceinline__ void scale(Registers acc, std::int32_t multiplier) {
    pin(acc);
#pragma unroll
    for (int i = 0; i < kRegisters; ++i) at(acc, i) = wrapping_product(at(acc, i), multiplier);
  }

  // acc = (acc mod m) * multiplier, modulo 2^32.
  static __device__ __forceinline__ void fold(Registers acc, const Fold& f, const GemmStep& step) {
    const MultipliedResidue residue(f, step);
    change(acc, f, [&](std::int32_t x) { return residue.template of<C::kSigned>(x, f); });
  }

  // acc = (acc - acc mod m) / m, the floor of acc / m.
  static __device__ __forceinline__ void carry(Registers acc, const Fold& f, const GemmStep& step) {
    const Carry carried(f, step);
    change(acc, f, [&](std::int32_t x) { return carried.template of<C::kSigned>(x); });
  }

  // acc mod m of all accumulators into the staging boxes of this warpgroup.
  static __device__ __forceinline__ void stage(Registers acc, const Fold& f, std::uint32_t staging) {
    const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const std::uint32_t row = 16 * warp + lane / 4, pair = 2 * (lane % 4);
    pin(acc);
#pragma unroll
    for (int i = 0; i < kRegisters / 4; ++i) {
      const int slab = i / (C::kN / 8), j = i % (C::kN / 8);
      const int box = slab * C::kBoxes + 8 * j / C::kBoxColumns, column = 8 * j % C::kBoxColumns;
      // The rows of the two halves differ by 8, so their swizzle is the same.
      const std::uint32_t at =
          staging + pair + swizzled_chunk<C::kBoxColumns>(row, column / 16) + (box * C::kBoxBytes + column % 16);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::uint32_t left = residue_word<C::kSigned>(acc[slab][4 * j + 2 * half], f);
        const std::uint32_t right = residue_word<C::kSigned>(acc[slab][4 * j + 2 * half + 1], f);
        const std::uint32_t bytes = __byte_perm(left, right, 0x3240);
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(at + half * 8 * C::kBoxColumns), "h"(static_cast<std::uint16_t>(bytes))
                     : "memory");
      }
    }
  }

  // Stores acc mod m, one byte per entry: rows from `row` on, columns from `column` on, of out matrix `matrix`.
  static __device__ __forceinline__ void store_bytes(Registers acc, const Fold& f, const MultiplyParams& p, std::uint32_t staging,
                                                     int group, int row, int column, int matrix) {
    const bool is_storer = threadIdx.x % 128 == 0;
    if (is_storer) wait_stores_read();  // the previous tile has left the staging boxes
    __syncwarp();
    named_sync(1 + group, 128);
    stage(acc, f, staging);
    publish_to_copy_engine();
    named_sync(1 + group, 128);
    if (is_storer) {
#pragma unroll
      for (int i = 0; i < C::kSlabs * C::kBoxes; ++i) {
        const int box_row = row + 64 * (i / C::kBoxes), box_column = column + C::kBoxColumns * (i % C::kBoxes);
        if (box_row < p.m && box_column < p.n) store_box(&p.out_map, staging + i * C::kBoxBytes, box_column, box_row, matrix);
      }
      close_store_group();
    }
    __syncwarp();
  }

  // Four lanes write a 32-byte sector.
  static __device__ __forceinline__ void store_words(Registers acc, std::int32_t multiplier, const MultiplyParams& p,
                                                     int first_row, int first_column, int matrix) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    std::int32_t* const base = p.out_int32 + matrix * p.out_matrix_stride;
    pin(acc);
#pragma unroll
    for (int i = 0; i < 2 * C::kSlabs; ++i) {
      const int slab = i / 2, half = i % 2;
      const int row = first_row + 64 * slab + 16 * warp + 8 * half + lane / 4;
      if (row >= p.m) continue;
      std::int32_t* const line = base + row * p.out_pitch;
#pragma unroll
      for (int j = 0; j < C::kN / 8; ++j) {
        const int column = first_column + 8 * j + 2 * (lane % 4);
        const int2 pair = {wrapping_product(acc[slab][4 * j + 2 * half], multiplier),
                           wrapping_product(acc[slab][4 * j + 2 * half + 1], multiplier)};
        if (column + 1 < p.n) {
          *reinterpret_cast<int2*>(line + column) = pair;
        } else if (column < p.n) {
          line[column] = pair.x;
        }
      }
    }
  }
};

}  // namespace ozfp4::cuda::hopper
