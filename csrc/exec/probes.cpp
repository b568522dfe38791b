// The routines by which libblastrampoline learns of a library how wide its integers are, and how functions return complex and
// single numbers (docs/guide/existing-programs.md). All calls of them in a process come here, and go on to the real routine.
#include <complex>
#include <cstdint>
#include <cstdlib>

#include "exec/decide.hpp"

namespace ozfp4::exec {
namespace {

// Their arguments are pointers, at most six with that of a result, and whatever a library returns, in whatever register, is left
// there: nothing is done after the call.
using Any = void (*)(const void*, const void*, const void*, const void*, const void*, const void*);

// Replaces a routine that no library has.
template <class Int>
Int isamax(const Int* n, const float* x, const Int* step) {
  Int found = 0;
  for (Int i = 0; i < *n && *step > 0; ++i) {
    if (i == 0 || std::abs(x[i * *step]) > std::abs(x[(found - 1) * *step])) found = i + 1;
  }
  return found;
}

template <class T, class Int>
T dot(const Int* n, const T* x, const Int* step_x, const T* y, const Int* step_y) {
  T sum = 0;
  const auto begin = [n](Int step) { return step < 0 ? (1 - *n) * step : Int(0); };
  for (Int i = 0; i < *n; ++i) sum += conjugate(x[begin(*step_x) + i * *step_x]) * y[begin(*step_y) + i * *step_y];
  return sum;
}

}  // namespace
}  // namespace ozfp4::exec

using namespace ozfp4::exec;  // of the definitions below alone

#define OZFP4_PROBE(name, own)                                                                                       \
  OZFP4_EXPORT void name(const void* a, const void* b, const void* c, const void* d, const void* e, const void* f) { \
    OZFP4_REAL(name);                                                                                                \
    reinterpret_cast<Any>(real.address ? real.address : reinterpret_cast<void*>(&own))(a, b, c, d, e, f);            \
  }
#define OZFP4_PROBES(suffix, Int)                              \
  OZFP4_PROBE(isamax_##suffix, isamax<Int>)                    \
  OZFP4_PROBE(sdot_##suffix, (dot<float, Int>))                \
  OZFP4_PROBE(cdotc_##suffix, (dot<std::complex<float>, Int>)) \
  OZFP4_PROBE(zdotc_##suffix, (dot<std::complex<double>, Int>))
OZFP4_PROBES(, std::int32_t)
OZFP4_PROBES(64_, std::int64_t)
