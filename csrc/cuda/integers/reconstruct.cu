// A thread takes four neighbours of a row: a word of every plane with their residues as bytes, times the weights. These lie in
// the kernel's parameters and are the same for all threads.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "arith/multiples.hpp"
#include "arith/narrow.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/entries.cuh"
#include "cuda/integers/integers.hpp"
#include "cuda/launch.hpp"
#include "cuda/reconstruct/reconstruct.hpp"

namespace ozfp4::cuda {
namespace {

enum class Keeps { low, checked, modulo };

constexpr int kLogThreads = 7;
constexpr int kThreads = 1 << kLogThreads;
constexpr int kEntries = 4;            // of a thread
constexpr int kBatch = 4;              // planes that a thread reads before it multiplies
constexpr int kMostGridBlocks = 8192;  // along y and z; a block takes further rows and matrices in turn

template <Keeps Kind>
struct Parameters {
  IntegerJob job;
  Modulo modulo;
  std::int32_t matrices, all, log_quads;  // a block's threads along a row: 2^log_quads
  std::int32_t bytes;                     // of an entry of the result
  bool has_sign;                          // the result's type
  bool has_vectors;                       // four neighbours of the result are 32 bytes, and lie on a multiple of 16
  std::uint64_t period[kMaxModuli];
  double scale[Kind == Keeps::checked ? kMaxModuli : 1];
  std::uint64_t value[kMaxIntegerWeights];
  std::uint32_t top[kMaxIntegerWeights];
  std::uint64_t fraction[Kind == Keeps::checked ? 2 * kMaxIntegerWeights : 1];
};
static_assert(sizeof(Parameters<Keeps::checked>) <= 32764, "the parameters of one kernel");

struct Nothing {};

// The sums that a thread keeps of its entries.
template <Keeps Kind>
struct Sums {
  std::conditional_t<Kind == Keeps::modulo, Unsigned128, std::uint64_t> value[kEntries] = {};
  std::uint64_t top[kEntries] = {};
  std::conditional_t<Kind == Keeps::checked, Unsigned128, Nothing> fraction[kEntries] = {};

