// The stages of a product as a walk reaches them: enqueued on a stream, or only checked for whether they take their arguments.
// Here are the stages that have several walks; cuda/prepare and cuda/matmul have the others.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/encode/encode.hpp"
#include "cuda/launch.hpp"
#include "cuda/layout/cuda_plan.hpp"
#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/repair/repair.hpp"
#include "cuda/runtime/export.hpp"
#include "cuda/scale/scale.hpp"

namespace ozfp4::cuda {

// Events recorded between the stages of a product in one turn, block and piece, for benchmarks; any may be null. Where one
// launch scales and encodes, all of it comes after after_scale.
struct StageEvents {
  cudaEvent_t after_scale = nullptr, after_encode = nullptr, after_multiply = nullptr;
};

// The counters of scale, then those of repair.
inline constexpr std::int64_t kCounterBytes = kScaleCounterBytes + kRepairCounterBytes;

struct LaunchOptions {
  cudaStream_t stream = nullptr;
  // kCounterBytes that launches of the stream share, see launch_scale; null for a capture.
  void* clear_counters = nullptr;
  StageEvents events;
  RepairOrder repair;
  bool exchanges_pairs = false;  // see ChainJob
  bool sync_stages = false;      // wait for every stage, so that an error is found with the stage that made it
};

// All methods throw LaunchError where they enqueue, std::invalid_argument with the stage and the reason where they only check.
// All that a stage looks at is the same for all blocks but for the extents of the last ones.
class Stages {
 public:
  // To enqueue. Throws std::invalid_argument where sync_stages is asked for while the stream is being captured.
  OZFP4_CUDA_EXPORT Stages(const CudaPlan& plan, const LaunchOptions& options);
  // To check.
  Stages(const CudaPlan& plan, const Gpu& gpu) : plan_(plan), gpu_(&gpu) {}

  bool only_checks() const { return gpu_ != nullptr; }
  const LaunchOptions& options() const { return options_; }
  CapacityRule capacity() const;

  // Enqueues a stage by `launch(options())`; where it only checks, refuses what `find_error()` has a reason against.
  template <class FindError, class Launch>
  void run(Stage stage, const FindError& find_error, const Launch& launch, const char* kernel = nullptr) const {
    if (only_checks()) return refuse(stage, find_error(), kernel);
    launch(options_);
    finish(stage, kernel);
  }
  // The same of a stage that takes everything.
  template <class Launch>
  void run(Stage stage, const Launch& launch) const {
    run(stage, [] { return static_cast<const char*>(nullptr); }, launch);
  }

  void scale(const Operands<ScaledOperand>& operands, const PrefixChoice& choice, void* scratch) const;
  // is_behind_scale: scale of these operands is the stream's latest work.
  void encode(const EncodeJob& a, const EncodeJob& b, const ScaleDecision* decision, bool is_behind_scale) const;
  void multiply(const GemmProblem& problem, const TileChoice& choice) const;
  // update: of a product that is added to something, which has a certification; else null.
  void reconstruct(const ReconstructJob& job, const Certification* certification = nullptr,
                   const DeviceUpdate* update = nullptr) const;

  // The event behind a stage, whoever did its work.
  void record(Stage stage) const;

 private:
  static void refuse(Stage stage, const char* reason, const char* kernel);
  void finish(Stage stage, const char* kernel) const;

  const CudaPlan& plan_;
  const LaunchOptions options_;
  const Gpu* gpu_ = nullptr;
};

}  // namespace ozfp4::cuda
