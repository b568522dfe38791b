// What the CPU multiplies planes with, and how fast one unit is beside another.
#pragma once

#include <string>
#include <vector>

#include "cpu/bytes/kernels/kernel.hpp"
#include "plan/choice.hpp"

namespace ozfp4 {

// What multiplies planes of bytes, by OZFP4_CPU_KERNEL's names, against planes of FP64. Those of FP32 have twice the
// rate, less what decoding takes: 1.8 to 2.1 measured. AVX-512 VNNI does eight times the operations of FP64 a clock and
// attains most of them. AMX does 64 times as many and attains 24 times FP64 on 16 processors of a Xeon, bound by power.
struct ByteRate {
  const char* setting;
  double rate;
};
inline constexpr ByteRate kByteRates[] = {
    {"sgemm", 1.9}, {"portable", 0.1}, {"avx_vnni", 7.0}, {"avx512_vnni", 7.0}, {"amx", 25.0}};

// Of the unit that serves bytes now; those taken first among equals in front.
inline std::vector<UnitRate> cpu_units() {
  const ByteKernel* kernel = serving_byte_kernel();
  const std::string setting = kernel != nullptr ? kernel->setting : "sgemm";
  double rate = 0;
  for (const ByteRate& known : kByteRates) {
    if (setting == known.setting) rate = known.rate;
  }
  return {{&Alphabet::fp64, 1.0}, {&Alphabet::int8, rate}, {&Alphabet::fp4, rate}};
}

}  // namespace ozfp4
