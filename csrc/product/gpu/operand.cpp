#include "product/gpu/operand.hpp"

#include <string>
#include <utility>
#include <vector>

#include "arith/multiples.hpp"
#include "arith/narrow.hpp"
#include "cuda/elementwise/matrices.hpp"
#include "cuda/places.hpp"
#include "cuda/prepare.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/scale/scale.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/numbering.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

constexpr std::int64_t kLineAlignment = 16;     // the widest loads
constexpr std::int64_t kMostPitch = INT32_MAX;  // of cudaMemcpy2D

// Whether the copy is made of pairs: what a product takes then are the even lines of A, all of B's.
bool is_expanded(const ToPrepare& own) {
  return own.type.is_complex && !own.is_for_real &&
         (!own.is_left || own.x.is_conjugated || own.x.column_stride != own.type.bytes());
}

// Lines of neighbouring entries, as they lie: along K, or across.
struct Lines {
  std::int64_t count, bytes, stride;
};

Lines lines_of(const ToPrepare& own) {
  const Operand& x = own.x;
  const bool has_rows = x.column_stride == own.type.bytes();
  return {has_rows ? x.rows : x.columns, (has_rows ? x.columns : x.rows) * own.type.bytes(),
          has_rows ? x.row_stride : x.column_stride};
}

std::int64_t pitch_of(const Lines& lines) { return round_up(lines.bytes, kLineAlignment); }

std::vector<Axis> stack_of(const ToPrepare& own) {
  std::vector<Axis> axes;
  for (const auto& [extent, step] : own.axes) axes.push_back({extent, step});
  return axes;
}

// Bytes of the copy of a matrix.
std::int64_t copied_bytes(const ToPrepare& own) {
  if (is_expanded(own)) return size_of({own.is_left ? 2 * own.outer : own.outer, own.inner, own.type.part_bytes()});
  if (own.is_for_real && own.type.is_complex) return size_of({own.x.rows, own.x.columns, own.type.bytes()});
  const Lines lines = lines_of(own);
  return size_of({lines.count, pitch_of(lines)});
}

DeviceOperand copy_of(const ToPrepare& own) {
  const std::int64_t part = own.type.part_bytes(), line = own.inner * part;
  DeviceOperand copy;
  copy.type = own.type.part;
  copy.outer = narrow<std::int32_t>(own.outer, "m, n");
  copy.inner = narrow<std::int32_t>(own.inner, "k");
  if (is_expanded(own)) {
    copy.outer_stride = own.is_left ? 2 * line : line;
    copy.inner_stride = part;
    return copy;
  }
  if (own.is_for_real && own.type.is_complex) {  // rows of pairs
    const std::int64_t row = own.x.columns * own.type.bytes();
    copy.outer_stride = own.is_left ? row : part;
    copy.inner_stride = own.is_left ? own.type.bytes() : row;
    return copy;
  }
  if (own.stays) {
    copy.outer_stride = own.is_left ? own.x.row_stride : own.x.column_stride;
    copy.inner_stride = own.type.is_complex ? part : own.is_left ? own.x.column_stride : own.x.row_stride;
    return copy;
  }
  const std::int64_t pitch = pitch_of(lines_of(own));
  const bool runs_along_k = (own.x.column_stride == own.type.bytes()) == own.is_left;
  copy.outer_stride = runs_along_k ? pitch : part;
  copy.inner_stride = runs_along_k ? part : pitch;
  return copy;
}

