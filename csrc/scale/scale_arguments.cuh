// How the scale kernel cuts its operands: strips of lines times chunks of K, one block each.
#pragma once

#include <cstdint>

#include "runtime/cuda_views.hpp"
#include "scale/cuda_scale.hpp"

namespace ozfp4::cuda {

inline constexpr int kScaleThreads = 256;
inline constexpr int kScaleBatch = 8;  // entries that a thread loads before it looks at them

// One block serves lines * slots = 256 threads: `slots` threads share a line and take turns along K.
struct ScaleOperand {
  const char* data;
  std::int64_t outer_stride, inner_stride;
  Stack stack;
  std::int32_t* shift;
  std::uint8_t* special;
  std::uint64_t* partials;     // [chunk][line], of operands of several chunks
  std::uint32_t* tickets;      // [strip], likewise
  std::uint32_t outer, inner, total_lines;
  std::uint32_t strips, chunks, chunk_k;
  std::uint8_t log_slots;
  bool slots_adjacent;         // neighbouring threads along K (else along lines)
  bool vector_loads;           // 16 bytes a load
  bool is_double;
};

// What all blocks share; set to zero before the launch.
struct ScaleTotals {
  std::uint32_t largest_sum[2];  // bits of the largest LineSum::sum of A and of B, as nonnegative floats order like integers
  std::uint32_t strips_done;
  std::uint32_t unused;
};

struct ScaleArguments {
  ScaleOperand operand[2];
  PrefixRule rule;
  ScaleTotals* totals;
  int* units_used;
  std::uint32_t blocks_a;
  int capacity;
};

}  // namespace ozfp4::cuda
