// Hopper multiply: checks, variants, launcher. The kernel is in sm90_kernel.cuh.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "multiply/cuda_gemm.hpp"
#include "multiply/sm90_config.cuh"
#include "multiply/sm90_kernel.cuh"
#include "multiply/sm90_tensor_map.cuh"
#include "multiply/sm90_tile_choice.cuh"

namespace ozfp4::cuda {
namespace {

constexpr std::uint64_t kAccumulatorLimit = std::uint64_t(1) << 31;

// ---- Checks --------------------------------------------------------------------------------------------------------

// The worst accumulator of a unit, followed through its steps.
class BoundWalk {
 public:
  // `longest`: the largest part of K that one split sums.
  BoundWalk(const GemmProblem& problem, std::int64_t longest) : problem_(problem), longest_(longest) {}

  const char* take(const GemmStep& step) {
    const std::int64_t summed = std::min<std::int64_t>(step.k_end - step.k_begin, longest_);
    bound_ += std::uint64_t(problem_.product_bound) * static_cast<std::uint64_t>(summed);
    const std::uint64_t factor = static_cast<std::uint64_t>(std::abs(std::int64_t(step.multiplier)));
    const std::uint64_t product = (std::uint64_t(step.modulus) - 1) * factor;
    switch (step.action) {
      case Action::carry_on: return nullptr;
      case Action::multiply:
      case Action::store_int32: wraps_ = true; return nullptr;
      case Action::fold:
        if (const char* error = find_fold_error(step, bound_)) return error;
        if (!problem_.is_signed && step.multiplier < 0) return "a negative multiplier needs signed planes";
        bound_ = product;
        return nullptr;
      case Action::store_residue:
        if (const char* error = find_fold_error(step, bound_)) return error;
        if (step.multiplier == 1) return nullptr;
        if (!problem_.is_signed && step.multiplier < 0) return "a negative multiplier needs signed planes";
        return find_fold_error(step, product, step.multiplier >= 0);
      case Action::store_digit:
        if (const char* error = find_fold_error(step, bound_)) return error;
        bound_ = bound_ / step.modulus + 1;
        return nullptr;
    }
    return "unknown action";
  }

 private:
  const char* find_fold_error(const GemmStep& step, std::uint64_t bound, bool is_nonnegative = false) const {
    if (step.modulus < 2 || step.modulus > 256) return "a fold needs a modulus from 2 to 256";
    if (wraps_) return "an accumulator that may have wrapped cannot be folded";
    const fold_constants expected = make_fold(step.modulus);
    if (step.magic != expected.magic || step.shift != expected.shift || !is_byte_fold(step.bytes, step.modulus)) {
      return "wrong constants of a fold: use make_step";
    }
    const std::uint64_t offset = static_cast<std::uint64_t>(step.offset_quotient) * step.modulus;
    if (step.offset_quotient < 0 || offset + bound >= kAccumulatorLimit) {
      return "the sum may exceed the INT32 accumulator";
    }
    if (!problem_.is_signed) return step.offset_quotient == 0 ? nullptr : "unsigned planes take no offset";
    if (!is_nonnegative && offset < bound) return "the offset of a signed fold is below the largest sum";
    return nullptr;
  }

