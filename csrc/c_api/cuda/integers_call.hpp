// What the arguments of ozfp4_cuda_igemm and its like become on a GPU.
#pragma once

#include <vector>

#include "c_api/checked/integers.hpp"
#include "product/gpu/integers.hpp"

namespace ozfp4::c_api {

// Throws Refusal for what no product takes, or none on a GPU.
IntegerSum check_device_integers(const IntegerCall& call, const CallOptions& options);

// Gives the call pointers that point nowhere, and the least leading dimensions.
void place_anywhere(IntegerCall& call);

// Products of the same types and extents of which one takes as much workspace as any: what lines take depends on whether they are
// aligned, and the product lies apart where there are factors, if the call `allows` them. Of the call pointers, leading
// dimensions and factors are not looked at; all pointers of these products point nowhere.
std::vector<IntegerSum> widest(IntegerCall call, bool allows_factors, const CallOptions& options);

}  // namespace ozfp4::c_api
