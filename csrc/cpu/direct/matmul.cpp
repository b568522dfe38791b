#include "cpu/direct/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cpu/blocks.hpp"
#include "cpu/direct/panels.hpp"
#include "cpu/direct/tile.hpp"
#include "cpu/integers/scale.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

// A block's panels lie in the last-level cache, and those of a task in the second-level one.
constexpr std::int64_t kBlockSide = 2048, kBlockInner = 512;
constexpr std::int64_t kTaskRows = 64, kTaskColumns = 256;
// Less is not worth a thread.
constexpr std::int64_t kPackGrain = 20000, kMultiplyGrain = 1 << 20;

constexpr std::int64_t ceil_div(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

struct DirectShape {
  std::int64_t rows, columns, inners, word_bytes;

  std::int64_t panels_a() const { return ceil_div(rows, kDirectRows); }
  std::int64_t panels_b() const { return ceil_div(columns, kDirectColumns); }
  std::int64_t bytes() const { return (panels_a() * kDirectRows + panels_b() * kDirectColumns) * inners * word_bytes; }
};

// The largest block whose panels stay at or below `cap` bytes.
DirectShape choose_shape(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t word_bytes, std::int64_t cap) {
  DirectShape shape{std::min(m, kBlockSide), std::min(n, kBlockSide), std::min(k, kBlockInner), word_bytes};
  while (shape.bytes() > cap) {
    const bool is_tall = shape.panels_a() * kDirectRows > shape.panels_b() * kDirectColumns;
    if (shape.panels_a() + shape.panels_b() > 2) {
      std::int64_t& longer = is_tall || shape.panels_b() == 1 ? shape.rows : shape.columns;
      longer = ceil_div(longer, 2);
    } else if (shape.inners > 1) {
      shape.inners = ceil_div(shape.inners, 2);
    } else {
      refuse_workspace(cap, shape.bytes());
    }
  }
  return shape;
}

// result (+)= the sums of a tile. Words of 32 bits are signed where the result is longer, which they then hold exactly.
template <class T, class Word>
void store_tile(const Word* sums, const ResultView& result, std::int64_t row, std::int64_t column, bool accumulate) {
  const std::int64_t rows = std::min(kDirectRows, result.rows - row);
  const std::int64_t columns = std::min(kDirectColumns, result.columns - column);
  for (std::int64_t i = 0; i < rows; ++i) {
    char* address = result.data + (row + i) * result.row_stride + column * result.column_stride;
    for (std::int64_t j = 0; j < columns; ++j, address += result.column_stride) {
      std::uint64_t sum = static_cast<std::uint64_t>(static_cast<std::make_signed_t<Word>>(sums[i * kDirectColumns + j]));
      if (accumulate) sum += static_cast<std::uint64_t>(load<T>(address));
      store(address, static_cast<T>(sum));
    }
  }
}

template <class Word>
class DirectProduct {
 public:
  DirectProduct(const OperandView& a, const OperandView& b, const ResultView& result, const DirectShape& shape, StageTimes& times)
      : a_(a), b_(b), result_(result), times_(times), memory_(allocate_buffer(shape.bytes())) {
    panels_a_ = reinterpret_cast<Word*>(memory_.get());
    panels_b_ = panels_a_ + shape.panels_a() * kDirectRows * shape.inners;
  }

  // The block's part of the product, added to what is there unless it is the first along K.
  void run(std::int64_t row, std::int64_t column, std::int64_t inner, const DirectShape& block) {
    {
      const StageTimer timer(times_.encode);
      write_panels(row, column, inner, block);
    }
    const StageTimer timer(times_.multiply);
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
  void write_panels(std::int64_t row, std::int64_t column, std::int64_t inner, const DirectShape& block) {
    const std::int64_t of_a = block.panels_a(), all = of_a + block.panels_b();
    parallel_for(all, ceil_div(kPackGrain, kDirectRows * block.inners), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t panel = begin; panel < end; ++panel) {
        if (panel < of_a) {
          write_one<kDirectRows>(a_, row, panel, block.rows, inner, block.inners, panels_a_);
        } else {
          write_one<kDirectColumns>(b_, column, panel - of_a, block.columns, inner, block.inners, panels_b_);
        }
      }
    });
  }

  template <std::int64_t Lines>
  void write_one(const OperandView& view, std::int64_t outer, std::int64_t panel, std::int64_t outers, std::int64_t inner,
                 std::int64_t inners, Word* panels) {
    const std::int64_t first = panel * Lines, count = std::min(Lines, outers - first);
    with_integer(view.type, [&](auto zero) {
      write_panel<decltype(zero), Lines>(view, outer + first, count, inner, inners, panels + first * inners);
    });
  }

  // The tiles of a task, column by column: each panel of B is read from the last-level cache once.
  template <class T>
  void multiply_task(std::int64_t own_row, std::int64_t own_column, std::int64_t row, std::int64_t column, bool accumulate,
                     const DirectShape& block) {
    ResultView part = result_;
    part.data += row * part.row_stride + column * part.column_stride;
    part.rows = block.rows;
    part.columns = block.columns;
    Word sums[kDirectRows * kDirectColumns];
    for (std::int64_t j = own_column; j < std::min(own_column + kTaskColumns, block.columns); j += kDirectColumns) {
      for (std::int64_t i = own_row; i < std::min(own_row + kTaskRows, block.rows); i += kDirectRows) {
        multiply_tile(panels_a_ + i * block.inners, panels_b_ + j * block.inners, block.inners, sums);
        store_tile<T>(sums, part, i, j, accumulate);
      }
    }
  }

  const OperandView &a_, &b_;
  const ResultView& result_;
  StageTimes& times_;
  Buffer memory_;
  Word *panels_a_, *panels_b_;
};

