// The kernel of floating-point numbers. A block looks at its lines twice, for what scale finds in them and for their integers;
// they come from the cache the second time.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arith/scale_entry.hpp"
#include "arith/wide/round_wide.hpp"
#include "cuda/dependent_launch.cuh"
#include "cuda/direct/limb_sums.hpp"
#include "cuda/direct/place.cuh"
#include "cuda/entries.cuh"
#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/reconstruct/lines.cuh"

namespace ozfp4::cuda::direct {

inline constexpr int kSharers = 4;  // threads that share a line
static_assert(kLines * kSharers <= kThreads, "every line has its threads");

struct Parameters {
  ReconstructJob job;  // without residues
  CapacityRule capacity;
  Certification certification;  // of the kernels that certify
  DeviceUpdate update;          // of the kernel that updates
  std::int32_t tiles_x;
  bool runs_along_k[2];  // whether neighbours along K are closer than lines
};

// A kernel does one of these with an entry's integer. It rounds it; or it rounds it and tests whether that is certified; or it
// rounds alpha times the integer plus beta C, with the same test.
enum class Makes : std::uint8_t { product, certified_product, update };

template <Makes What>
inline constexpr bool kHasRecords = What != Makes::product;  // of its lines

// Rows of limbs are one entry apart from a multiple of 128 bytes: neighbours along K lie on different banks, and so do lines.
struct alignas(16) Entry {
  std::int32_t limb[4];  // where entries are certified the last is the magnitude byte, unless there are four limbs
};
static_assert(accuracy_bits(Accuracy::standard, 53) <= kLimbedBits<3>);

// The integer of an entry, and the sum that certifies_magnitude takes, or 0.
struct Sum {
  WideInt<kLimbedWords> integer;
  std::uint32_t magnitude;
};
static_assert(kMostDirectInner * 255 * 255 < INT32_MAX);
struct Shared {
  Entry a[kChunk][kRows + 1], b[kChunk][kColumns + 1];
  OwnLine line[kLines];
  union {  // never initialised
    LineRecord record[kLines];
  };
  __device__ Shared() {}
};

// The facts of a line of `inner` entries, in all threads that share it.
template <bool Records, class T>
__device__ __forceinline__ Found find_line(const char* data, std::int64_t inner_stride, std::int32_t inner) {
  StateOf<Records> state;
#pragma unroll 1
  for (int first = 8 * (static_cast<int>(threadIdx.x) % kSharers); first < inner; first += 8 * kSharers) {
    T x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = first + i < inner ? *reinterpret_cast<const T*>(data + (first + i) * inner_stride) : T(0);
    add_batch(state, x);
  }
  return over_lanes<Records>(found_of(state), 1, kSharers);
}

// An entry's limbs. Precondition: capacity <= kLimbedBits<Limbs>; limbs of no meaning for entries that are not finite.
template <int Limbs, class T>
__device__ __forceinline__ Entry entry_of(T x, int shift) {
  Limbed<Limbs> limbs;
  if constexpr (Limbs == 4) {
    limbs = limbs_of(scaled_wide<3>(x, shift));
  } else {
    limbs = limbs_of<Limbs>(scaled_integer(x, shift));
  }
  Entry entry{};
#pragma unroll
  for (int i = 0; i < Limbs; ++i) entry.limb[i] = limbs.limb[i];
  return entry;
}

// Entries [first, first + count) of K of the lines, to shared memory; zeros beyond. `record`: of the lines, where magnitudes are
// asked for.
template <int Limbs, class T, int Lines, int Pitch>
__device__ __forceinline__ void load_chunk(Entry (&to)[kChunk][Pitch], const OwnLine* own, const LineRecord* record,
                                           const Source& from, bool runs_along_k, int first, int count) {
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < Lines * kChunk; i += kThreads) {
    const int line = runs_along_k ? i / kChunk : i % Lines, k = runs_along_k ? i % kChunk : i / Lines;
    const bool exists = line < from.lines && k < count;
    const T x =
        exists ? *reinterpret_cast<const T*>(from.data + line * from.outer_stride + (first + k) * from.inner_stride) : T(0);
    to[k][line] = entry_of<Limbs>(x, own[line].shift);
    if (Limbs < 4 && record != nullptr) to[k][line].limb[3] = static_cast<std::int32_t>(magnitude_byte(x, record[line].exponent));
  }
}

