#include "cpu/repair/repair.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "arith/accuracy/bound.hpp"
#include "cpu/repair/correct_dot.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kColumns = 64;  // of one word of the list
constexpr std::int64_t kProductGrain = 1 << 16;
// Entries of a column that are asked for before they are read: each lies in a cache line of its own, and mostly in a page.
constexpr std::int64_t kAhead = 32;

template <class T>
DotLine<T> line_of(const OperandView& view, const Scales& scales, std::int64_t outer) {
  return {view.data + outer * view.outer_stride, view.inner_stride, scales.facts[static_cast<std::size_t>(outer)]};
}

// The columns of one word as contiguous copies, each made when it is first asked for; as they lie where there is no room.
template <class B>
class Panel {
 public:
  Panel(const OperandView& view, const Scales& scales, std::int64_t bytes)
      : view_(view),
        scales_(scales),
        copies_(view.inner_stride != static_cast<std::ptrdiff_t>(sizeof(B)) &&
                view.inner <= bytes / (kColumns * static_cast<std::int64_t>(sizeof(B)))) {}

  DotLine<B> column(std::int64_t first, int lane) {
    DotLine<B> line = line_of<B>(view_, scales_, first + lane);
    if (!copies_) return line;
    if (first != first_) {
      first_ = first;
      copied_ = 0;
      if (entries_ == nullptr) entries_.reset(new B[static_cast<std::size_t>(kColumns * view_.inner)]);
    }
    B* own = entries_.get() + lane * view_.inner;
    if ((copied_ >> lane & 1) == 0) {
      const char* address = static_cast<const char*>(line.data);
      for (std::int64_t k = 0; k < view_.inner; ++k) {
        if (k + kAhead < view_.inner) __builtin_prefetch(address + (k + kAhead) * line.stride);
        own[k] = load<B>(address + k * line.stride);
      }
      copied_ |= std::uint64_t(1) << lane;
    }
    line.data = own;
    line.stride = sizeof(B);
    return line;
  }

 private:
  const OperandView& view_;
  const Scales& scales_;
  bool copies_;
  std::int64_t first_ = -1;
  std::uint64_t copied_ = 0;
  std::unique_ptr<B[]> entries_;  // room for all columns of the word, of which those copied are touched
};

// One entry of the target, rounded once.
template <class T, class A, class B>
CorrectDot<T> entry_of(const DotLine<A>& a, const DotLine<B>& b, std::int64_t k, const Target& target, std::int64_t row,
                       std::int64_t column) {
  if (!target.update.is_asked) return correct_dot<T>(a, b, k, target.rounding);
  const Update& factors = target.update.factors;
  const double c = target.update.addend(row, column);
  if (!is_finite(c)) return {static_cast<T>(special_update(factors, 0.0, c)), DotPath::pairs};
  return correct_update<T>(a, b, k, factors, addend_of(factors, c), target.rounding);
}

template <class T, class A, class B>
EntryCounts repair_typed(const OperandView& a, const Scales& scale_a, const OperandView& b, const Scales& scale_b,
                         std::int64_t row, std::int64_t column, const Target& target, const Listed& listed,
                         std::int64_t panel_bytes) {
  const std::vector<Listed::Place> places = listed.places();
  EntryCounts total;
  std::mutex lock;
  const std::int64_t grain = std::max<std::int64_t>(1, kProductGrain / (kColumns * std::max<std::int64_t>(a.inner, 1)));
  parallel_for(static_cast<std::int64_t>(places.size()), grain, [&](std::int64_t begin, std::int64_t end) {
    Panel<B> panel(b, scale_b, panel_bytes);
    EntryCounts counts;
    for (std::int64_t i = begin; i < end; ++i) {
      const Listed::Place place = places[static_cast<std::size_t>(i)];
      const DotLine<A> own = line_of<A>(a, scale_a, row + place.row);
      const std::int64_t first = place.index * kColumns;
      for (std::uint64_t word = listed.word(place.row, place.index); word != 0; word &= word - 1) {
        const int lane = __builtin_ctzll(word);
        const DotLine<B> other = panel.column(column + first, lane);
        const std::int64_t at = first + lane;
        const CorrectDot<T> dot = entry_of<T>(own, other, a.inner, target, place.row, at);
        ++(dot.path == DotPath::pairs ? counts.pairs : counts.exact_sums);
        store(target.result.data + place.row * target.result.row_stride + at * target.result.column_stride, dot.value);
        if (!target.has_bound()) continue;
        const double bound = rounding_bound(dot.value, target.rounding);
        counts.largest_bound = std::max(counts.largest_bound, bound);
        put(target.bound, place.row, at, bound);
      }
    }
    const std::lock_guard<std::mutex> hold(lock);
    total.extend(counts);
  });
  return total;
}

}  // namespace

EntryCounts cpu_repair(const OperandView& a, const Scales& scale_a, const OperandView& b, const Scales& scale_b, std::int64_t row,
                       std::int64_t column, const Target& target, const Listed& listed, std::int64_t panel_bytes) {
  return with_float(target.result.type, [&](auto t) {
    return with_float(a.type, [&](auto x) {
      return with_float(b.type, [&](auto y) {
        return repair_typed<decltype(t), decltype(x), decltype(y)>(a, scale_a, b, scale_b, row, column, target, listed,
                                                                   panel_bytes);
      });
    });
  });
}

}  // namespace ozfp4
