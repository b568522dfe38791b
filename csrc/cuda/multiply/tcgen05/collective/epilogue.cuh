// The epilogue of the sm_100 kernels as a visitor tree of CUTLASS: (accumulator, byte of the previous pass) -> byte.
#pragma once

#include <cutlass/epilogue/fusion/sm90_visitor_load_tma_warpspecialized.hpp>
#include <cutlass/epilogue/fusion/sm90_visitor_tma_warpspecialized.hpp>

#include "cuda/multiply/tcgen05/pass.hpp"

namespace ozfp4::cuda::tcgen05 {

// A node of a visitor tree without its callbacks: arguments that are parameters, no workspace, no shared memory.
template <class Arguments_>
struct Node {
  struct SharedStorage {};
  using Arguments = Arguments_;
  using Params = Arguments_;

  template <class Problem>
  static constexpr Params to_underlying_arguments(const Problem&, const Arguments& arguments, void*) {
    return arguments;
  }
  template <class Problem>
  static bool can_implement(const Problem&, const Arguments&) {
    return true;
  }
  template <class Problem>
  static std::size_t get_workspace_size(const Problem&, const Arguments&) {
    return 0;
  }
  template <class Problem>
  static cutlass::Status initialize_workspace(const Problem&, const Arguments&, void*, cudaStream_t,
                                              cutlass::CudaHostAdapter* = nullptr) {
    return cutlass::Status::kSuccess;
  }

  __host__ __device__ Node() {}
  __host__ __device__ Node(const Params& params, const SharedStorage&) : params(&params) {}

  template <class Tile>
  __device__ __forceinline__ auto get_producer_load_callbacks(const Tile&) {
    return cutlass::epilogue::fusion::EmptyProducerLoadCallbacks{};
  }

  const Params* params = nullptr;
};

struct PreviousPass {
  bool exists = false;
};

// The byte that the previous pass stored, loaded only where there was one.
struct PreviousByte : Node<PreviousPass> {
  using Node<PreviousPass>::Node;

  __device__ __forceinline__ bool is_producer_load_needed() const { return params->exists; }
  __device__ __forceinline__ bool is_C_load_needed() const { return params->exists; }

  template <bool kReferenceSource, class Tile>
  __device__ __forceinline__ auto get_consumer_store_callbacks(const Tile& tile) {
    return cutlass::epilogue::fusion::Sm90SrcFetch<std::uint8_t>().template get_consumer_store_callbacks<kReferenceSource>(tile);
  }
};

// Folds with the constants of the unit that the tile belongs to.
struct ResidueNode : Node<PassFolds> {
  using Node<PassFolds>::Node;

  __device__ __forceinline__ bool is_producer_load_needed() const { return false; }
  __device__ __forceinline__ bool is_C_load_needed() const { return false; }

  struct ConsumerStoreCallbacks : cutlass::epilogue::fusion::EmptyConsumerStoreCallbacks {
    PassFold fold;

    __device__ __forceinline__ explicit ConsumerStoreCallbacks(const PassFold& fold) : fold(fold) {}

    template <class Accumulator, int kSize>
    __device__ __forceinline__ cutlass::Array<std::uint8_t, kSize> visit(const cutlass::Array<Accumulator, kSize>&, int, int, int,
                                                                         const cutlass::Array<Accumulator, kSize>& sums,
                                                                         const cutlass::Array<std::uint8_t, kSize>& previous) {
      cutlass::Array<std::uint8_t, kSize> bytes;
      if (fold.weight == 1) {
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          bytes[i] = static_cast<std::uint8_t>(fold_sum(accumulated_integer(sums[i]), previous[i], fold));
        }
      } else {
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          bytes[i] = static_cast<std::uint8_t>(fold_weighted_sum(accumulated_integer(sums[i]), previous[i], fold));
        }
      }
      return bytes;
    }
  };

  template <bool kReferenceSource, class Tile>
  __device__ __forceinline__ auto get_consumer_store_callbacks(const Tile& tile) {
    const auto matrix = static_cast<std::uint32_t>(cute::get<3>(tile.tile_coord_mnkl));
    return ConsumerStoreCallbacks(params->fold[divide(matrix, params->matrices)]);
  }
};

using ResidueTree = cutlass::epilogue::fusion::Sm90EVT<ResidueNode, cutlass::epilogue::fusion::Sm90AccFetch, PreviousByte>;

}  // namespace ozfp4::cuda::tcgen05
