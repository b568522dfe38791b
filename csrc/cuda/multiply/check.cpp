// Checks of a problem.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "arith/limits.hpp"
#include "arith/multiples.hpp"
#include "cuda/multiply/contract.hpp"

namespace ozfp4::cuda {
namespace {

const char* find_operand_error(const PlaneArray& operand, std::int64_t rows, std::int64_t bytes) {
  if (operand.data == nullptr || reinterpret_cast<std::uintptr_t>(operand.data) % 128 != 0) {
    return "planes must be aligned to 128 bytes";
  }
  if (operand.planes < 1 || operand.batches < 1) return "an operand needs at least one plane and one matrix";
  if (operand.pitch % 16 != 0 || operand.batch_stride % 16 != 0 || operand.plane_stride % 16 != 0) {
    return "pitches and strides of planes must be multiples of 16 bytes";
  }
  if (operand.pitch < bytes) return "the pitch of a plane is below K";
  if (operand.pitch > std::numeric_limits<std::uint32_t>::max()) return "the pitch of a plane exceeds 32 bits";
  if (operand.batch_stride < rows * operand.pitch) return "matrices of an operand overlap";
  if (operand.plane_stride < rows * operand.pitch) return "planes of an operand overlap";
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

const char* find_output_error(const GemmProblem& problem) {
  const std::int64_t multiple = problem.stores_words() ? 2 : 16;
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

// Whether the product is below 2^31, zeros taken for ones. Precondition: numbers from 0 on.
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
  const std::int64_t matrices = std::int64_t(problem.batch.count()) * choice.splits;
  if (!fits_words({matrices, ceil_div(problem.m, tile.m), ceil_div(problem.n, tile.n), problem.unit_count})) {
    return "too many tiles";
  }
  return fits_words({matrices, problem.out_planes}) ? nullptr : "too many output matrices";
}

}  // namespace

const char* find_problem_error(const GemmProblem& problem, const TileChoice& choice) {
  if (problem.m < 1 || problem.n < 1 || problem.k < 1) return "M, N and K must be positive";
  if (std::max({problem.m, problem.n, problem.k}) > kLongestExtent) {
    return "M, N or K is above 2^31 - 4096, up to which positions fit 32 bits";
  }
  const std::int64_t bytes = row_bytes(problem.element, problem.k);
  if (const char* error = find_operand_error(problem.a, problem.m, bytes)) return error;
  if (const char* error = find_operand_error(problem.b, problem.n, bytes)) return error;
  if (const char* error = find_batch_error(problem)) return error;
  const char* const unsound = find_schedule_error(problem, problem.k, choice.splits, problem.a.planes, problem.b.planes);
  if (unsound != nullptr) return unsound;
  if (problem.unit_begin[problem.unit_count] > kMaxInlineSteps && problem.device_steps == nullptr) {
    return "a schedule this long needs device_steps";
  }
  if (const char* error = find_output_error(problem)) return error;
  return find_choice_error(problem, choice);
}

}  // namespace ozfp4::cuda
