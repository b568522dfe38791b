#include <algorithm>

#include "arith/crt.hpp"
#include "arith/round_pieces.hpp"
#include "arith/round_wide.hpp"
#include "arith/wide_int.hpp"
#include "plan/crt_constants.hpp"
#include "reconstruct/reconstruct.hpp"
#include "runtime/parallel.hpp"
#include "runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

constexpr int kLanes = 64;  // entries that one pass of the loops below takes
constexpr std::int64_t kEntryGrain = 8192;

// ---- Loops over entries: written for one entry, vectorised over them -------------------------------------------------

using Columns = std::uint64_t[8][kLanes];

template <int Words, class Residue>
inline void add_columns_impl(const Residue* residues, int n, const WideInt<Words>& weight, Columns& column) {
  for (int k = 0; k < Words; ++k) {
    const std::uint64_t w = weight.word[k];
    for (int i = 0; i < n; ++i) column[k][i] += residues[i] * w;
  }
}

template <int Words>
inline WideInt<Words> integer_of_lane(const Columns& column, int lane, const CrtConstants<Words>& constants) {
  std::uint64_t own[Words];
  for (int k = 0; k < Words; ++k) own[k] = column[k][lane];
  return crt_from_columns(own, constants);
}

template <class T, int Words>
inline void round_columns_impl(const Columns& column, int n, const CrtConstants<Words>& constants, const std::int32_t* exponent,
                               T* result) {
  for (int i = 0; i < n; ++i) result[i] = round_scaled<T>(integer_of_lane(column, i, constants), exponent[i]);
}

// The same by the cheaper functions of arith/; false where they cannot vouch for every entry, and the results are void.
OZFP4_VECTORISED bool round_columns_fast(const Columns& column, int n, const CrtConstants<5>& constants,
                                         const std::int32_t* exponent, double* result) {
  std::int64_t refused = 0;  // as wide as what the loop computes, so that it vectorises
  for (int i = 0; i < n; ++i) {
    const std::uint64_t own[5] = {column[0][i], column[1][i], column[2][i], column[3][i], column[4][i]};
    bool is_uncertain = false;
    const WideInt<5> x = crt_without_correction(own, constants, is_uncertain);
    const bool is_out = exponent[i] < kLeastPieceExponent || exponent[i] > kMostPieceExponent;
    refused |= static_cast<std::int64_t>(is_uncertain) | static_cast<std::int64_t>(is_out);
    result[i] = round_pieces(x, exponent[i]);
  }
  return refused == 0;
}

// A function per type and width, because GCC clones functions but not templates.
#define OZFP4_ROUND_COLUMNS(T, Words)                                                                     \
  OZFP4_VECTORISED void round_columns(const Columns& column, int n, const CrtConstants<Words>& constants, \
                                      const std::int32_t* exponent, T* result) {                          \
    round_columns_impl(column, n, constants, exponent, result);                                           \
  }
#define OZFP4_ADD_COLUMNS(Residue, Words)                                                                            \
  OZFP4_VECTORISED void add_columns(const Residue* residues, int n, const WideInt<Words>& weight, Columns& column) { \
    add_columns_impl(residues, n, weight, column);                                                                   \
  }
OZFP4_ROUND_COLUMNS(double, 5)
OZFP4_ROUND_COLUMNS(double, 6)
OZFP4_ROUND_COLUMNS(double, 8)
OZFP4_ROUND_COLUMNS(float, 5)
OZFP4_ROUND_COLUMNS(float, 6)
OZFP4_ROUND_COLUMNS(float, 8)
OZFP4_ADD_COLUMNS(std::uint8_t, 5)
OZFP4_ADD_COLUMNS(std::uint8_t, 6)
OZFP4_ADD_COLUMNS(std::uint8_t, 8)
OZFP4_ADD_COLUMNS(std::uint32_t, 5)
OZFP4_ADD_COLUMNS(std::uint32_t, 6)
OZFP4_ADD_COLUMNS(std::uint32_t, 8)
#undef OZFP4_ROUND_COLUMNS
#undef OZFP4_ADD_COLUMNS

