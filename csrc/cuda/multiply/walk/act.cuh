// The action of a step on the accumulators behind its K loop, for the kernels that fold in registers. A family's `Pass` defines
// the accumulators of a thread, and how bytes leave the chip:
//
//   kSigned, kStoredSigned    whether accumulators may be negative; whether what store_bytes and a carry take may be.
//   begin(), shift(f)         before everything; before bytes are stored.
//   change(f, function)       x = function(x) for every accumulator.
//   store_bytes(f, keeps)     stores acc mod m, one byte an entry; keeps accumulators only where it must.
//   kRowGroups, kPairs, row_of(i), pin(), at(i, j, e)
//                             of store_words: a thread's rows, and its pairs of neighbours in a row, eight columns apart.
//   end(is_stored)            behind everything.
#pragma once

#include <cstdint>

#include "arith/fold.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/launch.hpp"

namespace ozfp4::cuda {

// ---- The actions of a step on one accumulator -------------------------------------------------------------------------------

// x * y modulo 2^32.
__device__ __forceinline__ std::int32_t wrapping_product(std::int32_t x, std::int32_t y) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(y));
}

// The constants of a step's fold, as the functions below want them.
struct Fold {
  byte_fold bytes;
  std::uint32_t negated;  // -modulus
  std::uint32_t offset;   // added to signed accumulators: nonnegative after that, see make_step

  __device__ __forceinline__ explicit Fold(const GemmStep& step)
      : bytes(step.bytes), negated(0u - step.modulus), offset(static_cast<std::uint32_t>(step.offset_quotient) * step.modulus) {
    asm("mov.b32 %0, %0;" : "+r"(negated));  // else the compiler sees the minus and negates each quotient instead
  }
};

// The value that is folded: nonnegative, below 2^31. Precondition: as the step was made for (make_step, find_problem_error);
// the offset of unsigned planes is 0.
template <bool kSigned>
__device__ __forceinline__ std::uint32_t shifted(std::int32_t acc, std::uint32_t offset) {
  return kSigned ? static_cast<std::uint32_t>(acc) + offset : static_cast<std::uint32_t>(acc);
}

// A word with acc mod m as its low byte. Precondition: as for shifted.
template <bool kSigned>
__device__ __forceinline__ std::uint32_t residue_word(std::int32_t acc, const Fold& f) {
  return fold_to_byte(shifted<kSigned>(acc, f.offset), f.bytes, f.negated);
}

// Accumulators become such words, step by step for all N: one after the other, each step would wait for the one before.
template <bool kSigned, int N>
__device__ __forceinline__ void to_residue_words(std::int32_t* acc, const Fold& f) {
  std::uint32_t quotient[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (kSigned) acc[i] = static_cast<std::int32_t>(shifted<kSigned>(acc[i], f.offset));
    asm volatile("dp4a.u32.u32 %0, %0, %1, %2;" : "+r"(acc[i]) : "r"(f.bytes.weights), "r"(f.bytes.start));
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    asm volatile("fma.rm.f32 %0, %1, %2, %3;"
                 : "=r"(quotient[i])
                 : "r"(acc[i]), "r"(__float_as_uint(f.bytes.inverse)), "r"(__float_as_uint(f.bytes.center)));
  }
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("mad.lo.u32 %0, %1, %2, %0;" : "+r"(acc[i]) : "r"(quotient[i]), "r"(f.negated));
}

// (acc mod m) * multiplier modulo 2^32. Precondition: acc as for shifted, any multiplier.
class MultipliedResidue {
 public:
  __device__ __forceinline__ MultipliedResidue(const Fold& f, const GemmStep& step)
      : multiplier_(static_cast<std::uint32_t>(step.multiplier)),
        correction_(0u - byte_fold_excess(f.bytes, step.modulus) * multiplier_) {}

  template <bool kSigned>
  __device__ __forceinline__ std::int32_t of(std::int32_t acc, const Fold& f) const {
    return static_cast<std::int32_t>(residue_word<kSigned>(acc, f) * multiplier_ + correction_);
  }

 private:
  std::uint32_t multiplier_, correction_;
};

// floor(acc / m), that is (acc - acc mod m) / m. Precondition: as for shifted, or what was shifted, as unsigned.
class Carry {
 public:
  __device__ __forceinline__ Carry(const Fold& f, const GemmStep& step)
      : constants_{step.modulus, step.magic, step.shift, f.offset, f.negated}, offset_quotient_(step.offset_quotient) {}

  template <bool kSigned>
  __device__ __forceinline__ std::int32_t of(std::int32_t acc) const {
    return static_cast<std::int32_t>(fold_quotient(shifted<kSigned>(acc, constants_.offset), constants_)) - offset_quotient_;
  }

 private:
  fold_constants constants_;
  std::int32_t offset_quotient_;
};

// ---- To all of a thread ---------------------------------------------------------------------------------------------------

// Where a pass stores: rows from `row` on, columns from `column` on, of out matrix `matrix`.
struct OutPlace {
  int row, column, matrix;
};

// The accumulators times the multiplier. Four lanes write a 32-byte sector.
template <class Pass>
__device__ __forceinline__ void store_words(const Pass& pass, std::int32_t multiplier) {
  const MultiplyParams& p = pass.p;
  std::int32_t* const base = p.out_int32 + pass.to.matrix * p.out_matrix_stride;
  pass.pin();
#pragma unroll
  for (int i = 0; i < Pass::kRowGroups; ++i) {
    const int row = pass.row_of(i);
    if (row >= p.m) continue;
    std::int32_t* const line = base + row * p.out_pitch;
#pragma unroll
    for (int j = 0; j < Pass::kPairs; ++j) {
      const int column = pass.to.column + 8 * j + 2 * (threadIdx.x % 4);
      const int2 pair = {wrapping_product(pass.at(i, j, 0), multiplier), wrapping_product(pass.at(i, j, 1), multiplier)};
      if (column + 1 < p.n) {
        *reinterpret_cast<int2*>(line + column) = pair;
      } else if (column < p.n) {
        line[column] = pair.x;
      }
    }
  }
}

// One copy of each change in the code: a store of a multiplied residue is a fold and a store.
template <class Pass>
__device__ __forceinline__ void act(const Pass& pass, const GemmStep& step) {
  const Fold f(step);
  const bool is_residue = step.action == Action::store_residue, is_digit = step.action == Action::store_digit;
  pass.begin();
  if (step.action == Action::fold || (is_residue && step.multiplier != 1)) {
    const MultipliedResidue residue(f, step);
    pass.change(f, [&](std::int32_t x) { return residue.template of<Pass::kSigned>(x, f); });
  }
  if (is_residue || is_digit) {
    pass.shift(f);
    pass.store_bytes(f, is_digit);
  }
  if (is_digit) {
    const Carry carried(f, step);
    pass.change(f, [&](std::int32_t x) { return carried.template of<Pass::kStoredSigned>(x); });
  }
  if (step.action == Action::multiply) {
    pass.change(f, [&](std::int32_t x) { return wrapping_product(x, step.multiplier); });
  }
  if (step.action == Action::store_int32) store_words(pass, step.multiplier);
  pass.end(is_residue || step.action == Action::store_int32);
}

}  // namespace ozfp4::cuda
