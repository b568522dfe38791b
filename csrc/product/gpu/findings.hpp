// The figures that a product left in its workspace, for a report.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>
#include <string>

#include "cuda/layout/blocks.hpp"
#include "cuda/layout/cuda_plan.hpp"
#include "cuda/layout/turns.hpp"
#include "plan/plan.hpp"

namespace ozfp4::product {

struct FoundRange {
  int least = INT_MAX, largest = INT_MIN;

  bool is_empty() const { return least > largest; }
  void add(int value) {
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
};

// How a product is made: "direct", "thin" or "tiles", or by "stages".
const char* way_name(const cuda::CudaLayout& layout);

// The name of a plan's kernel, with its tile and splits.
std::string kernel_text(const cuda::CudaPlan& plan, const cuda::CudaLayout& layout);

// The findings of all launches of a call. Lines of A and of B that several launches read count once.
struct DeviceFindings {
  std::shared_ptr<const Plan> plan;  // null: nothing was launched
  std::string kernel;                // with its tile and splits
  std::string fallback;              // why it is not that of the cheapest unit; empty: it is
  std::int64_t workspace = 0, special_rows = 0, special_columns = 0;
  std::int64_t listed = 0, exact = 0;  // entries that were repaired, and those of them by sums of all products
  std::int64_t entries = 0;            // of a Gram matrix, that were multiplied
  int moduli_used = 0;
  FoundRange exponents, capacities;
  // Lines whose shift is 0: all of them zeros, or with an exponent that the shift does not tell.
  bool has_unshifted_a = false, has_unshifted_b = false;
  bool counts_rows = true, counts_columns = true;  // whether the next launch has lines that are new

  // Reads what a turn left behind `stages`, and waits for the device.
  void add(const cuda::CudaPlan& plan, const cuda::CudaLayout& layout, const cuda::Turn& turn, const char* stages,
           cudaStream_t stream);
};

}  // namespace ozfp4::product