// Horner's rule over the digit groups, highest first. Range: the result fits 160 bits; intermediate values may wrap.
template <int Words>
WideInt<Words> positional(std::uint32_t base, int groups, const std::int64_t* sums, std::int64_t pitch) {
  WideInt<Words> x = wide_zero<Words>();
  for (int g = groups - 1; g >= 0; --g) x = wide_add(wide_mul_small(x, base), wide_from<Words>(sums[g * pitch]));
  return x;
}

// What multiply left for one block, group-major, and how to turn it into integers.
template <int Words>
class Integers {
 public:
  Integers(const Plan& plan, int count, const void* output, std::int64_t entries)
      : plan_(plan), count_(count), output_(output), entries_(entries) {
    if (plan.has_moduli()) constants_ = make_crt_constants<Words>(plan, count);
  }

  // Column sums of the entries [first, first + n), n <= kLanes.
  void columns(std::int64_t first, int n, Columns& column) const {
    for (int k = 0; k < Words; ++k) std::fill_n(column[k], n, 0);
    for (int g = 0; g < count_; ++g) {
      const std::int64_t at = g * entries_ + first;
      if (output_type(plan_) == OutputType::residue8) {
        add_columns(static_cast<const std::uint8_t*>(output_) + at, n, constants_.weight[g], column);
      } else {
        add_columns(static_cast<const std::uint32_t*>(output_) + at, n, constants_.weight[g], column);
      }
    }
  }

  // Entries [first, first + n) as FP numbers of the given exponents.
  template <class T>
  void round(std::int64_t first, int n, const std::int32_t* exponent, T* result) const {
    if (plan_.has_moduli()) {
      Columns column;
      columns(first, n, column);
      if constexpr (Words == 5 && sizeof(T) == 8) {
        if (round_columns_fast(column, n, constants_, exponent, result)) return;
      }
      round_columns(column, n, constants_, exponent, result);
    } else {
      for (int i = 0; i < n; ++i) result[i] = round_scaled<T>(sum(first + i), exponent[i]);
    }
  }

  WideInt<Words> one(std::int64_t entry) const {
    if (!plan_.has_moduli()) return sum(entry);
    Columns column;
    columns(entry, 1, column);
    return integer_of_lane(column, 0, constants_);
  }

 private:
  WideInt<Words> sum(std::int64_t entry) const {
    return positional<Words>(static_cast<std::uint32_t>(plan_.base), static_cast<int>(plan_.groups.size()),
                             static_cast<const std::int64_t*>(output_) + entry, entries_);
  }

  const Plan& plan_;
  int count_;
  const void* output_;
  std::int64_t entries_;
  CrtConstants<Words> constants_{};
};

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
  if (result.type == ElementType::float64) {
    reconstruct_block<double>(integers, shift_a, shift_b, result);
  } else {
    reconstruct_block<float>(integers, shift_a, shift_b, result);
  }
}

template <int Words>
void extract_integers(const Plan& plan, int count, const void* output, std::int64_t entries, std::uint32_t* words) {
  const Integers<Words> integers(plan, count, output, entries);
  const int width = integer_words(plan);
  for (std::int64_t i = 0; i < entries; ++i) {
    const WideInt<Words> x = integers.one(i);
    const std::uint32_t sign = wide_is_negative(x) ? 0xffffffffu : 0u;
    for (int k = 0; k < width; ++k) words[i * width + k] = k < Words ? x.word[k] : sign;
  }
}

}  // namespace

void cpu_reconstruct(const Plan& plan, int count, const void* output, const std::int32_t* shift_a, const std::int32_t* shift_b,
                     const ResultView& result) {
  if (result.rows == 0 || result.columns == 0) return;
  switch (crt_words(plan, count)) {
    case 5: return reconstruct_typed<5>(plan, count, output, shift_a, shift_b, result);
    case 6: return reconstruct_typed<6>(plan, count, output, shift_a, shift_b, result);
    default: return reconstruct_typed<8>(plan, count, output, shift_a, shift_b, result);
  }
}

int integer_words(const Plan& plan) { return crt_words(plan, static_cast<int>(plan.groups.size())); }

void cpu_reconstruct_integers(const Plan& plan, int count, const void* output, std::int64_t entries, std::uint32_t* words) {
  switch (crt_words(plan, count)) {
    case 5: return extract_integers<5>(plan, count, output, entries, words);
    case 6: return extract_integers<6>(plan, count, output, entries, words);
    default: return extract_integers<8>(plan, count, output, entries, words);
  }
}

}  // namespace ozfp4
