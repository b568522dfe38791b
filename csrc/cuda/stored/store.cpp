#include "cuda/stored/store.hpp"

#include "cuda/prepare.hpp"

namespace ozfp4::cuda {
namespace {

void store(const CudaPlan& plan, const DeviceOperand& operand, char* memory, char* scratch, const Stages& stages) {
  StoredOperand whole;
  whole.memory = memory;
  whole.lines = operand.outer;
  whole.matrices = operand.stack.count();
  const PreparedOperand prepared = take_stored(plan, whole, operand);
  stages.scale(Operands<ScaledOperand>(prepared.scaled), {plan.prefixes, nullptr, nullptr}, scratch);
  EncodeJob job = encode_job(prepared, {0, operand.outer}, {0, operand.inner});
  job.counts = plan.promise.counts_rounded();
  stages.encode(job, EncodeJob(), nullptr, true);
}

}  // namespace

void check_store(const CudaPlan& plan, const DeviceOperand& operand, const Gpu& gpu) {
  store(plan, operand, nullptr, nullptr, Stages(plan, gpu));
}

void launch_store(const CudaPlan& plan, const DeviceOperand& operand, char* memory, char* scratch, const LaunchOptions& options) {
  store(plan, operand, memory, scratch, Stages(plan, options));
}

}  // namespace ozfp4::cuda
