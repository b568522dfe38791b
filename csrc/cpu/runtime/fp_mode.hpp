// The calling thread's floating-point environment: rounding mode, subnormal numbers, exceptions that are trapped or have
// occurred.
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ozfp4 {

// Meanwhile the mode is that in which exact products are computed, whatever the program set. Afterwards it is the program's
// again, without flags: roundings and overflows on the way to an exact result are none of the program's.
class DefaultFpMode {
 public:
#if defined(__x86_64__)
  DefaultFpMode() : kept_(_mm_getcsr()) {
    _mm_setcsr(0x1f80);  // to nearest, subnormal numbers as they are, no traps
    __asm__ volatile("fnstcw %0" : "=m"(kept_control_));
    set_control(kDefaultControl);
  }
  ~DefaultFpMode() {
    set_control(kept_control_);
    _mm_setcsr(kept_);
  }
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
  // The mode of the x87 unit, by which a BLAS takes norms and which fesetround sets, too.
  static constexpr unsigned short kDefaultControl = 0x37f;
  void set_control(unsigned short control) const {
    if (kept_control_ != kDefaultControl) __asm__ volatile("fldcw %0" : : "m"(control));
  }

  unsigned kept_;
  unsigned short kept_control_ = kDefaultControl;
#else
  std::fenv_t kept_;
#endif
};

}  // namespace ozfp4
