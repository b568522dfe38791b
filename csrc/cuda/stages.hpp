// The stages of a product as its walk hands them out: enqueued on a stream, or only asked whether they would take what they are
// given.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/direct/direct.hpp"
#include "cuda/elementwise/planes.hpp"
#include "cuda/encode/scale_encode.hpp"
#include "cuda/fused/tile.hpp"
#include "cuda/integers/reconstruct.hpp"
#include "cuda/launch.hpp"
#include "cuda/layout/cuda_plan.hpp"
#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/repair/repair.hpp"
#include "cuda/runtime/export.hpp"
#include "cuda/scale/scale.hpp"
#include "cuda/standard/settle.hpp"
#include "cuda/thin/thin.hpp"

namespace ozfp4::cuda {

// Events recorded between the stages of a product in one turn, block and piece, for benchmarks; any may be null. Where one
// launch scales and encodes, all of it comes after after_scale.
struct StageEvents {
  cudaEvent_t after_scale = nullptr, after_encode = nullptr, after_multiply = nullptr;
};

// Those of scale, then those of repair.
inline constexpr std::int64_t kCounterBytes = kScaleCounterBytes + kRepairCounterBytes;

struct LaunchOptions {
  cudaStream_t stream = nullptr;
  // kCounterBytes that launches of the stream share, see launch_scale; null for a capture.
  void* clear_counters = nullptr;
  StageEvents events;
  RepairOrder repair;
  bool exchanges_pairs = false;  // see SettleJob
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

  void scale(const Operands<ScaledOperand>& operands, const PrefixChoice& choice, void* scratch) const;
  // Of one operand or two.
  void scale_encode(const Operands<EncodeJob>& jobs, const PrefixChoice& choice, void* scratch) const;
  // Instead of scale, where both operands were scaled before.
  void choose(const ScaledOperand& a, const ScaledOperand& b, const PrefixChoice& choice) const;
  // is_behind_scale: scale of these operands is the stream's latest work.
  void encode(const EncodeJob& a, const EncodeJob& b, const Verdict* verdict, bool is_behind_scale) const;
  void multiply(const GemmProblem& problem, const TileChoice& choice) const;
  void add_bytes(const Schedule& schedule, std::uint8_t* sum, const std::uint8_t* part, std::int64_t plane_bytes) const;
  void add_words(const WordMatrices<std::uint32_t>& sum, const WordMatrices<const std::uint32_t>& part, std::int64_t matrices,
                 std::int32_t rows, std::int32_t columns) const;
  // Of a complex plan; see elementwise/planes.hpp.
  void join_parts(std::uint8_t* outputs, std::int64_t plane_stride, const int* moduli_used) const;
  void reconstruct(ReconstructJob job, const Certification* certification = nullptr) const;
  // Range: the promise has an update.
  void reconstruct_update(ReconstructJob job, const Certification& certification, const DeviceUpdate& update) const;
  void reconstruct_integers(IntegerJob job) const;
  // Instead of all before repair.
  void multiply_directly(const ReconstructJob& job, const Certification* certification,
                         const DeviceUpdate* update = nullptr) const;
  void multiply_integers_directly(const ReconstructJob& job) const;
  void multiply_tiles(const ReconstructJob& job, const Certification* certification) const;
  void multiply_thinly(const ReconstructJob& job, const Certification* certification, char* workspace) const;
  // The counts of this walk's repairs, zero: `own`, unless launches of the stream share some.
  RepairCounts* clear_repair_counts(void* own) const;
  void repair(RepairJob job) const;
  void settle(SettleJob job) const;

  // The event behind a stage, whoever did its work.
  void record(Stage stage) const;

 private:
  CapacityRule capacity(Accuracy accuracy) const;
  void finish(Stage stage, const char* detail = nullptr) const;

  const CudaPlan& plan_;
  const LaunchOptions options_;
  const Gpu* gpu_ = nullptr;
};

}  // namespace ozfp4::cuda
