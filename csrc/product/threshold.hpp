// From which extent on products gain over a device's own library: the one choice of `ozfp4 exec` and ozfp4.emulate.
#pragma once

#include <cstdint>
#include <string>

#include "product/measured.hpp"

namespace ozfp4 {

// A product is worth taking if each of m, n and k is at least the threshold of its type, as it was measured here (measured.hpp),
// else by a table. `type`: 's', 'd', 'c' or 'z'.
inline constexpr std::int64_t kNeverFaster = kNever;

// The CPU of this process.
std::int64_t cpu_threshold(char type);
// `name`: as the driver has it. `capability`: 10 times its major number and its minor one.
std::int64_t gpu_threshold(const std::string& name, int capability, char type);

// "correct" takes up to 1.5 times as long as the accuracy that thresholds are measured with.
inline std::int64_t threshold_of_correct(std::int64_t threshold) {
  return threshold > kNeverFaster / 2 ? kNeverFaster : 2 * threshold;
}

// More repaired entries than this make a product slower than the device's own library: on an H200 so many take 0.2 of the 2 ms of
// a product of 4096^3.
inline std::int64_t few_repairs(std::int64_t entries) { return entries / 2048 + 1; }

}  // namespace ozfp4
