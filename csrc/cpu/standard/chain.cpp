#include "cpu/standard/chain.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

#include "arith/multiples.hpp"
#include "arith/update/chain.hpp"
#include "cpu/gemm/panel.hpp"
#include "cpu/gemm/tile.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kRowPanels = 12;  // of rows that a thread takes at a time, packing one panel after the other
constexpr std::int64_t kPackGrain = 1 << 14, kChainGrain = 1 << 17;

// Entries of K that are packed at a time, columns of a strip of the result, and its rows.
struct StripShape {
  std::int64_t depth, columns, rows;

  template <class T>
  std::int64_t bytes(std::int64_t threads) const {
    return (rows * columns + depth * columns + threads * kGemmRows * depth) * static_cast<std::int64_t>(sizeof(T));
  }
};

template <class T>
StripShape choose_strip(std::int64_t rows, std::int64_t columns, std::int64_t k, std::int64_t bytes) {
  const std::int64_t threads = thread_count(), most_rows = round_up(rows, kGemmRows * kRowPanels);
  const std::int64_t wide = std::min(16 * kGemmColumns<double>, round_up(columns, kGemmColumns<T>));
  StripShape strip{std::min<std::int64_t>(k, 512), wide, most_rows};
  while (strip.bytes<T>(threads) > bytes && strip.rows > kRowPanels * kGemmRows) {
    strip.rows = round_up(strip.rows / 2, kRowPanels * kGemmRows);
  }
  if (strip.bytes<T>(threads) > bytes) strip.depth = std::min<std::int64_t>(k, 64), strip.columns = kGemmColumns<T>;
  return strip;
}

// From the first to behind the last entry of a panel that is not 0, along K.
struct NonzeroRange {
  std::int64_t begin, end;
};

// c[i][j] = fma(a[k][i], b[k][j], c[i][j]) for k = 0, 1, ...; panels as those of a GemmTile, `c` is [kGemmRows][kGemmColumns<T>].
// Where no tile fuses by calls of a library, in the instructions of the build, which is right everywhere.
template <class T>
void add_chains(const T* a, const T* b, std::int64_t k, T* c) {
  constexpr std::int64_t columns = kGemmColumns<T>;
  static const GemmTile<T> tile = gemm_tile<T>();
  if (tile.is_fused) return tile.add_products(a, b, k, true, c, columns);
  for (std::int64_t p = 0; p < k; ++p, a += kGemmRows, b += columns) {
    for (std::int64_t i = 0; i < kGemmRows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) c[i * columns + j] = std::fma(a[i], b[j], c[i * columns + j]);
    }
  }
}

// The bits of `n` columns from one on, of a row of the list. Precondition: n <= 64.
std::uint64_t bits_of(const Listed& listed, std::int64_t row, std::int64_t column, std::int64_t n, std::int64_t columns) {
  const std::int64_t index = column / 64, shift = column % 64, end = std::min(column + n, columns);
  if (end <= column) return 0;
  std::uint64_t bits = listed.word(row, index) >> shift;
  if (shift != 0 && index + 1 < listed.words_per_row()) bits |= listed.word(row, index + 1) << (64 - shift);
  const std::int64_t count = end - column;
  return count == 64 ? bits : bits & ((std::uint64_t(1) << count) - 1);
}

// Some lines of a block: of exchanged ones those of even numbers in the product, which keep the order of each pair along K, or
// those of odd ones.
struct LinePart {
  std::int64_t first, step, count;

  LinePart(std::int64_t block_first, std::int64_t block_count, bool is_exchanged, bool is_odd)
      : first(is_exchanged && (block_first % 2 != 0) != is_odd ? 1 : 0),
        step(is_exchanged ? 2 : 1),
        count((block_count - first + step - 1) / step) {}

  std::int64_t in_block(std::int64_t line) const { return first + line * step; }
};

// Bits 0, 2, 4, ... side by side.
std::uint64_t even_bits(std::uint64_t x) {
  x &= 0x5555555555555555u;
  x = (x | x >> 1) & 0x3333333333333333u;
  x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0fu;
  x = (x | x >> 4) & 0x00ff00ff00ff00ffu;
  x = (x | x >> 8) & 0x0000ffff0000ffffu;
  return (x | x >> 16) & 0xffffffffu;
}

