#include "cpu/repair/repair.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "arith/accuracy/bound.hpp"
#include "cpu/repair/correct_dot.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kColumns = 64;  // of one word of the list
constexpr std::int64_t kProductGrain = 1 << 16;
// Entries of a column that are prefetched before they are read: each lies in a separate cache line, and mostly in a page.
constexpr std::int64_t kAhead = 32;

DotLine line_of(const OperandView& view, const Scales& scales, std::int64_t outer) {
  return {view.data + outer * view.outer_stride, view.inner_stride, view.type, scales.facts[static_cast<std::size_t>(outer)]};
}

// The columns of one word as contiguous copies, each made when it is first asked for; as they lie where there is no room.
class Panel {
 public:
  Panel(const OperandView& view, const Scales& scales, std::int64_t bytes)
      : view_(view),
        scales_(scales),
        item_(entry_bytes(view.type)),
        copies_(view.inner_stride != item_ && view.inner <= bytes / (kColumns * item_)) {}

  DotLine column(std::int64_t first, int lane) {
    DotLine line = line_of(view_, scales_, first + lane);
    if (!copies_) return line;
    if (first != first_) {
      first_ = first;
      copied_ = 0;
      if (entries_ == nullptr) entries_.reset(new char[static_cast<std::size_t>(kColumns * view_.inner * item_)]);
    }
    char* own = entries_.get() + lane * view_.inner * item_;
    if ((copied_ >> lane & 1) == 0) {
      const char* address = static_cast<const char*>(line.data);
      with_float(line.type, [&](auto zero) {
        for (std::int64_t k = 0; k < view_.inner; ++k) {
          if (k + kAhead < view_.inner) __builtin_prefetch(address + (k + kAhead) * line.stride);
          store(own + k * item_, load<decltype(zero)>(address + k * line.stride));
        }
      });
      copied_ |= std::uint64_t(1) << lane;
    }
    line.data = own;
    line.stride = item_;
    return line;
  }

 private:
  const OperandView& view_;
  const Scales& scales_;
  std::int64_t item_;
  bool copies_;
  std::int64_t first_ = -1;
  std::uint64_t copied_ = 0;
  std::unique_ptr<char[]> entries_;  // room for all columns of the word, of which those copied are touched
};

// One entry of the target, rounded once.
template <class T>
CorrectDot<T> entry_of(const DotLine& a, const DotLine& b, std::int64_t k, const Target& target, std::int64_t row,
                       std::int64_t column) {
  if (!target.update.is_asked) return correct_dot<T>(a, b, k, target.rounding);
  const Update& factors = target.update.factors;
  const double c = target.update.addend(row, column);
  if (!is_finite(c)) return {static_cast<T>(special_update(factors, 0.0, c)), DotPath::pairs};
  return correct_update<T>(a, b, k, factors, addend_of(factors, c), target.rounding);
}

template <class T>
EntryCounts repair_typed(const ScaledOperands& of, const ResultBlock& block, const Target& target, const Listed& listed,
                         std::int64_t panel_bytes) {
  const std::vector<Listed::Place> places = listed.places();
  const std::int64_t k = of.a.inner;
  const std::int64_t grain = std::max<std::int64_t>(1, kProductGrain / (kColumns * std::max<std::int64_t>(k, 1)));
  const auto count = static_cast<std::int64_t>(places.size());
  return count_over(count, grain, [&](std::int64_t begin, std::int64_t end, EntryCounts& counts) {
    Panel panel(of.b, of.scale_b, panel_bytes);
    for (std::int64_t i = begin; i < end; ++i) {
      const Listed::Place place = places[static_cast<std::size_t>(i)];
      const DotLine own = line_of(of.a, of.scale_a, block.row + place.row);
      const std::int64_t first = place.index * kColumns;
      for (std::uint64_t word = listed.word(place.row, place.index); word != 0; word &= word - 1) {
        const int lane = __builtin_ctzll(word);
        const DotLine other = panel.column(block.column + first, lane);
        const std::int64_t at = first + lane;
        const CorrectDot<T> dot = entry_of<T>(own, other, k, target, place.row, at);
        ++(dot.path == DotPath::pairs ? counts.pairs : counts.exact_sums);
        store(target.result.at(place.row, at), dot.value);
        if (target.has_bound()) target.put_bound(place.row, at, rounding_bound(dot.value, target.rounding), counts);
      }
    }
  });
}

}  // namespace

EntryCounts cpu_repair(const ScaledOperands& of, const ResultBlock& block, const Target& target, const Listed& listed,
                       std::int64_t panel_bytes) {
  return with_float(target.result.type,
                    [&](auto zero) { return repair_typed<decltype(zero)>(of, block, target, listed, panel_bytes); });
}

}  // namespace ozfp4
