#include "cpu/direct/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <type_traits>

#include "cpu/gemm/panel.hpp"
#include "cpu/integers/scale.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// The panels of a task lie in the second-level cache.
constexpr std::int64_t kTaskRows = 64, kTaskColumns = 256;
// A block's panels lie in the last-level cache.
constexpr std::int64_t kBlockSide = 2048, kBlockInner = 512;
// Less is not worth a thread.
constexpr std::int64_t kPackGrain = 20000, kMultiplyGrain = 1 << 20, kLineGrain = 1 << 17;
constexpr std::int64_t kRowsTogether = 8;  // rows that are read at once where A is stored by columns: a cache line of its columns
// Fewer groups of lines than this are cut along K instead.
constexpr std::int64_t kFewGroups = 16;

// result (+)= the sums of a tile. Words of 32 bits are signed where the result is longer, which they then hold exactly.
template <class T, class Word>
void store_tile(const Word* sums, const ResultView& result, std::int64_t row, std::int64_t column, bool accumulate) {
  const std::int64_t rows = std::min(kSumRows, result.rows - row);
  const std::int64_t columns = std::min(kSumColumns, result.columns - column);
  for (std::int64_t i = 0; i < rows; ++i) {
    char* address = result.at(row + i, column);
    for (std::int64_t j = 0; j < columns; ++j, address += result.column_stride) {
      std::uint64_t sum = static_cast<std::uint64_t>(static_cast<std::make_signed_t<Word>>(sums[i * kSumColumns + j]));
      if (accumulate) sum += static_cast<std::uint64_t>(load<T>(address));
      store(address, static_cast<T>(sum));
    }
  }
}

// The largest block with panels of `cap` bytes or less; nothing where those of one tile are larger. Precondition: extents >= 1.
std::optional<DirectShape> choose_direct_shape(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t word_bytes,
                                               std::int64_t cap) {
  DirectShape shape{std::min(m, kBlockSide), std::min(n, kBlockSide), std::min(k, kBlockInner), word_bytes};
  while (shape.bytes() > cap) {
    const bool is_tall = shape.padded_rows() > shape.padded_columns(), is_narrow = shape.padded_columns() == kSumColumns;
    if (!is_narrow || shape.padded_rows() > kSumRows) {
      std::int64_t& longer = is_tall || is_narrow ? shape.rows : shape.columns;
      longer = ceil_div(longer, 2);
    } else if (shape.inners > 1) {
      shape.inners = ceil_div(shape.inners, 2);
    } else {
      return std::nullopt;
    }
  }
  return shape;
}

template <class Word>
class DirectProduct {
 public:
  DirectProduct(const OperandView& a, const OperandView& b, const ResultView& result, const DirectShape& shape, char* memory,
                StageTimes& times)
      : a_(a), b_(b), result_(result), times_(times), panels_a_(reinterpret_cast<Word*>(memory)) {
    panels_b_ = panels_a_ + shape.padded_rows() * shape.inners;
  }

