#include "cpu/words/operand.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include "arith/scale_entry.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/words/entries.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kEntryGrain = 100000;  // less is not worth a thread

// Whether a number is subnormal, by its bits: of single precision it is not converted to one of double precision where a processor
// takes it for zero.
template <class T>
bool is_subnormal(T x) {
  const FloatBits<T> magnitude = magnitude_bits(x);
  return magnitude != 0 && magnitude >> (FloatFormat<T>::precision - 1) == 0;
}

}  // namespace

template <std::int64_t Lines>
std::int64_t WordOperand<Lines>::lines_of(std::int64_t group) const {
  return std::max<std::int64_t>(0, std::min(Lines, view_.outer - group * Lines));
}

template <std::int64_t Lines>
std::int64_t WordOperand<Lines>::grain() const {
  return ceil_div(kEntryGrain, Lines * view_.inner);
}

// The entries of a group, zeros in the place of lines that there are not; false where there are subnormal ones of single precision.
template <std::int64_t Lines>
template <class T>
bool WordOperand<Lines>::copy_group(std::int64_t group) {
  double* to = values_ + group * Lines * view_.inner;
  const std::int64_t lines = lines_of(group), k = view_.inner;
  if (lines < Lines) std::fill_n(to, Lines * k, 0.0);
  const char* origin = view_.data + group * Lines * view_.outer_stride;
  bool is_served = true;
  const auto copy = [&](std::int64_t line, std::int64_t inner) {
    const T x = load<T>(origin + line * view_.outer_stride + inner * view_.inner_stride);
    if constexpr (!std::is_same_v<T, double>) is_served = is_served && !is_subnormal(x);
    to[inner * Lines + line] = x;
  };
  if (std::is_same_v<T, double> && Lines == 1 && lines == 1 && view_.inner_stride == sizeof(T)) {
    std::memcpy(to, origin, static_cast<std::size_t>(k) * sizeof(T));
  } else if (std::is_same_v<T, double> && Lines > 1 && view_.outer_stride == sizeof(T)) {
    for (std::int64_t inner = 0; inner < k; ++inner) {
      std::memcpy(to + inner * Lines, origin + inner * view_.inner_stride, static_cast<std::size_t>(lines) * sizeof(T));
    }
  } else if (std::abs(view_.inner_stride) < std::abs(view_.outer_stride)) {
    for (std::int64_t line = 0; line < lines; ++line) {
      for (std::int64_t inner = 0; inner < k; ++inner) copy(line, inner);
    }
  } else {
    for (std::int64_t inner = 0; inner < k; ++inner) {
      for (std::int64_t line = 0; line < lines; ++line) copy(line, inner);
    }
  }
  return is_served;
}

// One entry after the other: what seldom is.
template <std::int64_t Lines>
PieceFacts WordOperand<Lines>::facts_of_line(std::int64_t group, std::int64_t line) const {
  PieceFacts piece;
  const double* x = values_ + group * Lines * view_.inner + line;
  for (std::int64_t k = 0; k < view_.inner; ++k) {
    add_entry(piece.facts, x[k * Lines]);
    const std::uint64_t magnitude = magnitude_bits(x[k * Lines]);
    if (magnitude >= kInfinityBits<double>) piece.special |= magnitude > kInfinityBits<double> ? kHasNan : kHasInfinity;
  }
  return piece;
}

template <std::int64_t Lines>
void WordOperand<Lines>::find_group(std::int64_t group, bool has_facts, PieceFacts* pieces) const {
  const double* x = values_ + group * Lines * view_.inner;
  Magnitudes<Lines> magnitudes;
  find_magnitudes(x, view_.inner, magnitudes);
  LineExtremes64<Lines> extremes;
  if (has_facts) find_extremes(x, view_.inner, extremes);
  for (std::int64_t line = 0; line < lines_of(group); ++line) {
    PieceFacts& piece = pieces[group * Lines + line];
    const std::uint64_t finite = magnitudes.finite[line];
    if (magnitudes.any[line] >= kInfinityBits<double> || (has_facts && extremes.subnormals[line] > 0)) {
      piece = facts_of_line(group, line);
    } else if (has_facts) {
      piece.facts = {static_cast<std::int32_t>(extremes.exponent[line]), static_cast<std::int32_t>(extremes.lowest[line]),
                     extremes.nonzeros[line], extremes.exponent_sum[line]};
    } else {
      piece.facts.exponent = finite == 0 ? kNoExponent : exponent_of_magnitude<double>(finite);
    }
  }
}

template <std::int64_t Lines>
bool WordOperand<Lines>::look(const ScaleRequest& request) {
  std::vector<PieceFacts> pieces(static_cast<std::size_t>(view_.outer));
  std::atomic<bool> is_served{true};
  parallel_for(groups(), grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      if (!with_float(view_.type, [&](auto zero) { return copy_group<decltype(zero)>(group); })) is_served = false;
      find_group(group, request.wants_records(), pieces.data());
    }
  });
  for (const PieceFacts& piece : pieces) {
    if (piece.facts.exponent != kNoExponent && piece.facts.exponent < kLeastWordExponent) is_served = false;
  }
  if (!is_served) return false;
  scales_ = scales_of(pieces, view_.inner, request);
  return true;
}

template <std::int64_t Lines>
void WordOperand<Lines>::convert(const ScaleRequest& request) {
  std::vector<double> squares(static_cast<std::size_t>(groups()));
  parallel_for(groups(), grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      double scale[Lines];
      const std::int64_t lines = lines_of(group), first = group * Lines;
      for (std::int64_t l = 0; l < Lines; ++l) {
        scale[l] = l < lines ? exact_power_of_two<double>(scales_.shift[static_cast<std::size_t>(first + l)]) : 1.0;
      }
      Converted<Lines> found;
      convert_entries(values_ + first * view_.inner, words_ + first * view_.inner, view_.inner, scale, found);
      squares[static_cast<std::size_t>(group)] = *std::max_element(found.squares, found.squares + Lines);
      if (request.accuracy != Accuracy::correct) continue;
      for (std::int64_t l = 0; l < lines; ++l) {
        LineRecord& record = scales_.records[static_cast<std::size_t>(first + l)];
        if (record.rounded != 0) record.rounded = static_cast<std::uint64_t>(found.rounded[l]);
      }
    }
  });
  // The factor covers the roundings of products and additions.
  scales_.norm_squared = *std::max_element(squares.begin(), squares.end()) * (1.0 + (static_cast<double>(view_.inner) + 64.0) * 0x1p-52);
}

template <std::int64_t Lines>
void WordOperand<Lines>::reduce(int bridges) {
  if (bridges == 0) return;
  const std::int64_t entries = Lines * view_.inner;
  parallel_for(groups(), grain(), [&](std::int64_t begin, std::int64_t end) {
    for (int i = 0; i < bridges; ++i) {
      const std::int64_t first = begin * entries;
      find_residues(values_ + first, (end - begin) * entries, kBridges[i], values_ + (2 + i) * pitch_ + first);
    }
  });
}

template class WordOperand<1>;
template class WordOperand<kWordColumns>;

}  // namespace ozfp4
