// The entries: digits of all parts added up, rounded, certified where that is asked for, specials patched.
#pragma once

#include "cuda/dependent_launch.cuh"
#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/thin/arguments.cuh"
#include "cuda/thin/balanced_limbs.hpp"

namespace ozfp4::cuda::thin {

inline constexpr int kFinishThreads = 128;

struct FinishArguments {
  ReconstructJob job;  // without residues
  Certification certification;
  const std::uint32_t* digits;
  std::int64_t part_words;
  std::int32_t parts, few_padded, few_shift;  // 2^few_shift = few_padded
  bool many_is_a;
};

// The first row and column of a warp's entries.
struct WarpPlace {
  std::int32_t matrix, first_row, first_column;
};

__device__ __forceinline__ WideInt<kDigitWords> sum_parts(const FinishArguments& p, std::int64_t entry) {
  std::int64_t digit[kSumDigits] = {};
  const uint4* data = reinterpret_cast<const uint4*>(p.digits + entry * kDigitPitch);
#pragma unroll 4
  for (std::int32_t part = 0; part < p.parts; ++part, data += p.part_words / 4) {
    const uint4 low = data[0], high = data[1];
    digit[0] += low.x, digit[1] += low.y, digit[2] += low.z, digit[3] += low.w;
    digit[4] += high.x, digit[5] += high.y, digit[6] += static_cast<std::int32_t>(high.z);
  }
  return value_of_digits(digit);
}

// A warp's entries of several rows of few columns, or of one row of 32 columns.
template <class T, bool Certifies>
__global__ void __launch_bounds__(kFinishThreads, 1) finish_kernel(const __grid_constant__ FinishArguments p) {
#if OZFP4_IS_THIN_CODE
  let_next_kernel_start();
  wait_for_previous_kernel();
  const ReconstructJob& job = p.job;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::uint32_t warp = blockIdx.x * (kFinishThreads / 32) + threadIdx.x / 32;
  const auto many = static_cast<std::uint32_t>(p.many_is_a ? job.result.rows : job.result.columns);
  std::int32_t row, column;  // of this lane, from the warp's first on
  WarpPlace place{static_cast<std::int32_t>(blockIdx.y), 0, 0};
  if (p.many_is_a) {
    if (warp << (5 - p.few_shift) >= many) return;
    place.first_row = static_cast<std::int32_t>(warp << (5 - p.few_shift));
    row = lane >> p.few_shift, column = lane & (p.few_padded - 1);
  } else {
    const std::uint32_t words = (many + 31) / 32;
    if (warp >= words * static_cast<std::uint32_t>(job.result.rows)) return;
    place.first_row = static_cast<std::int32_t>(warp / words);
    place.first_column = static_cast<std::int32_t>(warp % words) * 32;
    row = 0, column = lane;
  }
  const Lines lines(job, place);
  const bool exists = place.first_row + row < job.result.rows && place.first_column + column < job.result.columns;
  char* target = job.result.data + lines.result_offset + place.first_row * job.result.row_stride +
                 place.first_column * job.result.column_stride;
  const auto store = [&](std::int32_t r, std::int32_t c, T value) {
    *reinterpret_cast<T*>(target + r * job.result.row_stride + c * job.result.column_stride) = value;
  };
  const std::int64_t line_a = lines.a + row, line_b = lines.b + column;
  const std::uint32_t flags = exists ? flags_of(job.a, line_a) | flags_of(job.b, line_b) : 0u;
  bool is_listed = false;
  if (exists) {
    const std::int64_t of_many =
        std::int64_t(place.matrix) * many + (p.many_is_a ? place.first_row + row : place.first_column + column);
    const std::int32_t of_few = p.many_is_a ? column : place.first_row;
    const WideInt<kDigitWords> integer = sum_parts(p, of_many * p.few_padded + of_few);
    const std::int32_t exponent = -job.a.shift[line_a] - job.b.shift[line_b];
    if constexpr (Certifies) {
      const auto entry =
          certify_entry<T>(p.certification, integer, exponent, job.a.record[line_a], job.b.record[line_b], job.a.view.inner);
      store(row, column, entry.value);
      is_listed = !entry.is_certified && flags == kFinite;
    } else {
      store(row, column, round_scaled<T>(integer, exponent));
    }
  }
  if constexpr (Certifies) {
    const std::uint32_t ballot = __ballot_sync(0xFFFFFFFFu, is_listed);
    const Listed& listed = p.certification.listed;
    if (column == 0 && exists && listed.word != nullptr) {
      const std::uint32_t mask = p.many_is_a ? (1u << p.few_padded) - 1 : 0xFFFFFFFFu, word = (ballot >> lane) & mask;
      std::uint32_t* words = listed_words(listed, place.matrix, place.first_row + row) + place.first_column / 32;
      words[0] = word;
      // Rows have an even number of words.
      if (place.first_column + 32 >= job.result.columns && place.first_column / 32 % 2 == 0) words[1] = 0;
      if (word != 0) atomicAdd(&listed.counts->listed, static_cast<unsigned long long>(__popc(word)));
    }
  }
  if (!__any_sync(0xFFFFFFFFu, flags != kFinite)) return;
  __syncwarp();  // special entries are stored by other lanes than those that stored there before
  const std::int32_t rows = p.many_is_a ? min(32 >> p.few_shift, job.result.rows - place.first_row) : 1;
  const std::int32_t columns = min(32, job.result.columns - place.first_column);
#pragma unroll 1
  for (std::int32_t r = 0; r < rows; ++r) {
    patch_row<1>(
        job, place, lines, r, flags_of(job.a, lines.a + r), [&](int e) { return flags_of(job.b, lines.b + e); }, columns,
        [lane](int) { return lane; }, [&](int e, double value) { store(r, e, static_cast<T>(value)); });
  }
#endif
}

}  // namespace ozfp4::cuda::thin
