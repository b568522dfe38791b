#include "product/gpu/operand.hpp"

#include "arith/multiples.hpp"
#include "arith/narrow.hpp"
#include "cuda/complex/expand.hpp"
#include "cuda/layout/size_of.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/scale/scale.hpp"
#include "cuda/stored/store.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/plans.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

constexpr std::int64_t kLineAlignment = 16;     // the widest loads
constexpr std::int64_t kMostPitch = INT32_MAX;  // of cudaMemcpy2D

// Whether the copy is made of pairs: what a product takes then are the even lines of A, all of B's.
bool is_expanded(const ToPrepare& own) {
  return own.type.is_complex && (!own.is_left || own.x.is_conjugated || own.x.column_stride != own.type.bytes());
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

std::int64_t copied_bytes(const ToPrepare& own) {
  if (is_expanded(own)) return size_of({own.is_left ? 2 * own.outer : own.outer, own.inner, own.type.part_bytes()});
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
  const std::int64_t pitch = pitch_of(lines_of(own));
  const bool runs_along_k = (own.x.column_stride == own.type.bytes()) == own.is_left;
  copy.outer_stride = runs_along_k ? pitch : part;
  copy.inner_stride = runs_along_k ? part : pitch;
  return copy;
}

void launch_copy(const ToPrepare& own, char* to, cudaStream_t stream) {
  const Operand& x = own.x;
  const int pair = own.type.bytes();
  if (is_expanded(own)) {  // lines of A as columns of its transpose, conjugated: (re, im) then
    const std::int64_t lines = own.is_left ? x.rows : x.columns;
    const std::int64_t line_stride = (own.is_left ? x.row_stride : x.column_stride) / pair;
    const std::int64_t k_stride = (own.is_left ? x.column_stride : x.row_stride) / pair;
    return launch_expand(
        {x.data, own.type.part, 1, own.inner / 2, lines, 0, k_stride, line_stride, x.is_conjugated != own.is_left}, to, stream);
  }
  const Lines lines = lines_of(own);
  const std::int64_t pitch = pitch_of(lines);
  const auto bytes = [](std::int64_t size) { return static_cast<std::size_t>(size); };
  if (lines.count > 1 && lines.stride <= kMostPitch && pitch <= kMostPitch) {
    return check(cudaMemcpy2DAsync(to, bytes(pitch), x.data, bytes(lines.stride), bytes(lines.bytes), bytes(lines.count),
                                   cudaMemcpyDeviceToDevice, stream),
                 "cudaMemcpy2DAsync");
  }
  for (std::int64_t i = 0; i < lines.count; ++i) {  // few, as long as they are
    check(cudaMemcpyAsync(to + i * pitch, x.data + i * lines.stride, bytes(lines.bytes), cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpyAsync");
  }
}

DeviceOperand encoded_form(const DeviceOperand& copy, const Plan& plan, bool is_left) {
  DeviceOperand own = copy;
  if (!plan.is_complex || is_left) return own;
  own.has_parts = true;
  own.stack.extent[0] = kPair;
  own.stack.stride[0] = own.outer_stride;
  own.stack.rank = 1;
  own.outer /= kPair;
  own.outer_stride *= kPair;
  return own;
}

}  // namespace

cuda::Promise kept_promise(Accuracy accuracy, int precision) {
  cuda::Promise promise;
  promise.accuracy = accuracy;
  promise.second = Second::bound;
  promise.precision = precision;
  return promise;
}

PreparedProblem lay_out(const ToPrepare& own, Accuracy accuracy, const std::shared_ptr<const Plan>& plan, Kernel kernel,
                        const Gpu& gpu) {
  PreparedProblem problem;
  problem.plan = find_cuda_plan(plan, own.inner, kernel, kept_promise(accuracy, own.type.precision()));
  problem.copy = copy_of(own);
  const DeviceOperand& encoded = problem.encoded = encoded_form(problem.copy, *plan, own.is_left);
  check_store(*problem.plan, encoded, gpu);
  PreparedPlaces& places = problem.places;
  places.stored = round_up(copied_bytes(own), kPlaceAlignment);
  places.scratch =
      places.stored +
      make_stored_layout(*problem.plan, encoded.stack.count(), encoded.outer, encoded.inner, encoded.has_parts).bytes;
  places.bytes = places.scratch + round_up(scale_scratch_bytes(encoded), kPlaceAlignment);
  return problem;
}

void place(DevicePrepared& made, const PreparedProblem& problem, char* memory) {
  made.view = problem.copy;
  made.view.data = memory + problem.places.entries;
  made.stored.memory = memory + problem.places.stored;
  made.stored.lines = problem.encoded.outer;
  made.stored.matrices = problem.encoded.stack.count();
}

void launch(const PreparedProblem& problem, const ToPrepare& own, char* memory, cudaStream_t stream) {
  launch_copy(own, memory + problem.places.entries, stream);
  DeviceOperand encoded = problem.encoded;
  encoded.data = memory + problem.places.entries;
  LaunchOptions further;
  further.stream = stream;
  launch_store(*problem.plan, encoded, memory + problem.places.stored, memory + problem.places.scratch, further);
}

}  // namespace ozfp4::product