// Copies the list of some rows and columns of a block to `part`, the list of their entries.
void list_part(const Listed& listed, const LinePart& rows, const LinePart& columns, Listed& part) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    for (std::int64_t w = 0; w < part.words_per_row(); ++w) {
      std::uint64_t& word = part.word(i, w);
      word = listed.word(rows.in_block(i), w * columns.step);
      if (columns.step == 1) continue;
      word = even_bits(word >> columns.first);
      if (2 * w + 1 < listed.words_per_row()) word |= even_bits(listed.word(rows.in_block(i), 2 * w + 1) >> columns.first) << 32;
    }
  }
}

// The chains of some rows and columns of a block of the result, a strip of columns at a time. `flips`: those of each pair along K
// in the other order.
template <class T>
class Chains {
 public:
  Chains(const ScaledOperands& of, const ResultBlock& block, const Target& target, const LinePart& rows, const LinePart& columns,
         bool flips, std::int64_t bytes)
      : a_(of.a),
        b_(of.b),
        scales_a_(of.scale_a, block.row),
        scales_b_(of.scale_b, block.column),
        row_(block.row),
        column_(block.column),
        target_(target),
        rows_(rows),
        columns_(columns),
        flips_(flips),
        shape_(choose_strip<T>(rows.count, columns.count, a_.inner, bytes)),
        sums_(allocate_buffer(shape_.rows * shape_.columns * kBytes)),
        panels_b_(allocate_buffer(shape_.depth * shape_.columns * kBytes)),
        nonzero_b_(static_cast<std::size_t>(shape_.columns / kWidth)),
        tiles_(static_cast<std::size_t>(shape_.rows / kGemmRows * (shape_.columns / kWidth))) {}

  // Stores the listed entries, by their places in the part, and repeats those with a chain that ends infinite.
  EntryCounts run(const Listed& listed) {
    std::optional<Listed> again;
    EntryCounts counts = run_once(listed, &again);
    if (again) counts.extend(run_once(*again, nullptr));
    return counts;
  }

 private:
  // Entries with a chain that ends infinite are listed in `again` instead, which is made for them and null where chains are
  // repeated.
  EntryCounts run_once(const Listed& listed, std::optional<Listed>* again) {
    EntryCounts counts;
    for (std::int64_t row = 0; row < rows_.count; row += shape_.rows) {
      for (std::int64_t column = 0; column < columns_.count; column += shape_.columns) {
        if (!begin_strip(listed, row, column)) continue;
        multiply_strip(again == nullptr);
        counts.extend(end_strip(listed, again));
      }
    }
    return counts;
  }

  static constexpr std::int64_t kBytes = sizeof(T), kWidth = kGemmColumns<T>, kTileSums = kGemmRows * kWidth;

  // Finds the tiles of a strip with a listed entry; false where there is none.
  bool begin_strip(const Listed& listed, std::int64_t row, std::int64_t column) {
    first_row_ = row, first_column_ = column;
    down_ = ceil_div(std::min(shape_.rows, rows_.count - row), kGemmRows);
    across_ = ceil_div(std::min(shape_.columns, columns_.count - column), kWidth);
    bool any = false;
    for (std::int64_t i = 0; i < down_; ++i) {
      for (std::int64_t j = 0; j < across_; ++j) {
        std::uint64_t bits = 0;
        for (std::int64_t line = 0; line < kGemmRows; ++line) bits |= tile_bits(listed, i, j, line);
        tiles_[at(i, j)] = bits != 0;
        any = any || bits != 0;
      }
    }
    return any;
  }

  std::uint64_t tile_bits(const Listed& listed, std::int64_t i, std::int64_t j, std::int64_t line) const {
    const std::int64_t row = first_row_ + i * kGemmRows + line;
    if (row >= rows_.count) return 0;
    return bits_of(listed, row, first_column_ + j * kWidth, kWidth, columns_.count);
  }

