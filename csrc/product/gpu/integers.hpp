// Products of integers on the current device, checked: what is launched for them, and how their workspace is used. Pointers count
// by their alignment alone until then.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "cuda/matmul.hpp"
#include "product/gpu/findings.hpp"
#include "product/gpu/layout.hpp"
#include "product/integers.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

// The parts of a product's workspace: operands as integers of 64 bits, the product before the sum, the rest.
struct IntegerPlaces {
  std::int64_t a = 0, b = 0, product = 0, stages = 0, bytes = 0;
};

// Calls of the same types, extents, strides, alignments and options share it.
struct IntegerProblem : LaidOut {
  IntegerPlaces places;
};

// All of it but the steps, which needs no device; without planes where `direct` allows it. Throws Refusal for a plan that no GPU
// has for integers, and where copies exceed the workspace limit; WorkspaceError where all of it does. Precondition: what is
// multiplied, no extent above kLongestExtent.
std::shared_ptr<IntegerProblem> lay_out(const IntegerSum& integers, const Options& options,
                                        const std::shared_ptr<const Plan>& plan, cuda::Kernel kernel, const cuda::Gpu& gpu,
                                        const Shaping& how);

// Likewise; `stream`: where it will be launched. Throws Refusal Fault::no_device where there is no device, or no kernel of this
// build passes its test on it.
std::shared_ptr<const IntegerProblem> find_problem(const IntegerSum& integers, const Options& options, cudaStream_t stream);

// `adds`: to what the launch before counted of overflows. Throws cuda::LaunchError. Precondition: a workspace of
// problem.places.bytes, aligned to 256.
void launch(const IntegerProblem& problem, const IntegerSum& integers, const Options& options, char* workspace,
            const Launching& how, bool adds = false);

// The same of what is not multiplied: beta C, and no overflow. Throws Refusal Fault::no_device where there is no device.
void launch_nothing(const IntegerSum& integers, const Options& options, cudaStream_t stream);

}  // namespace ozfp4::product