// That of this thread's entry. All threads call it.
template <int Limbs, class T, Makes What>
__device__ __forceinline__ Sum dot(Shared& shared, const Parameters& p, const Source& a, const Source& b,
                                   const LineRecord* record) {
  const int inner = p.job.a.view.inner, row = static_cast<int>(threadIdx.x) / 32, column = static_cast<int>(threadIdx.x) % 32;
  LimbSums<Limbs> sums;
  std::uint32_t magnitude = 0;
#pragma unroll 1
  for (int first = 0; first < inner; first += kChunk) {
    const int count = min(kChunk, inner - first);
    __syncthreads();
    load_chunk<Limbs, T, kRows>(shared.a, shared.line, record, a, p.runs_along_k[0], first, count);
    load_chunk<Limbs, T, kColumns>(shared.b, shared.line + kRows, record == nullptr ? nullptr : record + kRows, b,
                                   p.runs_along_k[1], first, count);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < count; ++k) {
      const Entry x = shared.a[k][row], y = shared.b[k][column];
      Limbed<Limbs> own_x, own_y;
#pragma unroll
      for (int i = 0; i < Limbs; ++i) own_x.limb[i] = x.limb[i], own_y.limb[i] = y.limb[i];
      sums.add_product(own_x, own_y);
      if (Limbs < 4 && kHasRecords<What>) magnitude += static_cast<std::uint32_t>(x.limb[3] * y.limb[3]);
    }
  }
  return {sums.total(), magnitude};
}

// Whether magnitudes are asked for: the lines leave an entry of the block without a certificate. All threads call it.
template <Makes What>
__device__ __forceinline__ bool asks_magnitudes(const Shared& shared, const Parameters& p, const Source& a, const Source& b) {
  if (!kHasRecords<What> || p.certification.accuracy != Accuracy::standard) return false;
  const int row = static_cast<int>(threadIdx.x) / 32, column = static_cast<int>(threadIdx.x) % 32;
  const bool exists = row < a.lines && column < b.lines;
  return __syncthreads_or(exists && !certifies_lines(shared.record[row], shared.record[kRows + column], p.job.a.view.inner)) != 0;
}

// By as many limbs as the block's widest line needs: all of them decide alike.
template <class T, Makes What>
__device__ __forceinline__ Sum dot_of(Shared& shared, const Parameters& p, const Source& a, const Source& b) {
  const int own = static_cast<int>(threadIdx.x) < kLines ? shared.line[threadIdx.x].capacity : 0;
  const bool is_short = p.job.a.view.inner <= kLimbedProducts<2>;
  const LineRecord* const record = asks_magnitudes<What>(shared, p, a, b) ? shared.record : nullptr;
  if (__syncthreads_or(own > kLimbedBits<2>) == 0 && is_short) return dot<2, T, What>(shared, p, a, b, record);
  if (__syncthreads_or(own > kLimbedBits<3>) == 0) return dot<3, T, What>(shared, p, a, b, record);
  return dot<4, T, What>(shared, p, a, b, record);
}

// The entry of C that this thread's entry is added to; 0 for a thread without one.
__device__ __forceinline__ double own_addend(const Parameters& p, const Place& place, bool exists) {
  if (!exists) return 0.0;
  const int row = static_cast<int>(threadIdx.x) / 32, column = static_cast<int>(threadIdx.x) % 32;
  return addend_at(p.update, place.matrix, std::int64_t(place.first_row) + row, std::int64_t(place.first_column) + column);
}

template <class T, Makes What>
__device__ __forceinline__ CertifiedEntry<T> rounded_entry(const Parameters& p, const Sum& sum, std::int32_t exponent,
                                                           const LineRecord& a, const LineRecord& b, double addend) {
  const std::int64_t inner = p.job.a.view.inner;
  if constexpr (What == Makes::update) {
    return certify_update<T>(p.certification, sum.integer, exponent, a, b, inner, p.update.factors, addend, sum.magnitude);
  } else {
    return certify_entry<T>(p.certification, sum.integer, exponent, a, b, inner, sum.magnitude);
  }
}

