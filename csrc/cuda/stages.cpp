#include "cuda/stages.hpp"

#include <stdexcept>
#include <string>

namespace ozfp4::cuda {
namespace {

void refuse(Stage stage, const char* reason, const char* kernel = nullptr) {
  if (reason == nullptr) return;
  const std::string which = kernel == nullptr ? std::string() : std::string(" (") + kernel + ")";
  throw std::invalid_argument(stage_name(stage) + which + ": " + reason);
}

}  // namespace

Stages::Stages(const CudaPlan& plan, const LaunchOptions& options) : plan_(plan), options_(options) {
  if (!options.sync_stages) return;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(options.stream, &status);
  if (error != cudaSuccess) cudaGetLastError();  // another than the one below is told by the first stage
  if (status != cudaStreamCaptureStatusNone || error == cudaErrorStreamCaptureImplicit) {
    throw std::invalid_argument("sync_stages: the stream is being captured, and nothing can be waited for in a capture");
  }
}

CapacityRule Stages::capacity(Accuracy accuracy) const {
  return {plan_.bits, accuracy, plan_.promise.precision, plan_.promise.updates, plan_.promise.is_whole, plan_.exact_bits};
}

void Stages::scale(const Operands<ScaledOperand>& operands, const PrefixChoice& choice, void* scratch) const {
  if (only_checks()) return refuse(Stage::scale, find_scale_error(operands, capacity(plan_.promise.accuracy), choice.rule));
  launch_scale(operands, capacity(plan_.promise.accuracy), choice, scratch, options_.stream, options_.clear_counters);
  finish(Stage::scale);
}

void Stages::choose(const ScaledOperand& a, const ScaledOperand& b, const PrefixChoice& choice) const {
  if (only_checks() || choice.verdict == nullptr) return;
  launch_choose(a, b, capacity(plan_.promise.accuracy), choice, options_.stream);
  finish(Stage::scale);
}

void Stages::scale_encode(const Operands<EncodeJob>& jobs, const PrefixChoice& choice, void* scratch) const {
  const EncodeJob &a = jobs[0], none, &b = jobs.count() == 2 ? jobs[1] : none;
  if (only_checks()) {
    jobs.count() == 2 ? scale({a.operand, b.operand}, choice, scratch)
                      : scale(Operands<ScaledOperand>(a.operand), choice, scratch);
    return encode(a, b, nullptr, false);
  }
  launch_scale_encode(plan_.encode, jobs, capacity(plan_.promise.accuracy), choice, scratch, options_.stream,
                      options_.clear_counters);
  finish(Stage::scale_encode);
}

void Stages::encode(const EncodeJob& a, const EncodeJob& b, const Verdict* verdict, bool is_behind_scale) const {
  if (only_checks()) return refuse(Stage::encode, find_encode_error(plan_.encode, a, b));
  // Then the kernel may start early and prefetch while scale ends.
  const bool starts_early = is_behind_scale && options_.events.after_scale == nullptr;
  const int* units_used = verdict != nullptr ? &verdict->units_used : nullptr;
  launch_encode(plan_.encode, a, b, units_used, options_.stream, starts_early);
  finish(Stage::encode);
}

void Stages::multiply(const GemmProblem& problem, const TileChoice& choice) const {
  const char* kernel = kernel_name(plan_.kernel);
  if (only_checks()) return refuse(Stage::multiply, find_launch_error(problem, choice, plan_.kernel, *gpu_), kernel);
  launch_gemm(problem, choice, plan_.kernel, options_.stream);
  finish(Stage::multiply, kernel);
}

void Stages::add_bytes(const Schedule& schedule, std::uint8_t* sum, const std::uint8_t* part, std::int64_t plane_bytes) const {
  if (only_checks()) return;
  launch_add_bytes(schedule, sum, part, plane_bytes, options_.stream);
  finish(Stage::accumulate);
}

void Stages::add_words(const WordMatrices<std::uint32_t>& sum, const WordMatrices<const std::uint32_t>& part,
                       std::int64_t matrices, std::int32_t rows, std::int32_t columns) const {
  if (only_checks()) return;
  launch_add_words(sum, part, matrices, rows, columns, options_.stream);
  finish(Stage::accumulate);
}

void Stages::join_parts(std::uint8_t* outputs, std::int64_t plane_stride, const int* moduli_used) const {
  if (only_checks()) return;
  launch_join_parts(plan_.join, outputs, plane_stride, moduli_used, options_.stream);
  finish(Stage::accumulate);
}

void Stages::reconstruct(ReconstructJob job, const Certification* certification) const {
  if (only_checks()) return refuse(Stage::reconstruct, find_reconstruct_error(job));
  job.overlap_previous = job.overlap_previous && options_.events.after_multiply == nullptr;
  if (certification == nullptr || !plan_.few) {
    launch_reconstruct(plan_.reconstruct, job, options_.stream, certification);
  } else {
    Certification part = *certification;
    part.most_count = plan_.few->all;
    launch_reconstruct(*plan_.few, job, options_.stream, &part);
    part.least_count = part.most_count + 1;
    part.most_count = INT32_MAX;
    launch_reconstruct(plan_.reconstruct, job, options_.stream, &part);
  }
  finish(Stage::reconstruct);
}

void Stages::reconstruct_integers(IntegerJob job) const {
  if (only_checks()) return refuse(Stage::reconstruct, find_integer_error(plan_.whole, job));
  job.overlap_previous = job.overlap_previous && options_.events.after_multiply == nullptr;
  launch_integer_reconstruct(plan_.whole, job, options_.stream);
  finish(Stage::reconstruct);
}

void Stages::reconstruct_update(ReconstructJob job, const Certification& certification, const DeviceUpdate& update) const {
  if (only_checks()) return refuse(Stage::reconstruct, find_reconstruct_error(job));
  job.overlap_previous = job.overlap_previous && options_.events.after_multiply == nullptr;
  launch_update_reconstruct(plan_.reconstruct, job, options_.stream, certification, update);
  finish(Stage::reconstruct);
}

void Stages::multiply_directly(const ReconstructJob& job, const Certification* certification, const DeviceUpdate* update) const {
  const CapacityRule rule = capacity(plan_.promise.accuracy);
  if (only_checks()) {
    return refuse(Stage::direct, can_multiply_directly(job, rule) ? nullptr : "the operands are not for this kernel");
  }
  launch_direct(job, rule, options_.stream, certification, update);
  finish(Stage::direct);
}

void Stages::multiply_integers_directly(const ReconstructJob& job) const {
  if (only_checks()) {
    return refuse(Stage::direct, can_multiply_integers_directly(job) ? nullptr : "the operands are not for this kernel");
  }
  launch_direct_integers(job, options_.stream);
  finish(Stage::direct);
}

void Stages::multiply_tiles(const ReconstructJob& job, const Certification* certification) const {
  const CapacityRule rule = capacity(plan_.promise.accuracy);
  if (only_checks()) {
    const bool can = can_multiply_tiles(plan_.tile_limbs, job, rule);
    return refuse(Stage::direct, can ? nullptr : "the operands are not for the kernel of tiles");
  }
  launch_tiles(plan_.tile_limbs, job, rule, options_.stream, certification);
  finish(Stage::direct);
}

void Stages::multiply_thinly(const ReconstructJob& job, const Certification* certification, char* workspace) const {
  const CapacityRule rule = capacity(plan_.promise.accuracy);
  if (only_checks()) {
    return refuse(Stage::direct, can_multiply_thinly(job, rule) ? nullptr : "the operands are not for the kernels of few lines");
  }
  launch_thin(job, rule, workspace, options_.stream, certification);
  finish(Stage::direct);
}

RepairCounts* Stages::clear_repair_counts(void* own) const {
  if (only_checks()) return static_cast<RepairCounts*>(own);
  if (options_.clear_counters != nullptr) {
    return reinterpret_cast<RepairCounts*>(static_cast<char*>(options_.clear_counters) + kScaleCounterBytes);
  }
  require_launched(cudaMemsetAsync(own, 0, kRepairCounterBytes, options_.stream), Stage::repair, "its counters");
  return static_cast<RepairCounts*>(own);
}

void Stages::repair(RepairJob job) const {
  if (only_checks()) return;
  job.overlap_previous = true;
  job.order = options_.repair;
  launch_repair(job, options_.stream);
  finish(Stage::repair);
}

void Stages::settle(SettleJob job) const {
  if (only_checks()) return;
  job.overlap_previous = true;
  job.order = options_.repair;
  job.exchanges_pairs = options_.exchanges_pairs;
  launch_settle(job, options_.stream);
  finish(Stage::repair);
}

void Stages::record(Stage stage) const {
  const StageEvents& events = options_.events;
  const cudaEvent_t event = stage == Stage::scale    ? events.after_scale
                            : stage == Stage::encode ? events.after_encode
                                                     : events.after_multiply;
  if (event != nullptr) require_launched(cudaEventRecord(event, options_.stream), stage, "an event behind it");
}

// Behind a stage's launch. Range: not when only checking.
void Stages::finish(Stage stage, const char* detail) const {
  if (options_.sync_stages) require_launched(cudaStreamSynchronize(options_.stream), stage, detail);
}

}  // namespace ozfp4::cuda
