#include "cuda/layout/stored.hpp"

#include "arith/multiples.hpp"
#include "cuda/layout/size_of.hpp"

namespace ozfp4::cuda {
namespace {

constexpr std::int64_t kAlignment = 256;

// From matrix to matrix in bytes: a product begins at any of them, and kernels read 128 aligned bytes at once.
std::int64_t matrix_stride(std::int64_t lines, std::int64_t pitch) { return round_up(lines * pitch, 128); }

// Those that have planes, see DeviceOperand::encoded.
std::int64_t encoded_matrices(std::int64_t matrices, bool has_parts) { return has_parts ? matrices / kPair : matrices; }

}  // namespace

std::int64_t plane_pitch(Element element, std::int64_t inners) {
  const std::int64_t bytes = row_bytes(element, inners);
  return round_up(bytes, bytes >= 128 ? 128 : 16);
}

StoredLayout make_stored_layout(const CudaPlan& plan, std::int64_t matrices, std::int32_t lines, std::int32_t inner,
                                bool has_parts) {
  StoredLayout layout;
  const auto take = [&layout](std::int64_t size) {
    const std::int64_t begin = layout.bytes;
    layout.bytes = round_up(begin + size, kAlignment);
    return begin;
  };
  layout.place.norm = take(sizeof(double));
  layout.extremes = take(sizeof(LineExtremes));
  layout.place.shift = take(size_of({4, matrices, lines}));
  layout.place.special = take(size_of({matrices, lines}));
  layout.place.record = take(size_of({sizeof(LineRecord), matrices, lines}));
  layout.k_pitch = plane_pitch(plan.schedule.element, inner / plan.plan.width());
  layout.place.planes =
      take(size_of({plan.schedule.planes, encoded_matrices(matrices, has_parts), matrix_stride(lines, layout.k_pitch)}));
  return layout;
}

PreparedOperand take_stored(const CudaPlan& plan, const StoredOperand& stored, const DeviceOperand& view) {
  const StoredLayout layout = make_stored_layout(plan, stored.matrices, stored.lines, view.inner, view.has_parts);
  const std::int64_t first = stored.first_matrix * stored.lines + stored.first_line;
  PreparedOperand operand;
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

}  // namespace ozfp4::cuda