  // The block's part of the product, added to what is there unless it is the first along K.
  void run(std::int64_t row, std::int64_t column, std::int64_t inner, const DirectShape& block) {
    {
      const StageTimer timer(times_, &StageTimes::encode);
      write_panels(row, column, inner, block);
    }
    const StageTimer timer(times_, &StageTimes::multiply);
    const std::int64_t tasks_down = ceil_div(block.rows, kTaskRows), tasks_across = ceil_div(block.columns, kTaskColumns);
    const std::int64_t grain =
        kMultiplyGrain / (std::min(block.rows, kTaskRows) * std::min(block.columns, kTaskColumns) * block.inners) + 1;
    parallel_for(tasks_down * tasks_across, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t own_row = task / tasks_across * kTaskRows, own_column = task % tasks_across * kTaskColumns;
        with_integer(result_.type,
                     [&](auto zero) { multiply_task<decltype(zero)>(own_row, own_column, row, column, inner > 0, block); });
      }
    });
  }

 private:
  // Rows of A as they are, [row][k], and columns of B as panels; in one loop, of as many parts as there are lines.
  void write_panels(std::int64_t row, std::int64_t column, std::int64_t inner, const DirectShape& block) {
    const std::int64_t rows = block.padded_rows();
    const auto group = [&](std::int64_t line) { return ceil_div(std::min(line, rows), kRowsTogether); };
    const auto panel = [&](std::int64_t line) { return ceil_div(std::max<std::int64_t>(line - rows, 0), kSumColumns); };
    parallel_for(rows + block.padded_columns(), ceil_div(kPackGrain, block.inners), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = group(begin); i < group(end); ++i) write_rows(row, i * kRowsTogether, inner, block);
      for (std::int64_t j = panel(begin); j < panel(end); ++j) write_columns(column, j * kSumColumns, inner, block);
    });
  }

  void write_rows(std::int64_t row, std::int64_t first, std::int64_t inner, const DirectShape& block) {
    const std::int64_t count = std::min(kRowsTogether, block.padded_rows() - first), k = block.inners;
    const std::int64_t own = std::clamp<std::int64_t>(block.rows - first, 0, count);
    Word* const out = panels_a_ + first * k;
    std::fill_n(out + own * k, (count - own) * k, Word(0));
    const char* const origin = a_.at(row + first, inner);
    with_integer(a_.type, [&](auto zero) {
      const auto put = [&](std::int64_t i, std::int64_t p) {
        out[i * k + p] = static_cast<Word>(load<decltype(zero)>(origin + i * a_.outer_stride + p * a_.inner_stride));
      };
      if (std::abs(a_.inner_stride) > std::abs(a_.outer_stride)) {
        for (std::int64_t p = 0; p < k; ++p) {
          for (std::int64_t i = 0; i < own; ++i) put(i, p);
        }
      } else {
        for (std::int64_t i = 0; i < own; ++i) {
          for (std::int64_t p = 0; p < k; ++p) put(i, p);
        }
      }
    });
  }

  void write_columns(std::int64_t column, std::int64_t first, std::int64_t inner, const DirectShape& block) {
    with_integer(b_.type, [&](auto zero) {
      write_panel<decltype(zero), kSumColumns>(b_, column + first, std::min(kSumColumns, block.columns - first), inner,
                                               block.inners, panels_b_ + first * block.inners,
                                               [](auto x) { return static_cast<Word>(x); });
    });
  }

  // The tiles of a task, column by column: each panel of B is read from the last-level cache once.
  template <class T>
  void multiply_task(std::int64_t own_row, std::int64_t own_column, std::int64_t row, std::int64_t column, bool accumulate,
                     const DirectShape& block) {
    const ResultView part = result_.part({row, block.rows, column, block.columns});
    Word sums[kSumRows * kSumColumns];
    for (std::int64_t j = own_column; j < std::min(own_column + kTaskColumns, block.columns); j += kSumColumns) {
      for (std::int64_t i = own_row; i < std::min(own_row + kTaskRows, block.rows); i += kSumRows) {
        sum_products(panels_a_ + i * block.inners, block.inners, panels_b_ + j * block.inners, block.inners, sums, kSumColumns);
        store_tile<T>(sums, part, i, j, accumulate);
      }
    }
  }

  const OperandView &a_, &b_;
  const ResultView& result_;
  StageTimes& times_;
  Word *panels_a_, *panels_b_;
};

// ---- Products of which one side is a single line: every entry of the other side is read once, and nothing is packed ----------

// Entries lie side by side from `x` on, at any address.
template <class T, class Word>
inline Word dot_impl(const char* x, const Word* y, std::int64_t n) {
  Word sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += static_cast<Word>(load<T>(x + i * static_cast<std::int64_t>(sizeof(T)))) * y[i];
  }
  return sum;
}

// A function per pair of types, because GCC clones functions but not templates.
#define OZFP4_DOT(T)                                                                                                            \
  OZFP4_VECTORISED std::uint32_t dot(T, const char* x, const std::uint32_t* y, std::int64_t n) { return dot_impl<T>(x, y, n); } \
  OZFP4_VECTORISED std::uint64_t dot(T, const char* x, const std::uint64_t* y, std::int64_t n) { return dot_impl<T>(x, y, n); }
OZFP4_DOT(std::int8_t)
OZFP4_DOT(std::uint8_t)
OZFP4_DOT(std::int16_t)
OZFP4_DOT(std::uint16_t)
OZFP4_DOT(std::int32_t)
OZFP4_DOT(std::uint32_t)
OZFP4_DOT(std::int64_t)
OZFP4_DOT(std::uint64_t)
#undef OZFP4_DOT