void copy_lines(const ToPrepare& own, const char* from, char* to, cudaStream_t stream) {
  const Lines lines = lines_of(own);
  const std::int64_t pitch = pitch_of(lines);
  const auto bytes = [](std::int64_t size) { return static_cast<std::size_t>(size); };
  if (lines.count > 1 && lines.stride <= kMostPitch && pitch <= kMostPitch) {
    return check(cudaMemcpy2DAsync(to, bytes(pitch), from, bytes(lines.stride), bytes(lines.bytes), bytes(lines.count),
                                   cudaMemcpyDeviceToDevice, stream),
                 "cudaMemcpy2DAsync");
  }
  for (std::int64_t i = 0; i < lines.count; ++i) {  // few, as long as they are
    check(cudaMemcpyAsync(to + i * pitch, from + i * lines.stride, bytes(lines.bytes), cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpyAsync");
  }
}

// Matrices along an axis.
void launch_copy(const ToPrepare& own, const char* from, const Axis& along, char* to, cudaStream_t stream) {
  const Operand& x = own.x;
  const int pair = own.type.bytes();
  if (is_expanded(own)) {  // lines of A as columns of its transpose, conjugated: (re, im) then
    const std::int64_t lines = own.is_left ? x.rows : x.columns;
    const std::int64_t line_stride = (own.is_left ? x.row_stride : x.column_stride) / pair;
    const std::int64_t k_stride = (own.is_left ? x.column_stride : x.row_stride) / pair;
    return launch_expand({from, own.type.part, along.extent, own.inner / 2, lines, along.a / pair, k_stride, line_stride,
                          x.is_conjugated != own.is_left},
                         to, stream);
  }
  const std::int64_t bytes = copied_bytes(own);
  if (own.is_for_real && own.type.is_complex) {
    const StridedMatrices there{const_cast<char*>(from), own.type.part, x.row_stride, x.column_stride, along.a};
    const StridedMatrices here{to, own.type.part, x.columns * pair, pair, bytes};
    return cuda::launch_copy({along.extent, x.rows, x.columns}, there, here, false, stream);
  }
  for (std::int64_t i = 0; i < along.extent; ++i) copy_lines(own, from + i * along.a, to + i * bytes, stream);
}

void launch_copies(const ToPrepare& own, char* to, cudaStream_t stream) {
  if (own.stays) return;
  Numbering(stack_of(own), &Axis::a).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    launch_copy(own, own.x.data + offset.a, along, to + first * copied_bytes(own), stream);
  });
}

// Bytes from matrix to matrix of the copies, along each axis of the stack.
StackOf axes_of_copies(const ToPrepare& own) {
  auto axes = own.axes;
  const Numbering numbers(stack_of(own), &Axis::a);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!own.stays) axes[i].second = numbers.step(i) * copied_bytes(own);
    if (axes[i].first == 1) axes[i].second = 0;
  }
  return axes;
}

// Adds the axes along which matrices differ, the fewest that visit the same ones.
void add_stack(DeviceOperand& to, const StackOf& axes) {
  StackOf fewest;
  for (const auto& [extent, step] : axes) {
    if (step == 0) continue;
    if (!fewest.empty() && fewest.back().second == step * extent) {
      fewest.back() = {fewest.back().first * extent, step};
    } else {
      fewest.emplace_back(extent, step);
    }
  }
  const auto most = static_cast<std::size_t>(kMaxStackRank - to.stack.rank);
  if (fewest.size() > most) {
    refuse(Fault::unsupported, "x: its matrices lie along " + std::to_string(fewest.size()) +
                                   " axes that cannot be merged, at most " + std::to_string(most) +
                                   " are taken; a contiguous copy has one");
  }
  for (const auto& [extent, step] : fewest) {
    to.stack.add_axis(narrow<std::int32_t>(extent, "matrices of an operand"), step);
  }
}

DeviceOperand encoded_form(const DeviceOperand& copy, const ToPrepare& own, const Plan& plan) {
  DeviceOperand encoded = copy;
  if (plan.is_complex && !own.is_left) {
    encoded.has_parts = true;
    encoded.stack.add_axis(kPair, encoded.outer_stride);
    encoded.outer /= kPair;
    encoded.outer_stride *= kPair;
  } else if (own.is_left && own.type.is_complex && own.is_for_real) {
    encoded.stack.add_axis(2, own.type.part_bytes());  // its parts are two matrices
  }
  return encoded;
}

