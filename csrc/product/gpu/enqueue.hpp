// Products on the current device, as faces call them: checked, and enqueued on a stream in the caller's workspace, or told how
// much of that they take. A build without CUDA has the same functions (none.cpp), which throw Refusal Fault::no_device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/runtime/export.hpp"
#include "product/integers.hpp"
#include "product/options.hpp"
#include "product/prepared.hpp"
#include "product/product.hpp"

namespace ozfp4::product {

// Whether this build has kernels for GPUs.
bool has_device_code();

struct DeviceFindings;

// Where a call runs: `bytes` of the caller's memory on the device, aligned to 256, and a cudaStream_t. With `needed` it writes
// there how many bytes it takes, and enqueues nothing: of the matrices it counts how their addresses are aligned.
struct DevicePlace {
  void* memory = nullptr;
  std::int64_t bytes = 0;
  void* stream = nullptr;
  std::int64_t* needed = nullptr;
  // Instead of `memory`: gives so many bytes that the stream may use until what it has enqueued has run. If it gives null a
  // product is tried in half of the bytes, by more blocks, and so on; `is_last`: nothing smaller is left. Small products take
  // memory that is kept for the stream instead.
  std::function<void*(std::int64_t bytes, bool is_last)> allocate{};
  std::array<void*, 3> events{};             // cudaEvent_t: recorded after scale, encode and multiply; null: not
  bool waits_for_stages = false;             // an error is then found with the stage that made it
  DeviceFindings* found = nullptr;           // of a product with Options::has_stages; waits for the device
  std::vector<std::string>* ways = nullptr;  // gets the way in which each launch makes its product
};

// Prepared operands are those that prepare_on_device has made. Each throws Refusal: for an invalid product, or one that no GPU
// computes, and Fault::workspace for too little memory. Fault::no_device means no device, or no kernel of this build that passes
// its test on it; Fault::device_error an error of CUDA. The options' `repaired` and `overflows` are written where nothing is
// multiplied, too.
OZFP4_CUDA_EXPORT void enqueue(const Product& product, const Options& options, const DevicePlace& place);
OZFP4_CUDA_EXPORT void enqueue_integers(const IntegerSum& sum, const Options& options, const DevicePlace& place);

// C = X X^H of the product of X and its adjoint, of each matrix of a stack. `least_columns`: of the blocks that it is cut into,
// whatever its extent; 0: by what pays.
OZFP4_CUDA_EXPORT void enqueue_gram(const Product& gram, const Options& options, const DevicePlace& place,
                                    std::int64_t least_columns = 0);
OZFP4_CUDA_EXPORT void enqueue_gram(const IntegerSum& gram, const Options& options, const DevicePlace& place,
                                    std::int64_t least_columns = 0);

// The operand lies in `place.memory` until it is gone. Null where only its size is asked for.
OZFP4_CUDA_EXPORT std::shared_ptr<const Prepared> prepare_on_device(const ToPrepare& own, const Options& options,
                                                                    const DevicePlace& place);

}  // namespace ozfp4::product
