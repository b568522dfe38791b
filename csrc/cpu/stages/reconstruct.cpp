#include "cpu/stages/reconstruct.hpp"

#include <algorithm>

#include "arith/wide/crt.hpp"
#include "arith/wide/round_pieces.hpp"
#include "arith/wide/round_wide.hpp"
#include "arith/wide/wide_int.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"
#include "plan/moduli/crt_constants.hpp"

namespace ozfp4 {
namespace {

constexpr int kLanes = 64;  // entries that one pass of the loops below takes
constexpr std::int64_t kEntryGrain = 8192;

// ---- Loops over entries: written for one entry, vectorised over them -------------------------------------------------

template <int Words>
using Columns = std::uint64_t[Words][kLanes];

template <int Words, class Residue>
inline void add_columns_impl(const Residue* residues, int n, const WideInt<Words>& weight, Columns<Words>& column) {
  for (int k = 0; k < Words; ++k) {
    const std::uint64_t w = weight.word[k];
    for (int i = 0; i < n; ++i) column[k][i] += residues[i] * w;
  }
}

template <int Words>
inline WideInt<Words> integer_of_lane(const Columns<Words>& column, int lane, const CrtProduct<Words>& product) {
  std::uint64_t own[Words];
  for (int k = 0; k < Words; ++k) own[k] = column[k][lane];
  return crt_from_columns(own, product);
}

template <class T, int Words>
inline void round_columns_impl(const Columns<Words>& column, int n, const CrtProduct<Words>& product,
                               const std::int32_t* exponent, T* result) {
  for (int i = 0; i < n; ++i) result[i] = round_scaled<T>(integer_of_lane(column, i, product), exponent[i]);
}

// The same by the cheaper functions of arith/; false where they cannot vouch for every entry, and the results are void.
OZFP4_VECTORISED bool round_columns_fast(const Columns<5>& column, int n, const CrtProduct<5>& product,
                                         const std::int32_t* exponent, double* result) {
  std::int64_t refused = 0;  // as wide as what the loop computes, so that it vectorises
  for (int i = 0; i < n; ++i) {
    const std::uint64_t own[5] = {column[0][i], column[1][i], column[2][i], column[3][i], column[4][i]};
    bool is_uncertain = false;
    const WideInt<5> x = crt_without_correction(own, product, is_uncertain);
    const bool is_out = exponent[i] < kLeastPieceExponent || exponent[i] > kMostPieceExponent;
    refused |= static_cast<std::int64_t>(is_uncertain) | static_cast<std::int64_t>(is_out);
    result[i] = round_pieces(x, exponent[i]);
  }
  return refused == 0;
}

// A function per type and width, because GCC clones functions but not templates. The long ones are clones as well: a plan of
// many moduli spends more time here than any other.
#define OZFP4_ROUND_COLUMNS(T, Words)                                                                        \
  OZFP4_VECTORISED void round_columns(const Columns<Words>& column, int n, const CrtProduct<Words>& product, \
                                      const std::int32_t* exponent, T* result) {                             \
    round_columns_impl(column, n, product, exponent, result);                                                \
  }
#define OZFP4_ADD_COLUMNS(Residue, Words)                                                                                   \
  OZFP4_VECTORISED void add_columns(const Residue* residues, int n, const WideInt<Words>& weight, Columns<Words>& column) { \
    add_columns_impl(residues, n, weight, column);                                                                          \
  }
#define OZFP4_LOOPS(Words)               \
  OZFP4_ROUND_COLUMNS(double, Words)     \
  OZFP4_ROUND_COLUMNS(float, Words)      \
  OZFP4_ADD_COLUMNS(std::uint8_t, Words) \
  OZFP4_ADD_COLUMNS(std::uint32_t, Words)
OZFP4_WORD_COUNTS(OZFP4_LOOPS)
#undef OZFP4_LOOPS
#undef OZFP4_ROUND_COLUMNS
#undef OZFP4_ADD_COLUMNS

// Horner's rule over the digit groups, highest first. Range: the result fits the words; intermediate values may wrap.
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
    if (plan.has_moduli()) constants_ = make_crt_constants<Words>(first_moduli(plan, count));
  }

  // Column sums of the entries [first, first + n), n <= kLanes.
  void columns(std::int64_t first, int n, Columns<Words>& column) const {
    for (int k = 0; k < Words; ++k) std::fill_n(column[k], n, 0);
    for (int g = 0; g < count_; ++g) {
      const WideInt<Words>& weight = constants_.weight[static_cast<std::size_t>(g)];
      const std::int64_t at = g * entries_ + first;
      if (output_type(plan_) == OutputType::residue8) {
        add_columns(static_cast<const std::uint8_t*>(output_) + at, n, weight, column);
      } else {
        add_columns(static_cast<const std::uint32_t*>(output_) + at, n, weight, column);
      }
    }
  }

  // Entries [first, first + n) as FP numbers of the given exponents.
  template <class T>
  void round(std::int64_t first, int n, const std::int32_t* exponent, T* result) const {
    if (plan_.has_moduli()) {
      Columns<Words> column;
      columns(first, n, column);
      if constexpr (Words == 5 && sizeof(T) == 8) {
        if (round_columns_fast(column, n, constants_.product, exponent, result)) return;
      }
      round_columns(column, n, constants_.product, exponent, result);
    } else {
      for (int i = 0; i < n; ++i) result[i] = round_scaled<T>(sum(first + i), exponent[i]);
    }
  }

  WideInt<Words> one(std::int64_t entry) const {
    if (!plan_.has_moduli()) return sum(entry);
    Columns<Words> column;
    columns(entry, 1, column);
    return integer_of_lane(column, 0, constants_.product);
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
