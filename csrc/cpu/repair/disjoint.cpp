#include <algorithm>
#include <limits>
#include <vector>

#include "arith/accuracy/bound.hpp"
#include "arith/float_fields.hpp"
#include "arith/multiples.hpp"
#include "cpu/repair/repair.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

constexpr int kWordBits = 64;
constexpr std::int64_t kChunk = 8;  // words that are looked at together
constexpr std::int64_t kTileGrain = 2;
constexpr std::int64_t kPlaceGrain = 16;
static_assert(kTileInner % kWordBits == 0 && kWordBits % kTileOuter == 0);

std::int64_t words_of_line(std::int64_t k) { return round_up(ceil_div(k, kWordBits), kChunk); }

// Bit i: entry i is not zero. By its bits: its vectors are of integers. Precondition: n <= 64.
template <class T>
std::uint64_t nonzero_bits(const T* x, std::int64_t n) {
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < n; ++i) bits |= static_cast<std::uint64_t>(magnitude_bits(x[i]) != 0) << i;
  return bits;
}

OZFP4_VECTORISED bool meet(const std::uint64_t* x, const std::uint64_t* y, std::int64_t words) {
  for (std::int64_t first = 0; first < words; first += kChunk) {
    std::uint64_t both = 0;
    for (std::int64_t i = first; i < first + kChunk; ++i) both |= x[i] & y[i];
    if (both != 0) return true;
  }
  return false;
}

// A bit for each entry of the lines of a block, those of a group of kTileOuter lines where the group is asked for.
class Masks {
 public:
  // is_wanted(first): whether the group of this first line is.
  template <class IsWanted>
  Masks(const OperandView& view, std::int64_t first, std::int64_t lines, const IsWanted& is_wanted)
      : words_(words_of_line(view.inner)), bits_(static_cast<std::size_t>(lines * words_)) {
    with_float(view.type, [&](auto zero) {
      parallel_for(ceil_div(lines, kTileOuter), kTileGrain, [&](std::int64_t begin, std::int64_t end) {
        std::vector<decltype(zero)> tile(static_cast<std::size_t>(kTileOuter * kTilePitch));
        for (std::int64_t line = begin * kTileOuter; line < std::min(end * kTileOuter, lines); line += kTileOuter) {
          if (is_wanted(line)) take_group(view, first, line, std::min(kTileOuter, lines - line), tile.data());
        }
      });
    });
  }

  const std::uint64_t* line(std::int64_t index) const { return bits_.data() + index * words_; }
  std::int64_t words() const { return words_; }

 private:
  template <class T>
  void take_group(const OperandView& view, std::int64_t first, std::int64_t line, std::int64_t lines, T* tile) {
    for_pieces(view, first + line, lines, tile, [&](std::int64_t own, std::int64_t inner, const T* x, std::int64_t n) {
      std::uint64_t* bits = bits_.data() + (own - first) * words_ + inner / kWordBits;
      for (std::int64_t i = 0; i < n; i += kWordBits) *bits++ = nonzero_bits(x + i, std::min<std::int64_t>(kWordBits, n - i));
    });
  }

  std::int64_t words_;
  std::vector<std::uint64_t> bits_;
};

// The listed words with an entry that may be disjoint: lines with more than K nonzero entries between them are not.
std::vector<Listed::Place> candidates(const Listed& listed, const LineRecord* rows, const LineRecord* columns, std::int64_t count,
                                      std::int64_t k) {
  std::vector<Listed::Place> places = listed.places();
  if (places.empty()) return places;
  std::vector<std::int64_t> least(static_cast<std::size_t>(listed.words_per_row()), std::numeric_limits<std::int64_t>::max());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t& own = least[static_cast<std::size_t>(i / kWordBits)];
    own = std::min(own, columns[i].nonzeros);
  }
  const auto must_meet = [&](Listed::Place place) {
    return least[static_cast<std::size_t>(place.index)] > k - rows[place.row].nonzeros;
  };
  places.erase(std::remove_if(places.begin(), places.end(), must_meet), places.end());
  return places;
}

// The lines of a block and what is to become of their listed entries.
struct ListedBlock {
  std::vector<Listed::Place> places;
  Masks rows, columns;
  const Target& target;
  Listed& listed;
};

// One word: the entries that are disjoint are stored and leave the list.
void repair_word(const ListedBlock& block, Listed::Place place, EntryCounts& counts) {
  std::uint64_t& word = block.listed.word(place.row, place.index);
  for (std::uint64_t rest = word; rest != 0; rest &= rest - 1) {
    const std::int64_t column = place.index * kWordBits + __builtin_ctzll(rest);
    if (meet(block.rows.line(place.row), block.columns.line(column), block.rows.words())) continue;
    word &= ~(rest & (~rest + 1));
    ++counts.exact;
    const double value = block.target.of_zero(place.row, column);
    put(block.target.result, place.row, column, value);
    if (!block.target.has_bound()) continue;
    const double bound = with_float(block.target.result.type, [&](auto zero) {
      return rounding_bound(static_cast<decltype(zero)>(value), block.target.rounding);
    });
    block.target.put_bound(place.row, column, bound, counts);
  }
}

}  // namespace

std::int64_t disjoint_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k) {
  return (rows + columns) * words_of_line(k) * static_cast<std::int64_t>(sizeof(std::uint64_t));
}

EntryCounts cpu_repair_disjoint(const ScaledOperands& of, const ResultBlock& block, const Target& target, Listed& listed) {
  const auto& [row, rows, column, columns] = block;
  std::vector<Listed::Place> places =
      candidates(listed, of.scale_a.records.data() + row, of.scale_b.records.data() + column, columns, of.a.inner);
  if (places.empty()) return {};
  std::vector<std::uint64_t> in_columns(static_cast<std::size_t>(listed.words_per_row()));
  std::vector<std::uint8_t> in_rows(static_cast<std::size_t>(ceil_div(rows, kTileOuter)));
  for (const Listed::Place& place : places) {
    in_columns[static_cast<std::size_t>(place.index)] |= listed.word(place.row, place.index);
    in_rows[static_cast<std::size_t>(place.row / kTileOuter)] = 1;
  }
  constexpr std::uint64_t group = (std::uint64_t(1) << kTileOuter) - 1;
  const ListedBlock lines{
      std::move(places),
      Masks(of.a, row, rows, [&](std::int64_t line) { return in_rows[static_cast<std::size_t>(line / kTileOuter)] != 0; }),
      Masks(of.b, column, columns,
            [&](std::int64_t line) {
              return (in_columns[static_cast<std::size_t>(line / kWordBits)] >> (line % kWordBits) & group) != 0;
            }),
      target, listed};
  const auto count = static_cast<std::int64_t>(lines.places.size());
  return count_over(count, kPlaceGrain, [&](std::int64_t begin, std::int64_t end, EntryCounts& counts) {
    for (std::int64_t i = begin; i < end; ++i) repair_word(lines, lines.places[static_cast<std::size_t>(i)], counts);
  });
}

}  // namespace ozfp4
