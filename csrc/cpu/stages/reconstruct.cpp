#include "cpu/stages/reconstruct.hpp"

#include <algorithm>

#include "cpu/runtime/threads.hpp"
#include "cpu/stages/integers.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kEntryGrain = 8192;

template <class T, int Words>
void reconstruct_block(const Integers<Words>& integers, const std::int32_t* shift_a, const std::int32_t* shift_b,
                       const ResultView& result) {
  const std::int64_t grain = std::max<std::int64_t>(1, kEntryGrain / result.columns);
  parallel_for(result.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int32_t exponent[kLanes];
    T rounded[kLanes];
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t column = 0; column < result.columns; column += kLanes) {
        const int n = static_cast<int>(std::min<std::int64_t>(kLanes, result.columns - column));
        for (int i = 0; i < n; ++i) exponent[i] = -(shift_a[row] + shift_b[column + i]);
        integers.round(row * result.columns + column, n, exponent, rounded);
        char* address = result.data + row * result.row_stride + column * result.column_stride;
        for (int i = 0; i < n; ++i) store(address + i * result.column_stride, rounded[i]);
      }
    }
  });
}

template <int Words>
void reconstruct_typed(const Plan& plan, int count, const void* output, const std::int32_t* shift_a, const std::int32_t* shift_b,
                       const ResultView& result) {
  const Integers<Words> integers(plan, count, output, result.rows * result.columns);
  with_float(result.type, [&](auto zero) { reconstruct_block<decltype(zero)>(integers, shift_a, shift_b, result); });
}

template <int Words>
void extract_integers(const Plan& plan, int count, const void* output, std::int64_t entries, std::uint32_t* words) {
  const Integers<Words> integers(plan, count, output, entries);
  for (std::int64_t i = 0; i < entries; ++i) {
    const WideInt<Words> x = integers.one(i);
    std::copy_n(x.word, Words, words + i * Words);
  }
}

}  // namespace

void cpu_reconstruct(const Plan& plan, int count, const void* output, const std::int32_t* shift_a, const std::int32_t* shift_b,
                     const ResultView& result) {
  if (result.rows == 0 || result.columns == 0) return;
  dispatch_words(crt_words(plan, count),
                 [&](auto words) { reconstruct_typed<words()>(plan, count, output, shift_a, shift_b, result); });
}

int integer_words(const Plan& plan, int count) { return crt_words(plan, count); }

void cpu_reconstruct_integers(const Plan& plan, int count, const void* output, std::int64_t entries, std::uint32_t* words) {
  dispatch_words(crt_words(plan, count), [&](auto own) { extract_integers<own()>(plan, count, output, entries, words); });
}

}  // namespace ozfp4