// sums[o] += the products of up to kTileOuter lines from `outer` on with the vector, from `begin` to `end` along K.
template <class T, class Word>
void add_products(const OperandView& lines, const OperandView& vector, std::int64_t outer, std::int64_t outers,
                  std::int64_t begin, std::int64_t end, Word* sums) {
  const bool is_dense = lines.inner_stride == static_cast<std::ptrdiff_t>(sizeof(T));
  T tile[kTileOuter * kTilePitch];
  Word y[kTileInner];
  for (std::int64_t k = begin; k < end; k += kTileInner) {
    const std::int64_t n = std::min(kTileInner, end - k);
    with_integer(vector.type, [&](auto zero) {
      const char* origin = vector.data + k * vector.inner_stride;
      for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Word>(load<decltype(zero)>(origin + i * vector.inner_stride));
    });
    if (!is_dense) load_tile(lines, outer, outers, k, n, tile);
    for (std::int64_t o = 0; o < outers; ++o) {
      const char* line = is_dense ? lines.at(outer + o, k) : reinterpret_cast<const char*>(tile + o * kTilePitch);
      sums[o] += dot(T(), line, y, n);
    }
  }
}

template <class Word>
void put_sums(const ResultView& result, std::int64_t outer, std::int64_t outers, const Word* sums) {
  with_integer(result.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t o = 0; o < outers; ++o) store(result.data + (outer + o) * result.row_stride, static_cast<T>(sums[o]));
  });
}

template <class T, class Word>
void multiply_vector_in(const OperandView& lines, const OperandView& vector, const ResultView& result) {
  const std::int64_t groups = ceil_div(lines.outer, kTileOuter);
  const auto outers_of = [&](std::int64_t group) { return std::min(kTileOuter, lines.outer - group * kTileOuter); };
  if (groups >= kFewGroups) {
    parallel_for(groups, kLineGrain / (kTileOuter * lines.inner) + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t group = begin; group < end; ++group) {
        Word sums[kTileOuter] = {};
        add_products<T>(lines, vector, group * kTileOuter, outers_of(group), 0, lines.inner, sums);
        put_sums(result, group * kTileOuter, outers_of(group), sums);
      }
    });
    return;
  }
  for (std::int64_t group = 0; group < groups; ++group) {
    Word sums[kTileOuter] = {};
    std::mutex of_sums;
    parallel_for(lines.inner, kLineGrain / outers_of(group), [&](std::int64_t begin, std::int64_t end) {
      Word own[kTileOuter] = {};
      add_products<T>(lines, vector, group * kTileOuter, outers_of(group), begin, end, own);
      const std::lock_guard lock(of_sums);
      for (std::int64_t o = 0; o < kTileOuter; ++o) sums[o] += own[o];
    });
    put_sums(result, group * kTileOuter, outers_of(group), sums);
  }
}

// result[i] = sum_k lines[i][k] vector[k] modulo 2^w of the result's type. Precondition: integer entries; a vector of one line,
// of the lines' inner extent; a result of one column, with a row for each line.
void multiply_vector(const OperandView& lines, const OperandView& vector, const ResultView& result) {
  with_integer(lines.type, [&](auto zero) {
    using T = decltype(zero);
    if (entry_bytes(result.type) <= 4) {
      multiply_vector_in<T, std::uint32_t>(lines, vector, result);
    } else {
      multiply_vector_in<T, std::uint64_t>(lines, vector, result);
    }
  });
}

// ---- All products -------------------------------------------------------------------------------------------------------------

// Every entry, exact in int64, modulo m. Precondition: m in [1, 2^63), a result of 64 bits.
void reduce_entries(const ResultView& result, std::uint64_t modulus) {
  const auto m = static_cast<std::int64_t>(modulus);
  parallel_for(result.rows, ceil_div(kPackGrain, result.columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      char* address = result.data + row * result.row_stride;
      for (std::int64_t j = 0; j < result.columns; ++j, address += result.column_stride) {
        const std::int64_t rest = load<std::int64_t>(address) % m;
        store(address, rest < 0 ? rest + m : rest);
      }
    }
  });
}

}  // namespace

DirectMatmul::DirectMatmul(const OperandView& a, const OperandView& b, const IntegerTarget& target, bool wants_exact)
    : m_(a.outer),
      n_(b.outer),
      k_(a.inner),
      bits_(8 * entry_bytes(target.result.type)),
      is_unsigned_(is_unsigned(target.result.type)),
      may_be_negative_(!is_unsigned(a.type) || !is_unsigned(b.type)),
      wants_exact_(wants_exact || target.modulus != 0),
      modulus_(target.modulus) {}

bool DirectMatmul::needs_norms() const { return !is_empty() && (wants_exact_ || (!is_thin() && bits_ > 32)); }

