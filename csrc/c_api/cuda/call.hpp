// What the arguments of ozfp4_cuda_?gemm and its batches become on a GPU.
#pragma once

#include <vector>

#include "c_api/checked/gemm.hpp"
#include "c_api/checked/options.hpp"

namespace ozfp4::c_api {

// The product that is launched: where all of a batch may be the rows of one, that one. Throws Refusal for what no product takes,
// or none on a GPU.
BatchedProduct check_device_gemm(const GemmCall& call, const CallOptions& options);

// Gives the call pointers that point nowhere, and the least leading dimensions.
void place_anywhere(GemmCall& call);

// Products of the same extents of which one takes as much workspace as any: what lines take depends on whether they are aligned,
// matrices are copied where a factor is imaginary, A B is kept where one has both parts, and a batch may be one product. Of the
// call's strides it counts whether they are 0; all pointers of these products point nowhere. Range: a call that check_device_gemm
// has nothing against.
std::vector<BatchedProduct> widest(const GemmCall& call, const CallOptions& options);

}  // namespace ozfp4::c_api
