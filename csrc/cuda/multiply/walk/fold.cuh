// What the actions of a step do to one accumulator, for every kernel. The kernels differ in which accumulators a thread
// holds and in how bytes leave the chip.
#pragma once

#include <cstdint>

#include "arith/fold.hpp"
#include "cuda/multiply/contract.hpp"

namespace ozfp4::cuda {

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

// A word whose low byte is acc mod m. Precondition: as for shifted.
template <bool kSigned>
__device__ __forceinline__ std::uint32_t residue_word(std::int32_t acc, const Fold& f) {
  return fold_to_byte(shifted<kSigned>(acc, f.offset), f.bytes, f.negated);
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

}  // namespace ozfp4::cuda