template <class T, Makes What>
__global__ void __launch_bounds__(kThreads, 1) direct_kernel(const __grid_constant__ Parameters p) {
  __shared__ Shared shared;
  let_next_kernel_start();
  wait_for_previous_kernel();
  const ReconstructJob& job = p.job;
  const Place place = place_of_block(p.tiles_x);
  const std::int32_t tile_y = place.first_row / kRows, tile_x = place.first_column / kColumns;
  const Lines lines(job, place);
  const Source a = source_of(job.a.view, lines.a_matrix, place.first_row, job.result.rows, kRows);
  const Source b = source_of(job.b.view, lines.b_matrix, place.first_column, job.result.columns, kColumns);

  // ---- Scale
  const int at = static_cast<int>(threadIdx.x) / kSharers;
  const bool is_b = at >= kRows;
  const int line = is_b ? at - kRows : at;
  const char* data = is_b ? b.data + line * b.outer_stride : a.data + line * a.outer_stride;
  const bool is_there = line < (is_b ? b.lines : a.lines);
  const Found found =
      find_line<kHasRecords<What>, T>(data, is_b ? b.inner_stride : a.inner_stride, is_there ? job.a.view.inner : 0);
  if (threadIdx.x % kSharers == 0 && at < kLines) finish_line<kHasRecords<What>>(shared, p.capacity, found, at);
  __syncthreads();
  if (tile_x == 0) keep<kHasRecords<What>>(shared, job.a, lines.a, 0, a.lines);
  if (tile_y == 0) keep<kHasRecords<What>>(shared, job.b, lines.b, kRows, b.lines);

  // ---- Multiply
  const Sum sum = dot_of<T, What>(shared, p, a, b);

  // ---- Round
  const int row = static_cast<int>(threadIdx.x) / 32, column = static_cast<int>(threadIdx.x) % 32;
  const OwnLine own_row = shared.line[row], own_column = shared.line[kRows + column];
  const bool exists = row < a.lines && column < b.lines;
  char* target = job.result.data + lines.result_offset + (std::int64_t(place.first_row) + row) * job.result.row_stride +
                 std::int64_t(place.first_column) * job.result.column_stride;
  const auto store = [&](int e, T value) { *reinterpret_cast<T*>(target + e * job.result.column_stride) = value; };
  const std::int32_t exponent = -own_row.shift - own_column.shift;
  const bool is_special = (own_row.special | own_column.special) != kFinite;
  const double addend = What == Makes::update ? own_addend(p, place, exists) : 0.0;  // before anything is stored: C may lie there
  if constexpr (!kHasRecords<What>) {
    if (exists) store(column, round_scaled<T>(sum.integer, exponent));
  } else {
    const auto entry = rounded_entry<T, What>(p, sum, exponent, shared.record[row], shared.record[kRows + column], addend);
    if (exists && (What != Makes::update || (entry.is_certified && !is_special))) store(column, entry.value);
    const bool is_listed = exists && !entry.is_certified && !is_special;
    const std::uint32_t word = __ballot_sync(0xFFFFFFFFu, is_listed);
    const Listed& listed = p.certification.listed;
    if (column == 0 && row < a.lines && listed.word != nullptr) {
      std::uint32_t* words = listed_words(listed, place.matrix, place.first_row + row) + tile_x;
      words[0] = word;
      if (tile_x + 1 == p.tiles_x && p.tiles_x % 2 != 0) words[1] = 0;  // rows have an even number of words
      if (word != 0) atomicAdd(&listed.counts->listed, static_cast<unsigned long long>(__popc(word)));
    }
  }
  const std::uint32_t flags = column < b.lines ? own_column.special : kFinite;
  if (row >= a.lines || !__any_sync(0xFFFFFFFFu, (own_row.special | flags) != kFinite)) return;
  patch_row<1>(
      job, place, lines, row, own_row.special, [&](int e) { return shared.line[kRows + e].special; }, b.lines,
      [column](int) { return column; }, [&](int e, double value) {  // e is this thread's, and so is the addend
        store(e, static_cast<T>(What == Makes::update ? special_update(p.update.factors, value, addend) : value));
      });
}

}  // namespace ozfp4::cuda::direct
