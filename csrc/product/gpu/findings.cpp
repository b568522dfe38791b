#include "product/gpu/findings.hpp"

#include <algorithm>
#include <vector>

#include "arith/accuracy/certificate.hpp"
#include "cuda/prepare.hpp"
#include "cuda/repair/listed.hpp"
#include "cuda/runtime/device.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

template <class T>
std::vector<T> read(const char* from, std::int64_t count, cudaStream_t stream) {
  std::vector<T> found(static_cast<std::size_t>(count));
  check(cudaMemcpyAsync(found.data(), from, found.size() * sizeof(T), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return found;
}

// Lines of one operand, in memory of the device.
struct FoundLines {
  const char *special, *record, *shift;  // record or shift: null
  std::int64_t count;
};

std::int64_t special_lines(const FoundLines& lines, cudaStream_t stream) {
  const auto flags = read<std::uint8_t>(lines.special, lines.count, stream);
  return std::count_if(flags.begin(), flags.end(), [](std::uint8_t flag) { return flag != 0; });
}

void add_records(DeviceFindings& to, const FoundLines& lines, cudaStream_t stream) {
  for (const LineRecord& line : read<LineRecord>(lines.record, lines.count, stream)) {
    if (line.nonzeros == 0) continue;
    to.capacities.extend({line.capacity, line.capacity});
    to.exponents.extend({line.exponent, line.exponent});
  }
}

// Returns whether there are lines with a shift of 0.
bool add_shifts(DeviceFindings& to, const FoundLines& lines, int bits, cudaStream_t stream) {
  bool has_unshifted = false;
  for (const std::int32_t shift : read<std::int32_t>(lines.shift, lines.count, stream)) {
    const std::int32_t exponent = bits - 1 - shift;
    if (shift != 0) to.exponents.extend({exponent, exponent});
    has_unshifted = has_unshifted || shift == 0;
  }
  return has_unshifted;
}

// The lines of every matrix of what is kept that a turn takes.
std::int64_t add_stored(DeviceFindings& to, const CudaPlan& plan, const StoredOperand& stored, const DeviceOperand& view,
                        cudaStream_t stream) {
  const std::int64_t matrices = view.stack.count();
  const StoredLayout layout = make_stored_layout(plan, stored.matrices, stored.lines, view.inner, view.has_parts);
  std::int64_t special = 0;
  for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
    const std::int64_t first = (stored.first_matrix + matrix) * stored.lines + stored.first_line;
    const FoundLines lines{stored.memory + layout.place.special + first,
                           stored.memory + layout.place.record + first * static_cast<std::int64_t>(sizeof(LineRecord)), nullptr,
                           view.outer};
    special += special_lines(lines, stream);
    add_records(to, lines, stream);
  }
  return special;
}

}  // namespace

const char* way_name(const CudaLayout& layout) {
  switch (layout.way) {
    case cuda::Way::direct: return "direct";
    case cuda::Way::thin: return "thin";
    case cuda::Way::tiles: return "tiles";
    case cuda::Way::stages: break;
  }
  return "stages";
}

std::string kernel_text(const CudaPlan& plan, const CudaLayout& layout) {
  const std::string splits = layout.tile.splits > 1 ? ", " + std::to_string(layout.tile.splits) + " splits" : "";
  return std::string(kernel_name(plan.kernel)) + ", tile " + tile_geometry(layout.tile.shape).name + splits;
}

void DeviceFindings::add(const CudaPlan& made, const CudaLayout& layout, const Turn& turn, const char* stages,
                         cudaStream_t stream) {
  if (made.integer) return;  // nothing is scaled
  if (made.plan.has_moduli()) {
    moduli_used = std::max(moduli_used, read<std::int32_t>(stages + layout.decision, 1, stream).front());
  }
  const auto add_lines = [&](const DeviceOperand& view, const StoredOperand& stored, const OperandPlace& place, bool is_new,
                             std::int64_t& special, bool& has_unshifted) {
    if (!is_new) return;
    if (stored.exists()) {
      special += add_stored(*this, made, stored, view, stream);
      return;
    }
    const FoundLines lines{stages + place.special, stages + place.record, stages + place.shift, view.stack.count() * view.outer};
    if (made.promise.has_integers) return;
    special += special_lines(lines, stream);
    if (made.promise.has_records()) {
      add_records(*this, lines, stream);
    } else {
      has_unshifted = add_shifts(*this, lines, made.plan.bits, stream) || has_unshifted;
    }
  };
  add_lines(turn.a, turn.stored_a, layout.a, turn.is_new_a && counts_rows, special_rows, has_unshifted_a);
  add_lines(turn.b, turn.stored_b, layout.b, turn.is_new_b && counts_columns, special_columns, has_unshifted_b);
  if (made.promise.certifies()) {
    const RepairReport report = read<RepairReport>(stages + layout.counts, 1, stream).front();
    listed += static_cast<std::int64_t>(report.listed - report.disjoint);
    exact += static_cast<std::int64_t>(report.exact);
  }
}

}  // namespace ozfp4::product
