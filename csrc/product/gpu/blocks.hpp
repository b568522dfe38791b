// A product on the current device in blocks of the result, where not all of it has room in the workspace limit: of complex
// matrices by their copies. The stages cut their own buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "product/gpu/sum.hpp"

namespace ozfp4::product {

struct DeviceBlock {
  Block at;
  DeviceSum sum;
};

// One after the other in the same workspace.
struct DeviceBlocks {
  std::vector<DeviceBlock> blocks;
  std::int64_t bytes = 0;
};

// Throws as find_problem.
DeviceBlocks find_blocks(const Product& product, const Options& options, cudaStream_t stream);

// As launch of a DeviceProblem. Range: a workspace of blocks.bytes, aligned to 256.
void launch(const DeviceBlocks& blocks, const Product& product, const Options& options, char* workspace, const Launching& how);

}  // namespace ozfp4::product
