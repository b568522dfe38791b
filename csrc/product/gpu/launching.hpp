// Where launches are enqueued, and what is done beside them.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "cuda/stages.hpp"
#include "product/gpu/findings.hpp"

namespace ozfp4::product {

struct Launching {
  cudaStream_t stream;
  void* counters = nullptr;       // see cuda::LaunchOptions::clear_counters; null: each launch clears its own
  cuda::StageEvents events{};     // recorded after the stages of the last turn
  bool waits_for_stages = false;  // an error is then found with the stage that made it
  DeviceFindings* found = nullptr;
  std::vector<std::string>* ways = nullptr;  // gets the way_name of each launch

  Launching(cudaStream_t on) : stream(on) {}  // nothing beside them

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
