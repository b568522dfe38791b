// How many entries the calling thread's products of real scaled numbers have made from their row and column alone, in its life.
#pragma once

#include <cstdint>

#include "cpu/matmul.hpp"

namespace ozfp4::bindings {

inline std::int64_t& repaired_here() {
  static thread_local std::int64_t count = 0;
  return count;
}

inline void count_repaired(const MatmulOutcome& outcome) {
  repaired_here() += outcome.entries.chains + outcome.entries.pairs + outcome.entries.exact_sums;
}

}  // namespace ozfp4::bindings