  const GemmProblem& problem_;
  std::int64_t longest_;
  std::uint64_t bound_ = 0;
  bool wraps_ = false;
};

const char* find_operand_error(const PlaneArray& operand, std::int64_t rows, std::int64_t k) {
  if (operand.data == nullptr || reinterpret_cast<std::uintptr_t>(operand.data) % 128 != 0) {
    return "planes must be aligned to 128 bytes";
  }
  if (operand.planes < 1 || operand.batches < 1) return "an operand needs at least one plane and one matrix";
  if (operand.pitch % 16 != 0 || operand.batch_stride % 16 != 0 || operand.plane_stride % 16 != 0) {
    return "pitches and strides of planes must be multiples of 16 bytes";
  }
  if (operand.pitch < k) return "the pitch of a plane is below K";
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
    if (count >= std::int64_t(kAccumulatorLimit)) return "too many matrices";
  }
  if (last_a >= problem.a.batches || last_b >= problem.b.batches) return "the batch map reaches beyond the operands";
  return nullptr;
}

int batch_count(const BatchMap& batch) {
  int count = 1;
  for (int d = 0; d < batch.rank; ++d) count *= batch.extent[d];
  return count;
}

const char* find_schedule_error(const GemmProblem& problem, int splits, bool& stores_words) {
  bool stores_bytes = false;
  stores_words = false;
  if (problem.unit_count < 0 || problem.unit_count > kMaxUnits) return "too many units";
  if (problem.steps == nullptr || problem.unit_begin == nullptr) return "no schedule";
  if (problem.product_bound == 0) return "product_bound is not set";
  if (problem.unit_begin[0] != 0) return "the first unit starts at step 0";
  if (splits < 1) return "splits must be positive";
  const std::int64_t blocks = sm90::ceil_div(problem.k, sm90::kBlockK);
  const std::int64_t longest = sm90::ceil_div(blocks, splits) * sm90::kBlockK;
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
      if (step.k_begin % sm90::kBlockK != 0 || (step.k_end % sm90::kBlockK != 0 && step.k_end != problem.k)) {
        return "K ranges are cut at multiples of 128";
      }
      const bool is_byte = step.action == Action::store_residue || step.action == Action::store_digit;
      const bool is_word = step.action == Action::store_int32;
      const bool ends = step.action == Action::store_residue || is_word;
      if (ends && s + 1 != last) return "steps after the store that ends a unit";
      if (s + 1 == last && !is_byte && !is_word) return "a unit must end in a store";
      if ((is_byte || is_word) && step.out_plane >= problem.out_planes) {
        return "a step stores to a plane that is not there";
      }
      stores_bytes |= is_byte;
      stores_words |= is_word;
      if (const char* error = walk.take(step)) return error;
    }
  }
  return stores_bytes && stores_words ? "bytes and words cannot be stored by one launch" : nullptr;
}

const char* find_output_error(const GemmProblem& problem, bool stores_words) {
  const std::int64_t multiple = stores_words ? 2 : 16;
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

const char* find_choice_error(const GemmProblem& problem, const TileChoice& choice) {
  if (static_cast<int>(choice.shape) >= kTileShapes) return "unknown tile shape";
  const TileGeometry& tile = tile_geometry(choice.shape);
  if (choice.band < 1 || choice.splits < 1) return "band and splits must be positive";
  const std::int64_t tiles = sm90::ceil_div(problem.m, tile.m) * sm90::ceil_div(problem.n, tile.n) *
                             std::int64_t(batch_count(problem.batch)) * choice.splits;
  if (tiles * std::max(problem.unit_count, 1) >= std::int64_t(kAccumulatorLimit)) return "too many tiles";
  return nullptr;
}

const char* find_error(const GemmProblem& problem, const TileChoice& choice, bool& stores_words) {
  if (problem.m < 1 || problem.n < 1 || problem.k < 1) return "M, N and K must be positive";
  if (const char* error = find_operand_error(problem.a, problem.m, problem.k)) return error;
  if (const char* error = find_operand_error(problem.b, problem.n, problem.k)) return error;
  if (const char* error = find_batch_error(problem)) return error;
  if (const char* error = find_schedule_error(problem, choice.splits, stores_words)) return error;
  if (const char* error = find_output_error(problem, stores_words)) return error;
  return find_choice_error(problem, choice);
}

// ---- Launch --------------------------------------------------------------------------------------------------------

// The limit on dynamic shared memory is raised once per variant and device.
template <class C>
cudaError_t raise_shared_limit(int device) {
  static std::atomic<std::uint64_t> done{0};
  const std::uint64_t bit = std::uint64_t(1) << (device % 64);
  if (device < 64 && (done.load(std::memory_order_relaxed) & bit) != 0) return cudaSuccess;
  const cudaError_t error =
      cudaFuncSetAttribute(sm90::gemm_kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes);
  if (error == cudaSuccess) done.fetch_or(bit, std::memory_order_relaxed);
  return error;
}

template <class C>
cudaError_t launch_variant(const sm90::GemmParams& params, const TileChoice& choice, int blocks, int device,
                           cudaStream_t stream) {
  if (const cudaError_t error = raise_shared_limit<C>(device)) return error;
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(C::kThreads);
  config.dynamicSmemBytes = C::kSharedBytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = choice.overlap_previous ? 1 : 0;
  return cudaLaunchKernelEx(&config, sm90::gemm_kernel<C>, params);
}

int next_wave_slot() {
  static std::atomic<unsigned> next{0};
  return static_cast<int>(next.fetch_add(1, std::memory_order_relaxed) % sm90::kWaveSlots);
}

using Launcher = cudaError_t (*)(const sm90::GemmParams&, const TileChoice&, int blocks, int device, cudaStream_t);

// Variants in the order of TileShape. Geometry must agree with sm90::kGeometry.
template <bool kSigned>
Launcher find_launcher(TileShape shape) {
  using sm90::Config;
  static constexpr Launcher launchers[kTileShapes] = {
      launch_variant<Config<128, 256, kSigned>>, launch_variant<Config<128, 128, kSigned>>,
      launch_variant<Config<128, 64, kSigned>>,  launch_variant<Config<64, 256, kSigned>>,
      launch_variant<Config<64, 128, kSigned>>,  launch_variant<Config<64, 64, kSigned>>};
  return launchers[static_cast<int>(shape)];
}

}  // namespace

