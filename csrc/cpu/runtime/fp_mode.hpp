// The calling thread's floating-point environment: rounding mode, subnormal numbers, exceptions that are trapped or have
// occurred.
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ozfp4 {

// Meanwhile that in which exact products are computed, whatever the program set, and afterwards the program's own again, in which
// nothing has occurred: roundings and overflows on the way to an exact result are none of the program's.
class DefaultFpMode {
 public:
#if defined(__x86_64__)
  DefaultFpMode() : kept_(_mm_getcsr()) { _mm_setcsr(0x1f80); }  // to nearest, subnormal numbers as they are, no traps
  ~DefaultFpMode() { _mm_setcsr(kept_); }
  static bool rounds_to_nearest() { return (_mm_getcsr() & _MM_ROUND_MASK) == _MM_ROUND_NEAREST; }
#else
  DefaultFpMode() {
    std::fegetenv(&kept_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFpMode() { std::fesetenv(&kept_); }
  static bool rounds_to_nearest() { return std::fegetround() == FE_TONEAREST; }
#endif
  DefaultFpMode(const DefaultFpMode&) = delete;
  DefaultFpMode& operator=(const DefaultFpMode&) = delete;

 private:
#if defined(__x86_64__)
  unsigned kept_;
#else
  std::fenv_t kept_;
#endif
};

}  // namespace ozfp4