// That of what is kept: with records of its lines, which a bound asks for whatever the accuracy is.
cuda::Promise kept_promise(Accuracy accuracy, int precision) {
  cuda::Promise promise;
  promise.accuracy = accuracy;
  promise.second = Second::bound;
  promise.precision = precision;
  return promise;
}

}  // namespace

PreparedProblem lay_out(const ToPrepare& own, Accuracy accuracy, const std::shared_ptr<const Plan>& plan, Kernel kernel,
                        const Gpu& gpu) {
  PreparedProblem problem;
  problem.plan = find_cuda_plan(plan, own.inner, kernel, kept_promise(accuracy, own.precision));
  problem.copy = copy_of(own);
  problem.axes = axes_of_copies(own);
  DeviceOperand& encoded = problem.encoded = encoded_form(problem.copy, own, *plan);
  add_stack(encoded, problem.axes);
  check_store(*problem.plan, encoded, gpu);
  PreparedPlaces& places = problem.places;
  const std::int64_t copies = own.stays ? 0 : Numbering(stack_of(own), &Axis::a).count();
  places.stored = round_up(size_of({copies, copied_bytes(own)}), kPlaceAlignment);
  places.scratch =
      places.stored +
      make_stored_layout(*problem.plan, encoded.stack.count(), encoded.outer, encoded.inner, encoded.has_parts).bytes;
  places.bytes = places.scratch + round_up(scale_scratch_bytes(encoded), kPlaceAlignment);
  return problem;
}

void place(DevicePrepared& made, const PreparedProblem& problem, const ToPrepare& own, char* memory) {
  made.view = problem.copy;
  made.view.data = own.stays ? own.x.data : memory + problem.places.entries;
  made.axes = problem.axes;
  made.stored.memory = memory + problem.places.stored;
  made.stored.lines = problem.encoded.outer;
  made.stored.matrices = problem.encoded.stack.count();
}

DevicePrepared lines_of(const DevicePrepared& made, std::int64_t first, std::int64_t last, bool is_left) {
  DevicePrepared part = made;
  part.is_left = is_left;
  part.view.data += first * part.view.outer_stride;
  part.view.outer = narrow<std::int32_t>(last - first, "m, n");
  part.stored.first_line += static_cast<std::int32_t>(first);
  return part;
}

void launch(const PreparedProblem& problem, const ToPrepare& own, char* memory, const Launching& how) {
  launch_copies(own, memory + problem.places.entries, how.stream);
  DeviceOperand encoded = problem.encoded;
  encoded.data = own.stays ? own.x.data : memory + problem.places.entries;
  launch_store(*problem.plan, encoded, memory + problem.places.stored, memory + problem.places.scratch, how.options());
}

KeptLines KeptLines::of(const Product& product, const Options& options, const Chosen& chosen, const Device& device) {
  const Operand& a = product.a;
  KeptLines kept;
  kept.rows_ = {product.type_a, true, true, a, a.rows, a.columns, product.type.precision()};
  kept.rows_.stays = true;
  kept.problem_ = lay_out(kept.rows_, options.accuracy, chosen.plan, chosen.kernel, device.gpu);
  static_cast<Prepared&>(kept.about_) = {product.type, true, true, a.rows, a.columns, chosen.plan, options.accuracy};
  kept.about_.device = device.index;
  kept.about_.kernel = chosen.kernel;
  return kept;
}

ToPrepare KeptLines::at(const char* data) const {
  ToPrepare rows = rows_;
  rows.x.data = data;
  return rows;
}

void KeptLines::launch(const char* data, char* workspace, cudaStream_t stream) const {
  product::launch(problem_, at(data), workspace, stream);
}

DevicePrepared KeptLines::part(std::int64_t first, std::int64_t last, bool is_left, const char* data, char* workspace) const {
  DevicePrepared all = about_;
  place(all, problem_, at(data), workspace);
  return lines_of(all, first, last, is_left);
}

}  // namespace ozfp4::product
