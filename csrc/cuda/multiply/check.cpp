// Checks of a problem, and the constants of its steps.
#include "cuda/multiply/check.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "arith/limits.hpp"
#include "cuda/multiply/contract.hpp"

namespace ozfp4::cuda {
namespace {

// The worst accumulator of a unit, followed through its steps.
class BoundWalk {
 public:
  // `longest`: the largest part of K that one split sums.
  BoundWalk(const GemmProblem& problem, std::int64_t longest) : problem_(problem), longest_(longest) {}

  const char* take(const GemmStep& step) {
    const std::int64_t summed = std::min<std::int64_t>(step.k_end - step.k_begin, longest_);
    bound_ += std::uint64_t(problem_.product_bound) * static_cast<std::uint64_t>(summed);
    if (is_float() && bound_ > kFp32Exact) return "the sum may exceed 2^24, up to which FP32 accumulators are exact";
    const std::uint64_t factor = static_cast<std::uint64_t>(std::abs(std::int64_t(step.multiplier)));
    const std::uint64_t product = (std::uint64_t(step.modulus) - 1) * factor;
    switch (step.action) {
      case Action::carry_on: return nullptr;
      case Action::multiply: wraps_ = !is_float(); return start_with(bound_ * factor);
      case Action::store_int32: return nullptr;
      case Action::fold:
        if (const char* error = find_fold_error(step, bound_)) return error;
        if (!is_signed(problem_.element) && step.multiplier < 0) return "a negative multiplier needs signed planes";
        return start_with(product);
      case Action::store_residue:
        if (const char* error = find_fold_error(step, bound_)) return error;
        if (step.multiplier == 1) return nullptr;
        if (!is_signed(problem_.element) && step.multiplier < 0) return "a negative multiplier needs signed planes";
        if (const char* error = find_fold_error(step, product, step.multiplier >= 0)) return error;
        return start_with(product);
      case Action::store_digit:
        if (const char* error = find_fold_error(step, bound_)) return error;
        return start_with(bound_ / step.modulus + 1);
    }
    return "unknown action";
  }

 private:
  bool is_float() const { return problem_.element == Element::e2m1; }

  const char* start_with(std::uint64_t bound) {
    bound_ = bound;
    if (is_float() && bound > kFp32StartExact) return "an action may leave more than 2^22 in an FP32 accumulator";
    return nullptr;
  }

  const char* find_fold_error(const GemmStep& step, std::uint64_t bound, bool is_nonnegative = false) const {
    if (step.modulus < 2 || step.modulus > 256) return "a fold needs a modulus from 2 to 256";
    if (wraps_) return "an accumulator that may have wrapped cannot be folded";
    const fold_constants expected = make_fold(step.modulus);
    if (step.magic != expected.magic || step.shift != expected.shift || !is_byte_fold(step.bytes, step.modulus)) {
      return "wrong constants of a fold: use make_step";
    }
    const std::uint64_t offset = static_cast<std::uint64_t>(step.offset_quotient) * step.modulus;
    if (step.offset_quotient < 0 || offset + bound > kInt32Exact) {
      return "the sum may exceed the INT32 accumulator";
    }
    if (!is_signed(problem_.element)) return step.offset_quotient == 0 ? nullptr : "unsigned planes take no offset";
    if (!is_nonnegative && offset < bound) return "the offset of a signed fold is below the largest sum";
    return nullptr;
  }

