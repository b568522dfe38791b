// How the kernels that scale and encode are launched.
#pragma once

#include "cuda/encode/launch.cuh"
#include "cuda/encode/scale_encode_kernel.cuh"

namespace ozfp4::cuda {

// A launch for operands that are cut.
struct ScaleEncodeLaunch {
  const EncodePlan& plan;
  ScaleEncodeArguments& arguments;
  ElementType type;
  bool has_records, overlap_previous;
  cudaStream_t stream;
  bool only_asks;  // whether the device holds a cluster: nothing is launched
};

template <class T, EncodeKind Kind, int Words, class State>
bool launch_kernel(const ScaleEncodeLaunch& how) {
  ScaleEncodeArguments& arguments = how.arguments;
  set_plan(arguments.encode, how.plan);
  LaunchConfig config;
  config.stage = Stage::scale_encode;
  config.grid = dim3(arguments.encode.tiles);
  config.block = dim3(kEncodeThreads);
  config.shared_bytes = scale_encode_shared_bytes<Kind, Words, State>(arguments);
  config.cluster_blocks = arguments.cluster_blocks;
  const auto kernel = scale_encode_kernel<T, Kind, Words, State>;
  if (how.only_asks) return holds_cluster(kernel, config);
  arguments.encode.has_fast_fp64 = current_device(config.stage).has_fast_fp64;
  config.overlap_previous = how.overlap_previous;
  config.stream = how.stream;
  launch(kernel, config, arguments, table_of<Kind>(how.plan));
  return true;
}

// By the kernels of the words that FP64 entries of 53 bits and FP32 ones of 24 take; false where the plan has others, or the
// device holds no cluster. None counts rounded entries: integers of which those count are longer.
template <EncodeKind Kind>
bool scale_and_encode(const ScaleEncodeLaunch& how) {
  const bool is_double = how.type == ElementType::float64;
  if (how.plan.words != (is_double ? 2 : 1)) return false;
  if (is_double) {
    return how.has_records ? launch_kernel<double, Kind, 2, ShortRecordedState>(how)
                           : launch_kernel<double, Kind, 2, LineState>(how);
  }
  return how.has_records ? launch_kernel<float, Kind, 1, ShortRecordedState>(how) : launch_kernel<float, Kind, 1, LineState>(how);
}

}  // namespace ozfp4::cuda
