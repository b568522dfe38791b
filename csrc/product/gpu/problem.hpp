// Products on the current device, checked: what is launched for them, and how their workspace is used. Pointers count by their
// alignment alone until then; alpha and beta are real or imaginary.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/matmul.hpp"
#include "plan/cuts.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/findings.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/numbering.hpp"
#include "product/gpu/operand.hpp"
#include "product/options.hpp"
#include "product/product.hpp"

namespace ozfp4::product {

// Where parts of the workspace begin: a zero for operands that are not read, behind the copies what the stages use.
struct DevicePlaces {
  std::int64_t zero = 0, stages = 0, bytes = 0;
};

// The matrices that are copied before the product: complex operands, those of integers of fewer than 64 bits, and the addend.
// After it results with columns apart, and those before a sum of integers.
struct Copies {
  Copy left, right, addend, result, second;
  bool turns_left = false, turns_right = false;  // to i times the operand
};

// Calls of the same types, extents, strides, alignments and options share it.
struct DeviceProblem : LaidOut {
  DevicePlaces places;
  bool reads = true;  // the operands at all
  Copies copies;

  // Gives the parts before those of the stages their places.
  void place(const Axes& axes);
  // The axes of the stack with the steps of these, or of what is copied.
  std::vector<cuda::StackAxis> steps_through(const Axes& axes, std::ptrdiff_t Axis::* second) const;
};

// All of it but the steps, which needs no device: a product by this plan and kernel on such a GPU, or without planes where
// `direct` allows it. Throws WorkspaceError where the workspace limit is too small. Precondition: operands that the kernel
// multiplies, with entries; no extent above kLongestExtent; bounds, or for alpha = 1 and beta = 0 the product rounded up.
// Prepared operands are of a single product by their plan and kernel; alpha is real where both are prepared.
std::shared_ptr<DeviceProblem> lay_out(const Product& product, const Options& options, const std::shared_ptr<const Plan>& plan,
                                       cuda::Kernel kernel, const cuda::Gpu& gpu, const Shaping& how);

// Bytes of the copies that a product needs for each row, column and entry of the result.
CopyBytes copy_bytes(const Product& product);

// Whether both operands are complex, and plans are those of complex products.
bool is_paired(const Product& product);

// Entries along K of the real product that is multiplied.
std::int64_t inner_of(const Product& product);

// How a product is made, and what the models say of each way: infinity where there is none, and of complex products.
struct WayOfProduct {
  std::shared_ptr<const DeviceProblem> problem;
  cuda::OfWays microseconds;
};
OZFP4_CUDA_EXPORT WayOfProduct way_of(const Product& product, const Options& options, cudaStream_t stream);

// The key of a problem that is kept on a device.
Key key_of(const Product& product, const Options& options, int device);

// Throws Refusal Fault::no_device where there is none, or no kernel of this build passes its test on it; WorkspaceError where
// the workspace limit is too small. `stream`: where it will be launched. Precondition: as lay_out.
std::shared_ptr<const DeviceProblem> find_problem(const Product& product, const Options& options, cudaStream_t stream);

// Stores that nothing is repaired, where no kernel does. Precondition: options.repaired. Throws as launch.
void store_no_repairs(const Options& options, cudaStream_t stream);

// `adds`: to the repaired entries that the launch before has stored. Throws cuda::LaunchError. Precondition: a workspace of
// problem.places.bytes, aligned to 256.
void launch(const DeviceProblem& problem, const Product& product, const Options& options, char* workspace, const Launching& how,
            bool adds = false);

}  // namespace ozfp4::product
