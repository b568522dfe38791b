#include "cpu/stages/reconstruct.hpp"

#include <algorithm>

#include "cpu/stages/integers.hpp"
#include "cpu/stages/round_block.hpp"

namespace ozfp4 {
namespace {

template <int Words>
void reconstruct_typed(const Plan& plan, int count, const void* output, const std::int32_t* shift_a, const std::int32_t* shift_b,
                       const ResultView& result) {
  const Integers<Words> integers(plan, count, output, result.rows, result.columns);
  with_float(result.type, [&](auto zero) { round_block<decltype(zero)>(integers, shift_a, shift_b, result); });
}

template <int Words>
void extract_integers(const Plan& plan, int count, const void* output, std::int64_t entries, std::uint32_t* words) {
  const Integers<Words> integers(plan, count, output, 1, entries);
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
