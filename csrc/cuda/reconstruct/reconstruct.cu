#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/reconstruct/short_launch.cuh"

namespace ozfp4::cuda {

using namespace short_form;

const char* find_reconstruct_error(const ReconstructJob& job) {
  if (!is_float(job.result.type)) return "the result must be float64 or float32";
  return find_bytes_error(job.result, job.residues);
}

const char* find_bytes_error(const DeviceResult& result, const Residues& residues) {
  if (result.rows < 1 || result.columns < 1) return "every extent of the result must be at least 1";
  if (std::max(result.rows, result.columns) > kLongestExtent) {
    return "an extent of the result is above 2^31 - 4096, up to which positions fit 32 bits";
  }
  const std::int64_t strides = residues.pitch | residues.matrix_stride | residues.split_stride | residues.plane_stride;
  if (reinterpret_cast<std::uintptr_t>(residues.data) % 16 != 0 || strides % 16 != 0) {
    return "the bytes of multiply, their pitch and their strides must be multiples of 16 bytes";
  }
  if (residues.pitch < result.columns) return "the pitch of the bytes of multiply is below the columns of the result";
  if (residues.splits < 1 || residues.splits > kMaxSplits) return "K must be cut into 1 to 64 splits";
  return nullptr;
}

void launch_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                        const Certification* certification) {
  if (plan.is_long()) return launch_long_reconstruct(plan, job, stream, certification);
  if (certification != nullptr) return launch_certified(plan, job, stream, *certification);
  launch_kind<false>(plan, job, nullptr, stream);
}

}  // namespace ozfp4::cuda