  __device__ __forceinline__ void add(int e, std::uint32_t residue, const Parameters<Kind>& p, int weight) {
    if constexpr (Kind == Keeps::modulo) {
      value[e] += static_cast<Unsigned128>(p.value[weight]) * residue;
    } else {
      value[e] += p.value[weight] * residue;
    }
    top[e] += static_cast<std::uint64_t>(p.top[weight]) * residue;
    if constexpr (Kind == Keeps::checked) {
      const Unsigned128 own = (static_cast<Unsigned128>(p.fraction[2 * weight + 1]) << 64) | p.fraction[2 * weight];
      fraction[e] += own * residue;
    }
  }
};

// The sums of the entries with bytes of plane 0 that begin at `source`.
template <Keeps Kind>
__device__ __forceinline__ void sum_planes(Sums<Kind>& sums, const Parameters<Kind>& p, int count, const std::uint8_t* source) {
  const Residues& residues = p.job.residues;
  const int weights = first_integer_weight(count);
#pragma unroll 1
  for (int first = 0; first < count; first += kBatch) {
    std::uint32_t word[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int plane = min(first + i, count - 1);
      word[i] = __ldcs(reinterpret_cast<const std::uint32_t*>(source + plane * residues.plane_stride));
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (first + i >= count) break;
#pragma unroll
      for (int e = 0; e < 4; ++e) sums.add(e, (word[i] >> (8 * e)) & 0xffu, p, weights + first + i);
    }
  }
}

// The part of an entry that the result keeps.
template <Keeps Kind>
__device__ __forceinline__ std::uint64_t kept(const Sums<Kind>& sums, int e, const Parameters<Kind>& p, int count) {
  const std::uint64_t quotient = low_quotient(sums.top[e]), period = p.period[count - 1];
  if constexpr (Kind == Keeps::modulo) {
    return reduce(sums.value[e] + static_cast<Unsigned128>(period) * quotient, p.modulo);
  } else {
    return sums.value[e] - quotient * period;
  }
}

template <Keeps Kind>
__device__ __forceinline__ void reconstruct_quad(const Parameters<Kind>& p, int count, const std::uint8_t* source, char* target,
                                                 int entries) {
  const DeviceResult& result = p.job.result;
  Sums<Kind> sums;
  sum_planes(sums, p, count, source);
  std::uint64_t value[kEntries];
#pragma unroll
  for (int e = 0; e < kEntries; ++e) value[e] = kept(sums, e, p, count);
  if (p.has_vectors && entries == kEntries) {
    auto* pair = reinterpret_cast<ulonglong2*>(target);
    __stcs(pair, make_ulonglong2(value[0], value[1]));
    __stcs(pair + 1, make_ulonglong2(value[2], value[3]));
  } else {
#pragma unroll
    for (int e = 0; e < kEntries; ++e) {
      if (e < entries) store_entry(target + e * result.column_stride, value[e], p.bytes);
    }
  }
  if constexpr (Kind == Keeps::checked) {
    unsigned beyond = 0;
#pragma unroll
    for (int e = 0; e < kEntries; ++e) {
      const double estimate = estimate_by_fraction(sums.fraction[e], p.scale[count - 1]);
      if (e < entries && !fits_type(value[e], estimate, 8 * p.bytes, p.has_sign)) ++beyond;
    }
    if (beyond != 0) atomicAdd(p.job.overflows, static_cast<unsigned long long>(beyond));
  }
}

template <Keeps Kind>
__global__ void __launch_bounds__(kThreads) integer_kernel(const __grid_constant__ Parameters<Kind> p) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  const DeviceResult& result = p.job.result;
  const Residues& residues = p.job.residues;
  const int count = p.job.moduli_used != nullptr ? min(max(*p.job.moduli_used, 1), p.all) : p.all;
  const std::int32_t quad = static_cast<std::int32_t>((blockIdx.x << p.log_quads) + (threadIdx.x & ((1u << p.log_quads) - 1)));
  const std::int64_t first_column = std::int64_t(kEntries) * quad;
  if (first_column >= result.columns) return;
  const int entries = static_cast<int>(min(std::int64_t(kEntries), result.columns - first_column));
  const std::uint32_t block_rows = kThreads >> p.log_quads;
#pragma unroll 1
  for (std::int64_t matrix = blockIdx.z; matrix < p.matrices; matrix += gridDim.z) {
    const std::int64_t offset = StackIndex{static_cast<std::int32_t>(matrix)}.offset(result.stack);
#pragma unroll 1
    for (std::int64_t row = std::int64_t(blockIdx.y) * block_rows + (threadIdx.x >> p.log_quads); row < result.rows;
         row += std::int64_t(gridDim.y) * block_rows) {
      const std::uint8_t* source = residues.data + matrix * residues.matrix_stride + row * residues.pitch + first_column;
      char* target = result.data + offset + row * result.row_stride + first_column * result.column_stride;
      reconstruct_quad(p, count, source, target, entries);
    }
  }
}

bool has_vectors(const DeviceResult& result) {
  auto low = static_cast<std::uint64_t>(result.row_stride) | reinterpret_cast<std::uintptr_t>(result.data);
  for (int i = 0; i < result.stack.rank; ++i) low |= static_cast<std::uint64_t>(result.stack.stride[i]);
  return entry_bytes(result.type) == 8 && result.column_stride == 8 && low % 16 == 0;
}

template <Keeps Kind>
void launch_kept(const IntegerPlan& plan, const IntegerJob& job, cudaStream_t stream) {
  Parameters<Kind> p{};
  p.job = job;
  p.modulo = plan.modulo;
  p.matrices = narrow<std::int32_t>(job.result.stack.count(), "matrices of a turn");
  p.all = plan.all;
  p.bytes = entry_bytes(job.result.type);
  p.has_sign = !is_unsigned(job.result.type);
  p.has_vectors = has_vectors(job.result);
  const std::int64_t quads = ceil_div(job.result.columns, kEntries);
  while (p.log_quads < kLogThreads && (std::int64_t(1) << p.log_quads) < quads) ++p.log_quads;
  std::copy(plan.period.begin(), plan.period.end(), p.period);
  std::copy(plan.value.begin(), plan.value.end(), p.value);
  std::copy(plan.top.begin(), plan.top.end(), p.top);
  if constexpr (Kind == Keeps::checked) {
    std::copy(plan.scale.begin(), plan.scale.end(), p.scale);
    std::copy(plan.fraction.begin(), plan.fraction.end(), p.fraction);
  }
  LaunchConfig config(Stage::reconstruct, nullptr, kThreads, stream, job.overlap_previous);
  config.grid =
      dim3(static_cast<unsigned>(ceil_div(quads, std::int64_t(1) << p.log_quads)),
           static_cast<unsigned>(std::min<std::int64_t>(kMostGridBlocks, ceil_div(job.result.rows, kThreads >> p.log_quads))),
           static_cast<unsigned>(std::min(kMostGridBlocks, p.matrices)));
  launch(integer_kernel<Kind>, config, p);
}

}  // namespace

const char* find_integer_error(const IntegerPlan& plan, const IntegerJob& job) {
  if (is_float(job.result.type)) return "the result must be of integers";
  if (plan.modulo.number != 0 && job.result.type != ElementType::int64) return "a result modulo a number must be int64";
  return find_bytes_error(job.result, job.residues);
}

void launch_integer_reconstruct(const IntegerPlan& plan, const IntegerJob& job, cudaStream_t stream) {
  if (plan.modulo.number != 0) return launch_kept<Keeps::modulo>(plan, job, stream);
  if (!plan.fraction.empty()) return launch_kept<Keeps::checked>(plan, job, stream);
  launch_kept<Keeps::low>(plan, job, stream);
}

}  // namespace ozfp4::cuda
