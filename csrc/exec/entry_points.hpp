// What the CPU's routines share: how Fortran and CBLAS pass arguments, and what becomes of a call.
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "exec/bypass.hpp"
#include "exec/decide.hpp"
#include "exec/line.hpp"
#include "exec/real_routine.hpp"
#include "exec/record.hpp"
#include "exec/serve_cpu.hpp"

namespace ozfp4::exec {

// ---- Fortran -------------------------------------------------------------------------------------------------------------

// 0 for what is none of BLAS's.
inline int fortran_transpose(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'N': return no_transpose;
    case 'T': return transpose;
    case 'C': return conjugate_transpose;
    case 'R': return conjugate_alone;
    default: return 0;
  }
}

inline int fortran_triangle(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'U': return upper_triangle;
    case 'L': return lower_triangle;
    default: return 0;
  }
}

template <class Int>
std::int64_t value_of(const Real& real, const Int* at) {
  return real.is_64_bit ? *reinterpret_cast<const std::int64_t*>(at) : *at;
}

// ---- CBLAS ---------------------------------------------------------------------------------------------------------------

// Integers are declared as wide as the registers and places on the stack that they come in (x86-64 and AArch64), and go on as
// they came: whether the real routine reads 32 or 64 bits of them is its own affair.
using Word = std::int64_t;

template <class Int>
Word value_of(const Real& real, Word word) {
  return real.is_64_bit ? word : static_cast<Word>(static_cast<Int>(word));
}

template <class Scalar>
const void* address_of(const Scalar& scalar) {
  if constexpr (std::is_pointer_v<Scalar>) {
    return scalar;
  } else {
    return &scalar;
  }
}

inline int cblas_transpose(int value) { return value >= no_transpose && value <= conjugate_alone ? value : 0; }

// ---- Either --------------------------------------------------------------------------------------------------------------

// In the place of a routine that nobody has: what ozfp4 did not make. Where BLAS would say which argument is wrong, and end the
// program, it is one line.
inline void make_alone(const Real& real, const Product& product) {
  if (is_valid(product)) return multiply_plainly(product);
  say_once(std::string(name_of(real.routine)) + ": an argument is none of BLAS's; nothing is written");
}

// `function` calls the real routine with the very arguments.
template <class Function>
void make(const Real& real, const Product& product, const Function& function) {
  const auto forward = [&] { return real.is_own ? make_alone(real, product) : function(); };
  if (bypass_depth > 0) return forward();
  const Reason reason = serve_or_leave(real, product);
  if (is_caught(reason)) return;
  const CountedCall counted(kind_of(real.routine, product, reason));
  const Bypass bypass;
  forward();
}

}  // namespace ozfp4::exec
