#include "cuda/stages.hpp"

#include <stdexcept>
#include <string>

namespace ozfp4::cuda {
Stages::Stages(const CudaPlan& plan, const LaunchOptions& options) : plan_(plan), options_(options) {
  if (!options.sync_stages) return;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(options.stream, &status);
  if (error != cudaSuccess) cudaGetLastError();  // another than the one below is told by the first stage
  if (status != cudaStreamCaptureStatusNone || error == cudaErrorStreamCaptureImplicit) {
    throw std::invalid_argument("sync_stages: the stream is being captured, and nothing can be waited for in a capture");
  }
}

CapacityRule Stages::capacity() const {
  const Promise& promise = plan_.promise;
  return {plan_.bits, promise.accuracy, promise.precision, promise.updates, promise.has_integers, plan_.exact_bits};
}

void Stages::scale(const Operands<ScaledOperand>& operands, const PrefixChoice& choice, void* scratch) const {
  run(
      Stage::scale, [&] { return find_scale_error(operands, capacity(), choice.rule); },
      [&](const LaunchOptions& to) { launch_scale(operands, capacity(), choice, scratch, to.stream, to.clear_counters); });
}

void Stages::encode(const EncodeJob& a, const EncodeJob& b, const ScaleDecision* decision, bool is_behind_scale) const {
  // Behind scale the kernel may start early and prefetch while scale ends.
  const bool starts_early = is_behind_scale && options_.events.after_scale == nullptr;
  const int* moduli_used = decision != nullptr ? &decision->moduli_used : nullptr;
  run(
      Stage::encode, [&] { return find_encode_error(plan_.encode, a, b); },
      [&](const LaunchOptions& to) { launch_encode(plan_.encode, a, b, moduli_used, to.stream, starts_early); });
}

void Stages::multiply(const GemmProblem& problem, const TileChoice& choice) const {
  run(
      Stage::multiply, [&] { return find_launch_error(problem, choice, plan_.kernel, *gpu_); },
      [&](const LaunchOptions& to) { launch_gemm(problem, choice, plan_.kernel, to.stream); }, kernel_name(plan_.kernel));
}

void Stages::reconstruct(const ReconstructJob& job, const Certification* certification, const DeviceUpdate* update) const {
  run(
      Stage::reconstruct, [&] { return find_reconstruct_error(job); },
      [&](const LaunchOptions& to) {
        if (certification == nullptr || !plan_.few) {
          return launch_reconstruct(plan_.reconstruct, job, to.stream, certification, update);
        }
        Certification part = *certification;
        part.most_count = plan_.few->all;
        launch_reconstruct(*plan_.few, job, to.stream, &part);
        part.least_count = part.most_count + 1;
        part.most_count = INT32_MAX;
        launch_reconstruct(plan_.reconstruct, job, to.stream, &part);
      });
}

void Stages::record(Stage stage) const {
  const StageEvents& events = options_.events;
  const cudaEvent_t event = stage == Stage::scale    ? events.after_scale
                            : stage == Stage::encode ? events.after_encode
                                                     : events.after_multiply;
  if (event != nullptr) require_launched(cudaEventRecord(event, options_.stream), stage, "an event behind it");
}

void Stages::refuse(Stage stage, const char* reason, const char* kernel) {
  if (reason == nullptr) return;
  const std::string which = kernel == nullptr ? std::string() : std::string(" (") + kernel + ")";
  throw std::invalid_argument(stage_name(stage) + which + ": " + reason);
}

// Behind a stage's launch. Precondition: not when only checking.
void Stages::finish(Stage stage, const char* kernel) const {
  if (options_.sync_stages) require_launched(cudaStreamSynchronize(options_.stream), stage, kernel);
}

}  // namespace ozfp4::cuda