const TileGeometry& tile_geometry(TileShape shape) { return sm90::kGeometry[static_cast<int>(shape)]; }

TileChoice choose_tile(const GemmShape& shape, int multiprocessors) { return sm90::choose(shape, multiprocessors); }

double predict_clocks(const GemmShape& shape, const TileChoice& choice, int multiprocessors) {
  return sm90::model_clocks(shape, choice, multiprocessors);
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
  bool stores_words;
  return find_error(problem, choice, stores_words);
}

cudaError_t launch_gemm(const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream) {
  bool stores_words;
  if (find_error(problem, choice, stores_words) != nullptr) return cudaErrorInvalidValue;
  if (problem.unit_count == 0) return cudaSuccess;

  int device = 0, multiprocessors = 0;
  if (const cudaError_t error = cudaGetDevice(&device)) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device)) {
    return error;
  }

  const TileGeometry& tile = tile_geometry(choice.shape);
  const int batches = batch_count(problem.batch);
  const int step_count = problem.unit_begin[problem.unit_count];
  const std::uint32_t m_tiles = static_cast<std::uint32_t>(sm90::ceil_div(problem.m, tile.m));
  const std::uint32_t n_tiles = static_cast<std::uint32_t>(sm90::ceil_div(problem.n, tile.n));
  const std::uint32_t matrices = static_cast<std::uint32_t>(batches * choice.splits);

  sm90::GemmParams params = {};
  cudaError_t error = sm90::encode_plane_map(&params.a_map, problem.a, problem.m, problem.k, tile.m, sm90::kBlockK);
  if (error != cudaSuccess) return error;
  error = sm90::encode_plane_map(&params.b_map, problem.b, problem.n, problem.k, tile.n, sm90::kBlockK);
  if (error != cudaSuccess) return error;
  if (stores_words) {
    params.out_map = params.a_map;  // not used
    params.out_int32 = static_cast<std::int32_t*>(problem.out);
  } else {
    error = sm90::encode_output_map(&params.out_map, problem, choice.splits, batches, sm90::box_columns(tile.n));
    if (error != cudaSuccess) return error;
  }
  params.order = sm90::make_tile_order(m_tiles, n_tiles, matrices, static_cast<std::uint32_t>(choice.band));
  params.batches = sm90::make_divisor(static_cast<std::uint32_t>(batches));
  params.batch = problem.batch;
  params.m = problem.m;
  params.n = problem.n;
  params.blocks_per_split = static_cast<std::int32_t>(sm90::ceil_div(sm90::ceil_div(problem.k, sm90::kBlockK), choice.splits));
  params.wave_slot = choice.keep_together ? next_wave_slot() : -1;
  params.out_pitch = problem.out_pitch;
  params.out_matrix_stride = problem.out_matrix_stride;
  params.out_matrices = matrices;
  params.unit_count = problem.unit_count;
  params.units_used = problem.units_used;
  params.device_steps = problem.device_steps;
  std::copy_n(problem.unit_begin, problem.unit_count + 1, params.unit_begin);
  if (problem.device_steps == nullptr) std::copy_n(problem.steps, step_count, params.steps);

  const std::int64_t tiles = std::int64_t(m_tiles) * n_tiles * matrices * problem.unit_count;
  const int limit = choice.max_blocks > 0 ? std::min(choice.max_blocks, multiprocessors) : multiprocessors;
  const int blocks = static_cast<int>(std::min<std::int64_t>(tiles, limit));
  const Launcher launcher = problem.is_signed ? find_launcher<true>(choice.shape) : find_launcher<false>(choice.shape);
  return launcher(params, choice, blocks, device, stream);
}

}  // namespace ozfp4::cuda
