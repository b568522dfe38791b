// What the functions that multiply matrices on a device do with a product that is checked, prepared or not.
#pragma once

#include <cstdint>
#include <vector>

#include "c_api/checked/gemm.hpp"
#include "c_api/checked/options.hpp"
#include "c_api/cuda/entry.hpp"
#include "product/gpu/operand.hpp"

namespace ozfp4::c_api {

// Throws Refusal for an address that no product takes.
void check_addresses(const GemmCall& call, const CallOptions& options);

// Checks the addresses and the workspace, whose size the function `query` says, and enqueues the product. Throws Refusal. Range:
// check_device_gemm has made `product` of the call.
void enqueue(const GemmCall& call, const BatchedProduct& product, const CallOptions& options, const PreparedSides& sides,
             const Place& place, const char* query);

// The workspace of the one that takes most, as most_within_limit has it.
std::int64_t most_bytes(const std::vector<BatchedProduct>& products, const CallOptions& options, const PreparedSides& sides);

}  // namespace ozfp4::c_api