  const GemmProblem& problem_;
  std::int64_t longest_;
  std::uint64_t bound_ = 0;
  bool wraps_ = false;
};

const char* find_operand_error(const PlaneArray& operand, std::int64_t rows, std::int64_t bytes) {
  if (operand.data == nullptr || reinterpret_cast<std::uintptr_t>(operand.data) % 128 != 0) {
    return "planes must be aligned to 128 bytes";
  }
  if (operand.planes < 1 || operand.batches < 1) return "an operand needs at least one plane and one matrix";
  if (operand.pitch % 16 != 0 || operand.batch_stride % 16 != 0 || operand.plane_stride % 16 != 0) {
    return "pitches and strides of planes must be multiples of 16 bytes";
  }
  if (operand.pitch < bytes) return "the pitch of a plane is below K";
  if (operand.batches > 1 && operand.batch_stride < rows * operand.pitch) return "matrices of an operand overlap";
  if (operand.planes > 1 && operand.plane_stride < rows * operand.pitch) return "planes of an operand overlap";
  return nullptr;
}

const char* find_batch_error(const GemmProblem& problem) {
  const BatchMap& batch = problem.batch;
  if (batch.rank < 0 || batch.rank > kMaxBatchRank) return "too many batch dimensions";
  std::int64_t last_a = 0, last_b = 0, count = 1;
  for (int d = 0; d < batch.rank; ++d) {
    if (batch.extent[d] < 1 || batch.a_stride[d] < 0 || batch.b_stride[d] < 0) return "bad batch extent or stride";
    count *= batch.extent[d];
    last_a += std::int64_t(batch.extent[d] - 1) * batch.a_stride[d];
    last_b += std::int64_t(batch.extent[d] - 1) * batch.b_stride[d];
    if (count > kInt32Exact) return "too many matrices";
  }
  if (last_a >= problem.a.batches || last_b >= problem.b.batches) return "the batch map reaches beyond the operands";
  return nullptr;
}

const char* find_schedule_error(const GemmProblem& problem, int splits) {
  bool bytes = false, words = false;
  if (problem.unit_count < 0 || problem.unit_count > kMaxUnits) return "too many units";
  if (problem.steps == nullptr || problem.unit_begin == nullptr) return "no schedule";
  if (problem.product_bound == 0) return "product_bound is not set";
  if (problem.unit_begin[0] != 0) return "the first unit starts at step 0";
  if (splits < 1) return "splits must be positive";
  const int block = block_entries(problem.element);
  const std::int64_t longest = ceil_div(ceil_div(problem.k, block), splits) * block;
  for (int u = 0; u < problem.unit_count; ++u) {
    const int first = problem.unit_begin[u], last = problem.unit_begin[u + 1];
    if (first >= last) return "a unit without steps";
    if (last > kMaxInlineSteps && problem.device_steps == nullptr) return "a schedule this long needs device_steps";
    BoundWalk walk(problem, longest);
    for (int s = first; s < last; ++s) {
      const GemmStep& step = problem.steps[s];
      if (step.a_plane >= problem.a.planes || step.b_plane >= problem.b.planes) {
        return "a step names a plane that is not there";
      }
      if (step.k_begin < 0 || step.k_begin > step.k_end || step.k_end > problem.k) {
        return "a step's K range is not inside K";
      }
      if (step.k_begin % block != 0 || (step.k_end % block != 0 && step.k_end != problem.k)) {
        return block == 128 ? "K ranges are cut at multiples of 128" : "K ranges of E2M1 codes are cut at multiples of 256";
      }
      const bool is_byte = step.action == Action::store_residue || step.action == Action::store_digit;
      const bool is_word = step.action == Action::store_int32;
      const bool ends = step.action == Action::store_residue || is_word;
      if (ends && s + 1 != last) return "steps after the store that ends a unit";
      if (s + 1 == last && !is_byte && !is_word) return "a unit must end in a store";
      if ((is_byte || is_word) && step.out_plane >= problem.out_planes) {
        return "a step stores to a plane that is not there";
      }
      bytes |= is_byte;
      words |= is_word;
      if (const char* error = walk.take(step)) return error;
    }
  }
  return bytes && words ? "bytes and words cannot be stored by one launch" : nullptr;
}

const char* find_output_error(const GemmProblem& problem) {
  const std::int64_t multiple = stores_words(problem) ? 2 : 16;
  if (problem.out == nullptr || reinterpret_cast<std::uintptr_t>(problem.out) % 16 != 0) {
    return "output must be aligned to 16 bytes";
  }
  if (problem.out_pitch % multiple != 0 || problem.out_matrix_stride % multiple != 0) {
    return "pitch and stride of the output must be multiples of 16 bytes (2 words)";
  }
  if (problem.out_pitch < problem.n || problem.out_matrix_stride < problem.m * problem.out_pitch) {
    return "output rows or matrices overlap";
  }
  return nullptr;
}

// Whether the product is below 2^31, zeros taken for ones. Range: numbers from 0 on.
bool fits_words(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor > kInt32Exact) return false;
    product *= std::max<std::int64_t>(factor, 1);
    if (product > kInt32Exact) return false;
  }
  return true;
}