void DirectMatmul::look(const OperandView& a, const OperandView& b) {
  const DefaultFpMode mode;
  const StageTimer timer(outcome_.times, &StageTimes::scale);
  const IntegerNorms norms_a = cpu_integer_norms(a), norms_b = cpu_integer_norms(b);
  square_ = std::max(square_, norms_a.norm_squared * norms_b.norm_squared);
  outcome_.exponents.extend(norms_a.exponents);
  outcome_.exponents.extend(norms_b.exponents);
}

// Every C_ij and all partial sums. The bound's rounding is monotonic: it is below 2^(2 n) only where the exact one is.
bool DirectMatmul::holds(int bits) const { return square_ < std::ldexp(1.0, 2 * (bits - 1)); }

bool DirectMatmul::prepare(std::int64_t workspace_limit) {
  const bool is_known = is_empty() || needs_norms();
  outcome_.may_overflow = !is_known || !holds(bits_) || (is_unsigned_ && may_be_negative_ && square_ > 0);
  if (outcome_.may_overflow && wants_exact_) return false;
  const bool takes_32 = bits_ <= 32 || (holds(32) && (is_empty() || !is_thin()));
  outcome_.word_bits = takes_32 ? 32 : 64;
  outcome_.products = is_empty() ? 0 : 1;
  is_swapped_ = m_ < n_;  // the few lines are those of the second side
  if (is_empty()) return true;
  // A product without workspace is refused as the others are: either all blocks of a larger product are written or none.
  if (is_thin()) return choose_direct_shape(1, 1, 1, outcome_.word_bits / 8, workspace_limit).has_value();
  is_swapped_ = is_better_transposed(m_, n_);
  const auto shape =
      choose_direct_shape(is_swapped_ ? n_ : m_, is_swapped_ ? m_ : n_, k_, outcome_.word_bits / 8, workspace_limit);
  if (!shape) return false;
  shape_ = *shape;
  outcome_.workspace = shape_.bytes();
  memory_ = allocate_buffer(shape_.bytes());
  return true;
}

template <class Word>
void DirectMatmul::multiply_blocks(const OperandView& a, const OperandView& b, const ResultView& result,
                                   const std::function<void(double)>& progress) {
  DirectProduct<Word> product(a, b, result, shape_, memory_.get(), outcome_.times);
  const double total = static_cast<double>(a.outer) * static_cast<double>(b.outer) * static_cast<double>(a.inner);
  double done = 0;
  for (std::int64_t row = 0; row < a.outer; row += shape_.rows) {
    for (std::int64_t column = 0; column < b.outer; column += shape_.columns) {
      for (std::int64_t inner = 0; inner < a.inner; inner += shape_.inners) {
        const DirectShape block{std::min(shape_.rows, a.outer - row), std::min(shape_.columns, b.outer - column),
                                std::min(shape_.inners, a.inner - inner), shape_.word_bytes};
        product.run(row, column, inner, block);
        done += static_cast<double>(block.rows) * static_cast<double>(block.columns) * static_cast<double>(block.inners);
        if (progress) progress(done / total);
      }
    }
  }
}

void DirectMatmul::multiply_lines(const OperandView& a, const OperandView& b, const ResultView& result,
                                  const std::function<void(double)>& progress) {
  for (std::int64_t line = 0; line < b.outer; ++line) {
    {
      const StageTimer timer(outcome_.times, &StageTimes::multiply);
      OperandView vector = b;
      vector.data += line * b.outer_stride;
      vector.outer = 1;
      multiply_vector(a, vector, result.part({0, result.rows, line, 1}));
    }
    if (progress) progress(static_cast<double>(line + 1) / static_cast<double>(b.outer));
  }
}

void DirectMatmul::multiply(const OperandView& a, const OperandView& b, const ResultView& result,
                            const std::function<void(double)>& progress) {
  if (m_ == 0 || n_ == 0) return;
  if (k_ == 0) {
    put_zeros(result);
    return;
  }
  const OperandView &left = is_swapped_ ? b : a, &right = is_swapped_ ? a : b;
  const ResultView own = is_swapped_ ? result.transposed() : result;
  if (is_thin()) {
    multiply_lines(left, right, own, progress);
  } else if (outcome_.word_bits == 32) {
    multiply_blocks<std::uint32_t>(left, right, own, progress);
  } else {
    multiply_blocks<std::uint64_t>(left, right, own, progress);
  }
  if (modulus_ != 0) {
    const StageTimer timer(outcome_.times, &StageTimes::reconstruct);
    reduce_entries(result, modulus_);
  }
}

}  // namespace ozfp4
