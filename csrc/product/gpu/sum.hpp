// alpha A B + beta C with whatever factors on the current device, checked. Where one of them has a real and an imaginary part, A
// B is rounded to a matrix in the workspace, or to the sum of two. Then alpha (A B) + beta C follows, as in
// product/cpu/both_parts.cpp. Where not all of it has room in the workspace limit it is made in blocks of the result: of complex
// matrices, for their copies. The stages cut their own buffers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "product/gpu/problem.hpp"

namespace ozfp4::product {

// Where parts of the workspace begin: A B, what rounding it has lost, bounds of that, the rest.
struct SumPlaces {
  std::int64_t product = 0, rest = 0, lost = 0, stages = 0, bytes = 0;
};

// The launches. Null: none of that kind.
struct DeviceSum {
  std::shared_ptr<const DeviceProblem> product, rest;
  SumPlaces places;
};

// The launches of a product with factors that are real or imaginary.
using FindProblem = std::function<std::shared_ptr<const DeviceProblem>(const Product& product, const Options& options)>;

// The sum of what `find` finds. Throws WorkspaceError where A B exceeds the workspace limit.
DeviceSum lay_out_sum(const Product& product, const Options& options, const FindProblem& find);

// As launch of a DeviceProblem. Precondition: a workspace of sum.places.bytes, aligned to 256.
void launch(const DeviceSum& sum, const Product& product, const Options& options, char* workspace, const Launching& how,
            bool adds = false);

struct DeviceBlock {
  Block at;
  DeviceSum sum;
};

// One after the other in the same workspace.
struct DeviceBlocks {
  std::vector<DeviceBlock> blocks;
  std::int64_t bytes = 0;
};

// The blocks by problems that `find` returns, for the limit of the options. Throws as `find`.
DeviceBlocks lay_out_blocks(const Product& product, const Options& options, const FindProblem& find);

// The same of the problems of the current device. Throws as find_problem.
DeviceBlocks find_blocks(const Product& product, const Options& options, cudaStream_t stream);

// As launch of a DeviceProblem. Precondition: a workspace of blocks.bytes, aligned to 256.
void launch(const DeviceBlocks& blocks, const Product& product, const Options& options, char* workspace, const Launching& how);

}  // namespace ozfp4::product
