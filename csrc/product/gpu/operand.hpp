// An operand on a device that is scaled and encoded once: where the parts of it lie in its memory, and what makes them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cuda/layout/cuda_plan.hpp"
#include "cuda/layout/turns.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/runtime/export.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/findings.hpp"
#include "product/options.hpp"
#include "product/prepared.hpp"
#include "product/product.hpp"

namespace ozfp4::product {

struct DevicePrepared : Prepared {
  int device;
  cuda::Kernel kernel;         // the operand of these planes
  cuda::DeviceOperand view;    // of the copied entries, as a product takes them
  cuda::StoredOperand stored;  // nothing is kept where there are no entries
};

// The prepared operands of a product; null: not prepared.
struct PreparedSides {
  const DevicePrepared *left, *right;

  const DevicePrepared* any() const { return left != nullptr ? left : right; }
};

// Precondition: operands that were prepared lie on a device.
inline PreparedSides sides_of(const Product& product) {
  return {static_cast<const DevicePrepared*>(product.prepared_a), static_cast<const DevicePrepared*>(product.prepared_b)};
}

// A copy of the real operand, what scale and encode leave, and what they need meanwhile.
struct PreparedPlaces {
  std::int64_t entries = 0, stored = 0, scratch = 0, bytes = 0;
};

// The launches for an operand.
struct PreparedProblem {
  std::shared_ptr<const cuda::CudaPlan> plan;
  cuda::DeviceOperand copy;     // of the entries, data null: what a product takes
  cuda::DeviceOperand encoded;  // likewise, what scale and encode take: complex ones by their parts, all matrices of a stack
  StackOf axes{};               // of the copies
  PreparedPlaces places;
};

// By this plan and kernel; needs no device. Throws std::invalid_argument where a stage would not take it. Precondition: an
// operand with entries, no extent above kLongestExtent.
PreparedProblem lay_out(const ToPrepare& own, Accuracy accuracy, const std::shared_ptr<const Plan>& plan, cuda::Kernel kernel,
                        const cuda::Gpu& gpu);

// Where such an operand lies in the memory.
void place(DevicePrepared& made, const PreparedProblem& problem, const ToPrepare& own, char* memory);

// Lines [first, last) of every matrix, as an operand on the left or on the right. Precondition: a real operand; `first` is a
// multiple of 64, where lines of planes are aligned.
DevicePrepared lines_of(const DevicePrepared& made, std::int64_t first, std::int64_t last, bool is_left);

// Enqueues all of it; `memory` is aligned to 256. Throws std::runtime_error. Precondition: places.bytes of memory.
void launch(const PreparedProblem& problem, const ToPrepare& own, char* memory, const Launching& how);

// Lines of a real matrix that are scaled and encoded once, in the workspace of several products that have them on either side.
// Rows of one matrix are columns of its transpose, and lines of either side are encoded alike.
class KeptLines {
 public:
  // The rows of A, whatever lies there. Throws std::invalid_argument where a stage would not take them. Precondition: a real
  // product that reads its operands, no extent above kLongestExtent.
  static KeptLines of(const Product& product, const Options& options, const Chosen& chosen, const Device& device);

  // The bytes of the workspace, a multiple of 256.
  std::int64_t bytes() const { return problem_.places.bytes; }

  // Enqueues scale and encode. Throws std::runtime_error. Precondition: `data` is aligned as that of the product was, `workspace`
  // to 256.
  void launch(const char* data, char* workspace, cudaStream_t stream) const;

  // Rows [first, last), as an operand on the left or, as columns, on the right. Precondition: as lines_of.
  DevicePrepared part(std::int64_t first, std::int64_t last, bool is_left, const char* data, char* workspace) const;

 private:
  ToPrepare at(const char* data) const;

  ToPrepare rows_;
  PreparedProblem problem_;
  DevicePrepared about_;
};

}  // namespace ozfp4::product
