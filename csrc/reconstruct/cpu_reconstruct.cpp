#include "arith/crt.hpp"
#include "arith/round_wide.hpp"
#include "arith/wide_int.hpp"
#include "plan/crt_constants.hpp"
#include "reconstruct/reconstruct.hpp"
#include "runtime/parallel.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kEntryGrain = 4000;

// Horner's rule over the digit groups, highest first. Range: the result fits 160 bits; intermediate values may wrap.
template <int Words>
WideInt<Words> positional(std::uint32_t base, int groups, const std::int64_t* sums, std::int64_t pitch) {
  WideInt<Words> x = wide_zero<Words>();
  for (int g = groups - 1; g >= 0; --g) x = wide_add(wide_mul_small(x, base), wide_from<Words>(sums[g * pitch]));
  return x;
}

// Calls use(i, integer) for the entries [begin, end) of the block.
template <int Words, class Use>
inline void for_each_integer(const Plan& plan, const CrtConstants<Words>& constants, const void* output, std::int64_t entries,
                             std::int64_t begin, std::int64_t end, Use use) {
  switch (output_type(plan)) {
    case OutputType::residue8:
      for (std::int64_t i = begin; i < end; ++i) {
        const auto* residues = static_cast<const std::uint8_t*>(output) + i;
        use(i, crt(constants, [&](int g) { return static_cast<std::uint64_t>(residues[g * entries]); }));
      }
      return;
    case OutputType::residue32:
      for (std::int64_t i = begin; i < end; ++i) {
        const auto* residues = static_cast<const std::uint32_t*>(output) + i;
        use(i, crt(constants, [&](int g) { return static_cast<std::uint64_t>(residues[g * entries]); }));
      }
      return;
    case OutputType::sum64:
      for (std::int64_t i = begin; i < end; ++i) {
        use(i, positional<Words>(static_cast<std::uint32_t>(plan.base), static_cast<int>(plan.groups.size()),
                                 static_cast<const std::int64_t*>(output) + i, entries));
      }
  }
}

template <class T, int Words>
void reconstruct_block(const Plan& plan, int count, const void* output, const std::int32_t* shift_a, const std::int32_t* shift_b,
                       const ResultView& result) {
  const CrtConstants<Words> constants = plan.has_moduli() ? make_crt_constants<Words>(plan, count) : CrtConstants<Words>{};
  const std::int64_t columns = result.columns, entries = result.rows * columns;
  parallel_for(entries, kEntryGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t row = begin / columns, column = begin % columns;
    for_each_integer<Words>(plan, constants, output, entries, begin, end, [&](std::int64_t, const WideInt<Words>& x) {
      store(result.data + row * result.row_stride + column * result.column_stride,
            round_scaled<T>(x, -(shift_a[row] + shift_b[column])));
      if (++column == columns) {
        column = 0;
        ++row;
      }
    });
  });
}

template <class T>
void reconstruct_words(const Plan& plan, int count, const void* output, const std::int32_t* shift_a, const std::int32_t* shift_b,
                       const ResultView& result) {
  switch (crt_words(plan, count)) {
    case 5: return reconstruct_block<T, 5>(plan, count, output, shift_a, shift_b, result);
    case 6: return reconstruct_block<T, 6>(plan, count, output, shift_a, shift_b, result);
    default: return reconstruct_block<T, 8>(plan, count, output, shift_a, shift_b, result);
  }
}

}  // namespace

void cpu_reconstruct(const Plan& plan, int count, const void* output, const std::int32_t* shift_a, const std::int32_t* shift_b,
                     const ResultView& result) {
  if (result.rows == 0 || result.columns == 0) return;
  if (result.type == ElementType::float64) {
    reconstruct_words<double>(plan, count, output, shift_a, shift_b, result);
  } else {
    reconstruct_words<float>(plan, count, output, shift_a, shift_b, result);
  }
}

int integer_words(const Plan& plan) { return crt_words(plan, static_cast<int>(plan.groups.size())); }

namespace {

template <int Words>
void reconstruct_integers(const Plan& plan, int count, const void* output, std::int64_t entries, std::uint32_t* words) {
  const CrtConstants<Words> constants = plan.has_moduli() ? make_crt_constants<Words>(plan, count) : CrtConstants<Words>{};
  const int width = integer_words(plan);
  for_each_integer<Words>(plan, constants, output, entries, 0, entries, [&](std::int64_t i, const WideInt<Words>& x) {
    const std::uint32_t sign = wide_is_negative(x) ? 0xffffffffu : 0u;
    for (int k = 0; k < width; ++k) words[i * width + k] = k < Words ? x.word[k] : sign;
  });
}

}  // namespace

void cpu_reconstruct_integers(const Plan& plan, int count, const void* output, std::int64_t entries, std::uint32_t* words) {
  switch (crt_words(plan, count)) {
    case 5: return reconstruct_integers<5>(plan, count, output, entries, words);
    case 6: return reconstruct_integers<6>(plan, count, output, entries, words);
    default: return reconstruct_integers<8>(plan, count, output, entries, words);
  }
}

}  // namespace ozfp4