const char* find_choice_error(const GemmProblem& problem, const TileChoice& choice) {
  if (static_cast<int>(choice.shape) >= kTileShapes) return "unknown tile shape";
  const TileGeometry& tile = tile_geometry(choice.shape);
  if (choice.band < 1 || choice.splits < 1) return "band and splits must be positive";
  const std::int64_t matrices = std::int64_t(batch_count(problem.batch)) * choice.splits;
  if (!fits_words({matrices, ceil_div(problem.m, tile.m), ceil_div(problem.n, tile.n), problem.unit_count})) {
    return "too many tiles";
  }
  return fits_words({matrices, problem.out_planes}) ? nullptr : "too many output matrices";
}

constexpr TileGeometry kGeometry[kTileShapes] = {{128, 256, "128x256"}, {128, 128, "128x128"}, {128, 64, "128x64"},
                                                 {64, 256, "64x256"},   {64, 128, "64x128"},   {64, 64, "64x64"}};

}  // namespace

const TileGeometry& tile_geometry(TileShape shape) { return kGeometry[static_cast<int>(shape)]; }

int batch_count(const BatchMap& batch) {
  int count = 1;
  for (int d = 0; d < batch.rank; ++d) count *= batch.extent[d];
  return count;
}

bool stores_words(const GemmProblem& problem) {
  return problem.unit_count > 0 && problem.steps[problem.unit_begin[1] - 1].action == Action::store_int32;
}

std::int64_t batch_stride(const PlaneArray& operand, int rows) {
  return operand.batch_stride != 0 ? operand.batch_stride : rows * operand.pitch;
}

std::int64_t plane_stride(const PlaneArray& operand, int rows) {
  return operand.plane_stride != 0 ? operand.plane_stride : operand.batches * batch_stride(operand, rows);
}

GemmStep make_step(int a_plane, int b_plane, int k_begin, int k_end, Action action, std::uint32_t modulus,
                   std::int32_t multiplier, int out_plane, std::uint32_t bound) {
  GemmStep step;
  step.a_plane = static_cast<std::uint16_t>(a_plane);
  step.b_plane = static_cast<std::uint16_t>(b_plane);
  step.out_plane = static_cast<std::uint16_t>(out_plane);
  step.action = action;
  step.k_begin = k_begin;
  step.k_end = k_end;
  step.multiplier = multiplier;
  if (modulus >= 2) {
    const fold_constants f = make_fold(modulus, bound);
    step.modulus = modulus;
    step.magic = f.magic;
    step.shift = static_cast<std::uint8_t>(f.shift);
    step.offset_quotient = static_cast<std::int32_t>(f.offset / modulus);
    if (modulus <= 256) step.bytes = make_byte_fold(modulus);
  }
  return step;
}

const char* find_problem_error(const GemmProblem& problem, const TileChoice& choice) {
  if (problem.m < 1 || problem.n < 1 || problem.k < 1) return "M, N and K must be positive";
  if (std::max({problem.m, problem.n, problem.k}) > kLongestExtent) {
    return "M, N or K is above 2^31 - 4096, up to which positions fit 32 bits";
  }
  const std::int64_t bytes = row_bytes(problem.element, problem.k);
  if (const char* error = find_operand_error(problem.a, problem.m, bytes)) return error;
  if (const char* error = find_operand_error(problem.b, problem.n, bytes)) return error;
  if (const char* error = find_batch_error(problem)) return error;
  if (const char* error = find_schedule_error(problem, choice.splits)) return error;
  if (const char* error = find_output_error(problem)) return error;
  return find_choice_error(problem, choice);
}

}  // namespace ozfp4::cuda