template <class Word>
void multiply(const OperandView& a, const OperandView& b, const ResultView& result, std::int64_t workspace_limit,
              const std::function<void(double)>& progress, DirectOutcome& outcome) {
  const DirectShape shape = choose_shape(a.outer, b.outer, a.inner, sizeof(Word), workspace_limit);
  outcome.word_bits = 8 * sizeof(Word);
  outcome.workspace = shape.bytes();
  DirectProduct<Word> product(a, b, result, shape, outcome.times);
  const double total = static_cast<double>(a.outer) * static_cast<double>(b.outer) * static_cast<double>(a.inner);
  double done = 0;
  for (std::int64_t row = 0; row < a.outer; row += shape.rows) {
    for (std::int64_t column = 0; column < b.outer; column += shape.columns) {
      for (std::int64_t inner = 0; inner < a.inner; inner += shape.inners) {
        const DirectShape block{std::min(shape.rows, a.outer - row), std::min(shape.columns, b.outer - column),
                                std::min(shape.inners, a.inner - inner), shape.word_bytes};
        product.run(row, column, inner, block);
        done += static_cast<double>(block.rows) * static_cast<double>(block.columns) * static_cast<double>(block.inners);
        if (progress) progress(done / total);
      }
    }
  }
}

// Every entry, exact in int64, modulo m. Range: m in [2, 2^63), a result of 64 bits.
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

DirectOutcome cpu_direct_matmul(const OperandView& a, const OperandView& b, const IntegerTarget& target, bool wants_exact,
                                std::int64_t workspace_limit, const std::function<void(double)>& progress) {
  DirectOutcome outcome;
  const ResultView& result = target.result;
  if (a.outer == 0 || b.outer == 0) return outcome;
  if (a.inner == 0) {
    put_zeros(result);
    return outcome;
  }
  double square = 0;  // bound of every C_ij^2; its rounding is monotonic, and so it is below 2^(2 n) only where the bound is
  {
    const StageTimer timer(outcome.times.scale);
    const IntegerNorms norms_a = cpu_integer_norms(a), norms_b = cpu_integer_norms(b);
    square = norms_a.norm_squared * norms_b.norm_squared;
    outcome.exponents = norms_a.exponents;
    outcome.exponents.extend(norms_b.exponents);
  }
  const auto holds = [&](int bits) { return square < std::ldexp(1.0, 2 * (bits - 1)); };  // every C_ij, and all partial sums
  const int bits = 8 * entry_bytes(result.type);
  const bool may_be_negative = !is_unsigned(a.type) || !is_unsigned(b.type);
  outcome.may_overflow = !holds(bits) || (is_unsigned(result.type) && may_be_negative);
  if (outcome.may_overflow && (wants_exact || target.modulus != 0)) {
    outcome.is_refused = true;
    return outcome;
  }
  if (bits <= 32 || holds(32)) {
    multiply<std::uint32_t>(a, b, result, workspace_limit, progress, outcome);
  } else {
    multiply<std::uint64_t>(a, b, result, workspace_limit, progress, outcome);
  }
  if (target.modulus != 0) {
    const StageTimer timer(outcome.times.reconstruct);
    reduce_entries(result, target.modulus);
  }
  return outcome;
}

void DirectOutcome::extend(const DirectOutcome& other) {
  is_refused = is_refused || other.is_refused;
  may_overflow = may_overflow || other.may_overflow;
  word_bits = std::max(word_bits, other.word_bits);
  workspace = std::max(workspace, other.workspace);
  exponents.extend(other.exponents);
  times.scale += other.times.scale;
  times.encode += other.times.encode;
  times.multiply += other.times.multiply;
  times.reconstruct += other.times.reconstruct;
}

}  // namespace ozfp4