  std::size_t at(std::int64_t i, std::int64_t j) const { return static_cast<std::size_t>(i * across_ + j); }
  bool is_listed(std::int64_t i, std::int64_t j) const { return tiles_[at(i, j)] != 0; }

  void multiply_strip(bool is_repeated) {
    const std::int64_t blocks = ceil_div(down_, kRowPanels);
    std::fill_n(sums(0, 0), down_ * across_ * kTileSums, T(0));
    for (std::int64_t inner = 0; inner < a_.inner; inner += shape_.depth) {
      const std::int64_t depth = std::min(shape_.depth, a_.inner - inner);
      parallel_for(across_, kPackGrain / (depth * kWidth) + 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t j = begin; j < end; ++j) {
          bool is_any = false;
          for (std::int64_t i = 0; i < down_; ++i) is_any = is_any || is_listed(i, j);
          if (!is_any) continue;
          const std::int64_t first = first_column_ + j * kWidth, lines = std::min(kWidth, columns_.count - first);
          nonzero_b_[static_cast<std::size_t>(j)] = pack<kWidth>(b_, column_ + columns_.in_block(first), columns_.step, lines,
                                                                 inner, depth, is_repeated, panel_b(j, depth));
        }
      });
      const std::int64_t work = kRowPanels * kGemmRows * across_ * kWidth * depth;
      parallel_for(blocks, kChainGrain / work + 1, [&](std::int64_t begin, std::int64_t end) {
        const Buffer panel = allocate_buffer(kGemmRows * depth * kBytes);
        for (std::int64_t i = begin * kRowPanels; i < std::min(end * kRowPanels, down_); ++i) {
          multiply_row(i, inner, depth, is_repeated, reinterpret_cast<T*>(panel.get()));
        }
      });
    }
  }

  // The tiles of one panel of rows, for one piece of K. Products of 0 change no sum and are left out.
  void multiply_row(std::int64_t i, std::int64_t inner, std::int64_t depth, bool is_repeated, T* panel) {
    bool is_packed = false;
    NonzeroRange own{0, 0};
    for (std::int64_t j = 0; j < across_; ++j) {
      if (!is_listed(i, j)) continue;
      if (!is_packed) {
        const std::int64_t first = first_row_ + i * kGemmRows, lines = std::min(kGemmRows, rows_.count - first);
        own = pack<kGemmRows>(a_, row_ + rows_.in_block(first), rows_.step, lines, inner, depth, is_repeated, panel);
        is_packed = true;
      }
      const NonzeroRange other = nonzero_b_[static_cast<std::size_t>(j)];
      const std::int64_t k = std::max(own.begin, other.begin), length = std::min(own.end, other.end) - k;
      if (length <= 0) continue;
      add_chains(panel + k * kGemmRows, panel_b(j, depth) + k * kWidth, length, sums(i, j));
    }
  }

  // Every `step`th line of an operand as a panel, zeros in the place of those that there are not. Where pairs are flipped K and
  // its pieces are even.
  template <std::int64_t Lines>
  NonzeroRange pack(const OperandView& view, std::int64_t first, std::int64_t step, std::int64_t lines, std::int64_t inner,
                    std::int64_t depth, bool is_repeated, T* to) const {
    OperandView own = view;
    own.data += first * view.outer_stride;
    own.outer_stride *= step;
    with_float(view.type, [&](auto zero) {
      const auto converted = [](auto x) { return static_cast<T>(x); };
      const auto write = flips_ ? write_panel<decltype(zero), Lines, true, T, decltype(converted)>
                                : write_panel<decltype(zero), Lines, false, T, decltype(converted)>;
      write(own, 0, lines, inner, depth, to, converted);
    });
    const auto is_nonzero = [&](std::int64_t k) {
      return std::any_of(to + k * Lines, to + (k + 1) * Lines, [](T x) { return x != T(0); });
    };
    NonzeroRange range{0, depth};
    while (range.begin < range.end && !is_nonzero(range.begin)) ++range.begin;
    while (range.end > range.begin && !is_nonzero(range.end - 1)) --range.end;
    if (is_repeated) std::transform(to, to + Lines * depth, to, [](T x) { return repeated_entry(x); });
    return range;
  }

  EntryCounts end_strip(const Listed& listed, std::optional<Listed>* again) {
    const std::int64_t grain = kPackGrain / (across_ * kTileSums) + 1;
    return count_over(down_, grain, [&](std::int64_t begin, std::int64_t end, EntryCounts& counts) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t line = 0; line < kGemmRows; ++line) {
          for (std::int64_t j = 0; j < across_; ++j) {
            for (std::uint64_t bits = tile_bits(listed, i, j, line); bits != 0; bits &= bits - 1) {
              const int lane = __builtin_ctzll(bits);
              end_entry(first_row_ + i * kGemmRows + line, first_column_ + j * kWidth + lane, sums(i, j)[line * kWidth + lane],
                        again, counts);
            }
          }
        }
      }
    });
  }

  void end_entry(std::int64_t row, std::int64_t column, T sum, std::optional<Listed>* again, EntryCounts& counts) {
    if (again != nullptr && magnitude_bits(sum) == kInfinityBits<T>) {
      const std::lock_guard<std::mutex> hold(lock_);
      if (!*again) again->emplace(rows_.count, columns_.count);
      (*again)->word(row, column / 64) |= std::uint64_t(1) << (column % 64);
      return;
    }
    row = rows_.in_block(row), column = columns_.in_block(column);
    const ChainEnd<T> end{sum, again == nullptr ? 2 * kChainShift<T> : 0};
    const TargetUpdate& update = target_.update;
    T value;
    if (update.is_asked) {
      value = round_chain_update(end, update.factors, addend_of(update.factors, update.addend(row, column)));
    } else {
      value = round_chain(end);
    }
    store(target_.result.at(row, column), value);
    ++counts.chains;
    if (!target_.has_bound()) return;
    const double bound =
        chain_bound(scales_a_.records[row], scales_b_.records[column], value, update.is_asked ? &update.factors.alpha : nullptr);
    target_.put_bound(row, column, bound, counts);
  }

  T* sums(std::int64_t i, std::int64_t j) const { return reinterpret_cast<T*>(sums_.get()) + (i * across_ + j) * kTileSums; }
  T* panel_b(std::int64_t j, std::int64_t depth) const { return reinterpret_cast<T*>(panels_b_.get()) + j * depth * kWidth; }

  const OperandView &a_, &b_;
  const BlockLines scales_a_, scales_b_;
  const std::int64_t row_, column_;
  const Target& target_;
  const LinePart rows_, columns_;
  const bool flips_;
  const StripShape shape_;
  const Buffer sums_, panels_b_;
  std::vector<NonzeroRange> nonzero_b_;  // of panels of B
  std::vector<std::uint8_t> tiles_;      // whether an entry of a tile is listed
  std::mutex lock_;
  std::int64_t first_row_ = 0, first_column_ = 0, down_ = 0, across_ = 0;
};

}  // namespace

EntryCounts cpu_chain(const ScaledOperands& of, const ResultBlock& block, const Target& target, const Listed& listed,
                      Exchanged exchanged, std::int64_t bytes) {
  if (listed.is_empty()) return {};
  return with_float(target.result.type, [&](auto zero) {
    EntryCounts counts;
    const auto run = [&](const Listed& own, const LinePart& rows, const LinePart& columns, bool flips) {
      counts.extend(Chains<decltype(zero)>(of, block, target, rows, columns, flips, bytes).run(own));
    };
    for (const bool is_odd : {false, true}) {
      const LinePart rows(block.row, block.rows, exchanged == Exchanged::rows, is_odd);
      const LinePart columns(block.column, block.columns, exchanged == Exchanged::columns, is_odd);
      if (exchanged == Exchanged::none) {
        run(listed, rows, columns, false);
        break;
      }
      if (rows.count == 0 || columns.count == 0) continue;
      Listed own(rows.count, columns.count);
      list_part(listed, rows, columns, own);
      run(own, rows, columns, is_odd);
    }
    return counts;
  });
}

}  // namespace ozfp4
