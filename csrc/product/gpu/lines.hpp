// Lines of a real matrix that are scaled and encoded once, in the workspace of several products that have them on either side.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "product/gpu/choice.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/operand.hpp"
#include "product/options.hpp"
#include "product/product.hpp"

namespace ozfp4::product {

// Rows of one matrix are columns of its transpose, and lines of either side are encoded alike.
class KeptLines {
 public:
  // The rows of A, whatever lies there. None where their planes would take more than 2^35 bytes. Throws std::invalid_argument
  // where a stage would not take them. Range: a real product that reads its operands, no extent above kLongestExtent.
  static std::optional<KeptLines> of(const Product& product, const Options& options, const Chosen& chosen, const Device& device);

  // Of the workspace, a multiple of 256.
  std::int64_t bytes() const { return bytes_; }

  // Enqueues scale and encode. Throws std::runtime_error. Range: `data` is aligned as that of the product was, `workspace` to
  // 256.
  void launch(const char* data, char* workspace, cudaStream_t stream) const;

  // Rows [first, last), as an operand on the left or, as columns, on the right. Range: `first` is a multiple of 64, where lines
  // of planes are aligned.
  DevicePrepared part(std::int64_t first, std::int64_t last, bool is_left, const char* data, char* workspace) const;

 private:
  Prepared about_;
  Device device_;
  cuda::Kernel kernel_;
  std::shared_ptr<const cuda::CudaPlan> plan_;
  cuda::DeviceOperand lines_;
  std::int64_t scratch_ = 0, bytes_ = 0;  // what is kept lies before
};

}  // namespace ozfp4::product
