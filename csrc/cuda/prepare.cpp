#include "cuda/prepare.hpp"

#include "cuda/encode/scale_encode.hpp"
#include "cuda/layout/stored.hpp"

namespace ozfp4::cuda {

EncodeJob encode_job(const PreparedOperand& operand, Range lines, Range inners) {
  EncodeJob job{operand.scaled, lines.first, lines.count, operand.planes};
  const DeviceOperand& view = operand.scaled.view;
  job.operand.view = view.encoded();
  if (view.has_parts) job.twin_records = job.operand.view.stack.count() * std::int64_t(view.outer);
  job.operand.view.data += inners.first * job.operand.view.inner_stride;
  job.operand.view.inner = inners.count;
  return job;
}

PreparedOperand place_operand(const CudaPlan& plan, const CudaLayout& layout, const OperandPlace& place,
                              const DeviceOperand& operand, std::int32_t lines, char* workspace) {
  PreparedOperand placed;
  placed.scaled.view = operand;
  if (!plan.integer) {
    placed.scaled.shift = reinterpret_cast<std::int32_t*>(workspace + place.shift);
    placed.scaled.special = reinterpret_cast<std::uint8_t*>(workspace + place.special);
    placed.scaled.norm = reinterpret_cast<double*>(workspace + place.norm);
    if (plan.promise.has_records()) placed.scaled.record = reinterpret_cast<LineRecord*>(workspace + place.record);
  }
  Planes& planes = placed.planes;
  planes.data = reinterpret_cast<std::uint8_t*>(workspace + place.planes);
  planes.pitch = layout.k_pitch;
  planes.matrix_stride = lines * layout.k_pitch;
  planes.plane_stride = operand.encoded().stack.count() * planes.matrix_stride;
  planes.planes = plan.schedule.planes;
  planes.element = plan.schedule.element;
  return placed;
}

Preparation::Preparation(const CudaPlan& plan, const CudaLayout& layout, const Turn& turn, char* workspace)
    : a(turn.stored_a.exists() ? take_stored(plan, turn.stored_a, turn.a)
                               : place_operand(plan, layout, layout.a, turn.a, layout.rows, workspace)),
      b(turn.stored_b.exists() ? take_stored(plan, turn.stored_b, turn.b)
                               : place_operand(plan, layout, layout.b, turn.b, layout.columns, workspace)),
      verdict(plan.prefixes.all > 0 ? reinterpret_cast<Verdict*>(workspace + layout.verdict) : nullptr),
      plan_(plan),
      layout_(layout),
      scratch_(workspace + layout.scratch),
      keeps_a_(turn.stored_a.exists()),
      keeps_b_(turn.stored_b.exists()) {}

PreparedOperand Preparation::part_of(const PreparedOperand& operand, bool is_kept, Range lines, Range inners) const {
  if (!is_kept) return operand;  // its planes are those of the block
  return {operand.scaled, planes_from(operand.planes, lines.first, inners.first / plan_.plan.width())};
}

PrefixChoice Preparation::choice() const {
  PrefixChoice choice{plan_.prefixes, verdict, nullptr};
  if (keeps_a_ == keeps_b_) return choice;
  const ScaledOperand& kept = keeps_a_ ? a.scaled : b.scaled;
  choice.earlier = kept.norm;
  choice.earlier_extremes = kept.extremes;
  return choice;
}

void Preparation::scale(const Stages& stages) const {
  if (keeps_a_ && keeps_b_) {
    if (verdict != nullptr) {
      stages.run(Stage::scale,
                 [&](const LaunchOptions& to) { launch_choose(a.scaled, b.scaled, stages.capacity(), choice(), to.stream); });
    }
  } else if (!plan_.integer && (!layout_.scales_and_encodes || stages.only_checks())) {
    stages.scale(not_kept(a.scaled, b.scaled), choice(), scratch_);
  }
  stages.record(Stage::scale);
}

void Preparation::encode(const Stages& stages, const Block& block) const {
  // A only once for a row of blocks, unless its planes hold a piece of K alone.
  const bool needs_a = !keeps_a_ && (block.columns.first == 0 || !layout_.pieces.empty());
  EncodeJob job_a = encode_job(a, {block.rows.first, needs_a ? block.rows.count : 0}, block.inners);
  EncodeJob job_b = encode_job(b, {block.columns.first, keeps_b_ ? 0 : block.columns.count}, block.inners);
  // Every entry once, however often it is encoded: before the first block that reads its line's record is reconstructed.
  job_a.counts = plan_.promise.counts_rounded() && block.columns.first == 0;
  job_b.counts = plan_.promise.counts_rounded() && block.rows.first == 0;
  const bool is_first = block.rows.first == 0 && block.columns.first == 0 && block.inners.first == 0;
  if (layout_.scales_and_encodes && !stages.only_checks()) {
    stages.run(Stage::scale_encode, [&](const LaunchOptions& to) {
      launch_scale_encode(plan_.encode, not_kept(job_a, job_b), stages.capacity(), choice(), scratch_, to.stream,
                          to.clear_counters);
    });
  } else if (needs_a) {
    stages.encode(job_a, job_b, verdict, is_first && !plan_.integer);
  } else if (!keeps_b_) {
    stages.encode(job_b, job_a, verdict, is_first && keeps_a_);
  }
  stages.record(Stage::encode);
}

static void store(const CudaPlan& plan, const DeviceOperand& operand, char* memory, char* scratch, const Stages& stages) {
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

void check_store(const CudaPlan& plan, const DeviceOperand& operand, const Gpu& gpu) {
  store(plan, operand, nullptr, nullptr, Stages(plan, gpu));
}

void launch_store(const CudaPlan& plan, const DeviceOperand& operand, char* memory, char* scratch, const LaunchOptions& options) {
  store(plan, operand, memory, scratch, Stages(plan, options));
}

}  // namespace ozfp4::cuda
