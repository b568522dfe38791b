#include "cuda/prepare.hpp"

#include "arith/multiples.hpp"
#include "cuda/encode/encode.hpp"
#include "cuda/places.hpp"

namespace ozfp4::cuda {
namespace {

// From matrix to matrix in bytes: a product begins at any of them, and kernels read 128 aligned bytes at once.
std::int64_t matrix_stride(std::int64_t lines, std::int64_t pitch) { return round_up(lines * pitch, 128); }

// The operands that have planes, see DeviceOperand::encoded.
std::int64_t encoded_matrices(std::int64_t matrices, bool has_parts) { return has_parts ? matrices / kPair : matrices; }

}  // namespace

StoredLayout make_stored_layout(const CudaPlan& plan, std::int64_t matrices, std::int32_t lines, std::int32_t inner,
                                bool has_parts) {
  StoredLayout layout;
  PlaceCount places;
  layout.place.norm = places.take(sizeof(double));
  layout.extremes = places.take(sizeof(LineExtremes));
  layout.place.shift = places.take(size_of({4, matrices, lines}));
  layout.place.special = places.take(size_of({matrices, lines}));
  layout.place.record = places.take(size_of({sizeof(LineRecord), matrices, lines}));
  layout.k_pitch = plane_pitch(plan.schedule.element, inner / plan.plan.width());
  layout.place.planes =
      places.take(size_of({plan.schedule.planes, encoded_matrices(matrices, has_parts), matrix_stride(lines, layout.k_pitch)}));
  layout.bytes = places.bytes;
  return layout;
}

EncodedOperand take_stored(const CudaPlan& plan, const StoredOperand& stored, const DeviceOperand& view) {
  const StoredLayout layout = make_stored_layout(plan, stored.matrices, stored.lines, view.inner, view.has_parts);
  const std::int64_t first = stored.first_matrix * stored.lines + stored.first_line;
  EncodedOperand operand;
  ScaledOperand& scaled = operand.scaled;
  scaled.view = view;
  scaled.view.outer = stored.lines;  // the distance from matrix to matrix
  scaled.shift = reinterpret_cast<std::int32_t*>(stored.memory + layout.place.shift) + first;
  scaled.special = reinterpret_cast<std::uint8_t*>(stored.memory + layout.place.special) + first;
  scaled.norm = reinterpret_cast<double*>(stored.memory + layout.place.norm);
  scaled.record = reinterpret_cast<LineRecord*>(stored.memory + layout.place.record) + first;
  scaled.extremes = reinterpret_cast<LineExtremes*>(stored.memory + layout.extremes);
  Planes& planes = operand.planes;
  planes.pitch = layout.k_pitch;
  planes.matrix_stride = matrix_stride(stored.lines, planes.pitch);
  planes.plane_stride = encoded_matrices(stored.matrices, view.has_parts) * planes.matrix_stride;
  planes.planes = plan.schedule.planes;
  planes.element = plan.schedule.element;
  planes.data = reinterpret_cast<std::uint8_t*>(stored.memory + layout.place.planes) +
                stored.first_matrix * planes.matrix_stride + stored.first_line * planes.pitch;
  return operand;
}

Planes planes_from(const Planes& planes, std::int32_t line, std::int32_t inner) {
  Planes part = planes;
  part.data += line * planes.pitch + row_bytes(planes.element, inner);
  return part;
}

EncodeJob encode_job(const EncodedOperand& operand, Range lines, Range inners) {
  EncodeJob job{operand.scaled, lines.first, lines.count, operand.planes};
  const DeviceOperand& view = operand.scaled.view;
  job.operand.view = view.encoded();
  if (view.has_parts) job.twin_records = job.operand.view.stack.count() * std::int64_t(view.outer);
  job.operand.view.data += inners.first * job.operand.view.inner_stride;
  job.operand.view.inner = inners.count;
  return job;
}

EncodedOperand place_operand(const CudaPlan& plan, const CudaLayout& layout, const OperandPlace& place,
                             const DeviceOperand& operand, std::int32_t lines, char* workspace) {
  EncodedOperand placed;
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
      decision(plan.prefixes.all > 0 ? reinterpret_cast<ScaleDecision*>(workspace + layout.decision) : nullptr),
      plan_(plan),
      layout_(layout),
      scratch_(workspace + layout.scratch),
      keeps_a_(turn.stored_a.exists()),
      keeps_b_(turn.stored_b.exists()) {}

EncodedOperand Preparation::part_of(const EncodedOperand& operand, bool is_kept, Range lines, Range inners) const {
  if (!is_kept) return operand;  // its planes are those of the block
  return {operand.scaled, planes_from(operand.planes, lines.first, inners.first / plan_.plan.width())};
}

PrefixChoice Preparation::choice() const {
  PrefixChoice choice{plan_.prefixes, decision, nullptr};
  if (keeps_a_ == keeps_b_) return choice;
  const ScaledOperand& kept = keeps_a_ ? a.scaled : b.scaled;
  choice.earlier = kept.norm;
  choice.earlier_extremes = kept.extremes;
  return choice;
}

void Preparation::scale(const Stages& stages) const {
  if (keeps_a_ && keeps_b_) {
    if (decision != nullptr) {
      stages.run(Stage::scale,
                 [&](const LaunchOptions& to) { launch_choose(a.scaled, b.scaled, stages.capacity(), choice(), to.stream); });
    }
  } else if (!plan_.integer && (!layout_.scales_and_encodes || stages.only_checks())) {
    stages.scale(not_kept(a.scaled, b.scaled), choice(), scratch_);
  }
  stages.record(Stage::scale);
}

void Preparation::encode(const Stages& stages, const Block& block) const {
  // A only once for a row of blocks, and B once where its planes hold all columns, unless they hold a piece of K alone.
  const bool has_pieces = !layout_.pieces.empty();
  const bool needs_a = !keeps_a_ && (has_pieces || block.columns.first == 0);
  const bool needs_b = !keeps_b_ && (has_pieces || block.rows.first == 0 || layout_.columns < b.scaled.view.outer);
  EncodeJob job_a = encode_job(a, {block.rows.first, needs_a ? block.rows.count : 0}, block.inners);
  EncodeJob job_b = encode_job(b, {block.columns.first, needs_b ? block.columns.count : 0}, block.inners);
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
    stages.encode(job_a, job_b, decision, is_first && !plan_.integer);
  } else if (needs_b) {
    stages.encode(job_b, job_a, decision, is_first && keeps_a_);
  }
  stages.record(Stage::encode);
}

static void store(const CudaPlan& plan, const DeviceOperand& operand, char* memory, char* scratch, const Stages& stages) {
  StoredOperand whole;
  whole.memory = memory;
  whole.lines = operand.outer;
  whole.matrices = operand.stack.count();
  const EncodedOperand prepared = take_stored(plan, whole, operand);
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
