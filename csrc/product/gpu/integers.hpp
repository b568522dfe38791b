// Products of integers on the current device, checked: what is launched for them, and how their workspace is used. Pointers count
// by their alignment alone until then.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "product/gpu/problem.hpp"
#include "product/integers.hpp"

namespace ozfp4::product {

// As of a Product. Throws Refusal for a plan that no GPU has for integers, and where copies exceed the workspace limit;
// WorkspaceError where all of it does. Precondition: what is multiplied, no extent above kLongestExtent.
std::shared_ptr<DeviceProblem> lay_out(const IntegerSum& integers, const Options& options,
                                       const std::shared_ptr<const Plan>& plan, cuda::Kernel kernel, const cuda::Gpu& gpu,
                                       const Shaping& how);

// Likewise; `stream`: where it will be launched. Throws Refusal Fault::no_device where there is no device, or no kernel of this
// build passes its test on it.
std::shared_ptr<const DeviceProblem> find_problem(const IntegerSum& integers, const Options& options, cudaStream_t stream);

// `adds`: to what the launch before counted of overflows. Throws cuda::LaunchError. Precondition: a workspace of
// problem.places.bytes, aligned to 256.
void launch(const DeviceProblem& problem, const IntegerSum& integers, const Options& options, char* workspace,
            const Launching& how, bool adds = false);

// The same of what is not multiplied: beta C, and no overflow. Throws Refusal Fault::no_device where there is no device.
void launch_nothing(const IntegerSum& integers, const Options& options, cudaStream_t stream);

}  // namespace ozfp4::product
