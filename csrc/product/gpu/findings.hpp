// Where launches are enqueued and the work around them, among it the figures that a product left in its workspace.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cpu/scale/scale.hpp"
#include "cuda/layout/blocks.hpp"
#include "cuda/layout/cuda_plan.hpp"
#include "cuda/layout/turns.hpp"
#include "cuda/runtime/export.hpp"
#include "cuda/stages.hpp"
#include "plan/plan.hpp"

namespace ozfp4::product {

// How a product is made: "direct", "thin" or "tiles", or by "stages".
OZFP4_CUDA_EXPORT const char* way_name(const cuda::CudaLayout& layout);

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
  LineRange exponents, capacities;
  // Lines with a shift of 0: all of them zeros, or with an exponent that the shift does not show.
  bool has_unshifted_a = false, has_unshifted_b = false;
  bool counts_rows = true, counts_columns = true;  // whether the next launch has lines that are new

  // Reads what a turn left behind `stages`, and waits for the device.
  void add(const cuda::CudaPlan& plan, const cuda::CudaLayout& layout, const cuda::Turn& turn, const char* stages,
           cudaStream_t stream);
};

// Where launches are enqueued.
struct Launching {
  cudaStream_t stream;
  void* counters = nullptr;       // see cuda::LaunchOptions::clear_counters; null: each launch clears its own
  cuda::StageEvents events{};     // recorded after the stages of the last turn
  bool waits_for_stages = false;  // an error is then found with the stage that made it
  DeviceFindings* found = nullptr;
  std::vector<std::string>* ways = nullptr;  // gets the way_name of each launch

  Launching(cudaStream_t on) : stream(on) {}  // nothing but these

  cuda::LaunchOptions options() const {
    cuda::LaunchOptions made;
    made.stream = stream;
    made.clear_counters = counters;
    made.events = events;
    made.sync_stages = waits_for_stages;
    return made;
  }
};

}  // namespace ozfp4::product
