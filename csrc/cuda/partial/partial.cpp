#include "cuda/partial/partial.hpp"

#include "arith/multiples.hpp"
#include "cuda/elementwise/planes.hpp"
#include "cuda/places.hpp"

namespace ozfp4::cuda {
namespace {

// Planes of `lines` lines, from line `first` on.
Planes planes_at(const CudaPlan& plan, std::uint8_t* data, std::int32_t lines, std::int32_t first, std::int32_t inner) {
  const PieceLayout layout = make_piece_layout(plan, lines, inner);
  return {data + first * layout.pitch, layout.pitch,         layout.plane_stride,
          layout.plane_stride,         plan.schedule.planes, plan.schedule.element};
}

PlaneArray array_of(const CudaPlan& plan, const PieceLines& lines, std::int32_t inner) {
  return cuda::array_of(planes_at(plan, lines.planes, lines.lines, lines.first, inner), 1);
}

}  // namespace

std::int64_t residue_pitch(std::int64_t columns) { return round_up(columns, 16); }

PieceLayout make_piece_layout(const CudaPlan& plan, std::int32_t lines, std::int32_t inner) {
  PieceLayout layout;
  layout.pitch = round_up(row_bytes(plan.schedule.element, inner), 128);
  layout.plane_stride = size_of({lines, layout.pitch});
  layout.bytes = size_of({plan.schedule.planes, layout.plane_stride});
  return layout;
}

void encode_piece(const CudaPlan& plan, const ScaledOperand& operand, std::uint8_t* planes, const ScaleDecision* decision,
                  const Stages& stages) {
  EncodeJob job;
  job.operand = operand;
  job.lines = operand.view.outer;
  job.planes = planes_at(plan, planes, operand.view.outer, 0, operand.view.inner);
  job.counts = plan.promise.counts_rounded();
  stages.encode(job, EncodeJob(), decision, false);
}

void multiply_piece(const CudaPlan& plan, const PieceLines& a, const PieceLines& b, std::int32_t inner, std::uint8_t* out,
                    const ScaleDecision* decision, const GemmStep* device_steps, const Gpu& gpu, const Stages& stages) {
  GemmProblem problem;
  problem.m = a.count;
  problem.n = b.count;
  problem.k = inner;
  problem.attach(plan.schedule);
  problem.a = array_of(plan, a, inner);
  problem.b = array_of(plan, b, inner);
  problem.out = out;
  problem.out_pitch = residue_pitch(b.count);
  problem.out_matrix_stride = a.count * problem.out_pitch;
  problem.device_steps = device_steps;
  problem.moduli_used = &decision->moduli_used;
  const GemmShape shape = gemm_shape(plan.schedule, a.count, b.count, inner, 1, false, gpu);
  stages.multiply(problem, choose_tile(shape, plan.kernel, plan.schedule.element, gpu));
}

void finish_pieces(const CudaPlan& plan, std::uint8_t* residues, int pieces, std::int64_t piece_stride, const ScaledOperand& a,
                   const ScaledOperand& b, const DeviceResult& result, const Listed& listed, const ScaleDecision* decision,
                   const Stages& stages) {
  ReconstructJob job;
  job.result = result;
  job.residues.data = residues;
  job.residues.pitch = residue_pitch(result.columns);
  job.residues.matrix_stride = result.rows * job.residues.pitch;
  job.residues.plane_stride = job.residues.matrix_stride * plan.schedule.planes_per_modulus();
  job.a = a;
  job.b = b;
  job.moduli_used = &decision->moduli_used;
  if (pieces > 1) {
    const ByteParts parts{residues,       residues + piece_stride,    piece_stride,
                          pieces - 1,     job.residues.matrix_stride, job.residues.matrix_stride,
                          job.moduli_used};
    stages.run(Stage::accumulate, [&](const LaunchOptions& to) { launch_add_bytes(plan.schedule, parts, to.stream); });
  }
  const Promise& promise = plan.promise;
  Certification certification{promise.accuracy, promise.rounding, promise.precision, listed, {}, &decision->is_certain};
  certification.lists_only_uncertified = true;
  stages.reconstruct(job, promise.certifies() ? &certification : nullptr);
}

}  // namespace ozfp4::cuda
