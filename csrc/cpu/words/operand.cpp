#include "cpu/words/operand.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include "arith/float_fields.hpp"
#include "arith/scale_entry.hpp"
#include "cpu/limbs/encode.hpp"
#include "cpu/runtime/vectorise.hpp"
#include "cpu/runtime/vectors.hpp"

namespace ozfp4 {
namespace {

// Whether a number is subnormal, by its bits: of single precision it is not converted to one of double precision where a
// processor takes it for zero.
template <class T>
bool is_subnormal(T x) {
  const FloatBits<T> magnitude = magnitude_bits(x);
  return magnitude != 0 && magnitude >> (FloatFormat<T>::precision - 1) == 0;
}

// The counts that conversion leaves for each lane: the sums of squares of their integers, and how many entries it rounded.
struct LaneIntegers {
  double squares[kEntryLanes];
  std::int64_t rounded[kEntryLanes];
};

// Entries x[i * step + lane] for i < count and kEntryLanes lanes become integers, round(x scale), non-finite ones 0, in both
// forms. An entry is rounded where its integer is another number, or 0 though it is not: then the scaled number may have
// vanished. Precondition: scales of the lanes, normal powers of two, |x| scale <= 2^kMostNearCapacity.
OZFP4_VECTORISED void convert_entries(double* x, std::uint64_t* words, std::int64_t step, std::int64_t count, const double* scale,
                                      LaneIntegers& found) {
  constexpr std::uint64_t magnitude_mask = ~std::uint64_t(0) >> 1;
  Numbers squares = {}, own;
  Counts rounded = {};
  load_lanes(scale, own);
  for (std::int64_t i = 0; i < count; ++i, x += step, words += step) {
    Words bits, word;
    load_lanes(x, bits);
    const Words magnitude = bits & magnitude_mask, finite = magnitude < kInfinityBits<double> ? bits : 0 * bits;
    Numbers z, value;
    take_bits(finite, z);
    z *= own;
    split_near_entry(z, value, word);
    rounded -= (value != z) | ((value == 0.0) & ((finite & magnitude_mask) != 0));
    squares += value * value;
    store_lanes(value, x);
    store_lanes(word, words);
  }
  store_lanes(squares, found.squares);
  store_lanes(rounded, found.rounded);
}

// Residues of n integers.
OZFP4_VECTORISED void find_residues(const double* __restrict integers, std::int64_t n, const Bridge& bridge,
                                    double* __restrict residues) {
  const Bridge own = bridge;
  for (std::int64_t i = 0; i < n; ++i) residues[i] = near_residue(integers[i], own);
}

}  // namespace

template <std::int64_t Lines>
std::int64_t WordOperand<Lines>::lines_of(std::int64_t group) const {
  return std::max<std::int64_t>(0, std::min(Lines, view_.outer - group * Lines));
}

// Whether the loops below read a group where it lies: its entries lie side by side as the copied ones do, whole groups of them.
template <std::int64_t Lines>
bool WordOperand<Lines>::stays(std::int64_t group) const {
  constexpr std::ptrdiff_t bytes = sizeof(double);
  const auto is_whole = [](std::ptrdiff_t x) { return x % bytes == 0; };
  if (copies_all_ || view_.type != ElementType::float64 || lines_of(group) < Lines) return false;
  if ((Lines == 1 ? view_.inner_stride : view_.outer_stride) != bytes) return false;
  return reinterpret_cast<std::uintptr_t>(view_.data) % alignof(double) == 0 && is_whole(view_.inner_stride) &&
         is_whole(view_.outer_stride);
}

template <std::int64_t Lines>
typename WordOperand<Lines>::Lying WordOperand<Lines>::lying(std::int64_t group) const {
  constexpr std::ptrdiff_t bytes = sizeof(double);
  if (!stays(group)) return {values_ + group * Lines * view_.inner, Lines == 1 ? view_.inner : 1, Lines};
  return {reinterpret_cast<const double*>(view_.at(group * Lines, 0)), view_.outer_stride / bytes, view_.inner_stride / bytes};
}

// The entries of a group, zeros in the place of lines that there are not; false where there are subnormal ones of single
// precision.
template <std::int64_t Lines>
template <class T>
bool WordOperand<Lines>::copy_group(std::int64_t group) {
  double* to = values_ + group * Lines * view_.inner;
  const std::int64_t lines = lines_of(group), k = view_.inner;
  if (lines < Lines) std::fill_n(to, Lines * k, 0.0);
  const char* origin = view_.at(group * Lines, 0);
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

// The scale of a line, by the facts of lanes.
template <std::int64_t Lines>
void WordOperand<Lines>::put_scale(std::int64_t group, std::int64_t line, const ScaleRequest& request, const LaneFacts& facts,
                                   std::int64_t first_lane, std::int64_t lanes) {
  PieceFacts piece;
  if (!take_lanes(facts, first_lane, lanes, request.wants_records(), piece.facts)) {
    const Lying own = lying(group);
    for (std::int64_t k = 0; k < view_.inner; ++k) add_entry(piece, own.x[line * own.line_step + k * own.inner_step]);
  }
  if (piece.facts.exponent < kLeastWordExponent && piece.facts.exponent != kNoExponent) is_served_ = false;
  finish_scale(piece, request, static_cast<std::size_t>(group * Lines + line), lines_->scales);
}

template <std::int64_t Lines>
void WordOperand<Lines>::find_group(std::int64_t group, const ScaleRequest& request) {
  const auto [x, line_step, inner_step] = lying(group);
  const std::int64_t lines = lines_of(group);
  const bool has_facts = request.wants_records();
  if constexpr (Lines == 1) {
    if (lines == 0) return;
    LaneFacts facts;
    find_line(x, view_.inner, has_facts, facts);
    put_scale(group, 0, request, facts, 0, kFactLanes);
  } else {
    static_assert(Lines % kFactLanes == 0);
    LaneFacts facts;
    for (std::int64_t first = 0; first < lines; first += kFactLanes) {
      find_lanes(x + first, inner_step, view_.inner, has_facts, facts);
      for (std::int64_t l = 0; l < std::min(kFactLanes, lines - first); ++l) put_scale(group, first + l, request, facts, l, 1);
    }
  }
}

template <std::int64_t Lines>
void WordOperand<Lines>::begin_look(const ScaleRequest& request) {
  begin_scales(static_cast<std::size_t>(view_.outer), request, lines_->scales);
}

template <std::int64_t Lines>
void WordOperand<Lines>::look(std::int64_t begin, std::int64_t end, const ScaleRequest& request) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (!stays(i) && !with_float(view_.type, [&](auto zero) { return copy_group<decltype(zero)>(i); })) is_served_ = false;
    find_group(i, request);
  }
}

template <std::int64_t Lines>
void WordOperand<Lines>::copy(std::int64_t begin, std::int64_t end) {
  for (std::int64_t group = begin; group < end; ++group) {
    if (stays(group)) copy_group<double>(group);
  }
}

template <std::int64_t Lines>
bool WordOperand<Lines>::end_look(const ScaleRequest& request) {
  if (is_served_) end_scales(request, lines_->scales);
  return is_served_;
}

// Adds what conversion finds of each line of a group: of the sum of squares and of how many entries are rounded.
template <std::int64_t Lines>
void WordOperand<Lines>::convert_group(std::int64_t group, double* squares, std::int64_t* rounded) {
  double* x = values_ + group * Lines * view_.inner;
  std::uint64_t* words = words_ + group * Lines * view_.inner;
  const std::int64_t lines = lines_of(group);
  const auto scale_of = [&](std::int64_t line) {
    return line < lines ? exact_power_of_two<double>(lines_->scales.shift[static_cast<std::size_t>(group * Lines + line)]) : 1.0;
  };
  LaneIntegers lanes;
  const auto add = [&](std::int64_t first, std::int64_t step) {
    for (std::int64_t l = 0; l < kEntryLanes; ++l) {
      squares[first + l * step] += lanes.squares[l];
      rounded[first + l * step] += lanes.rounded[l];
    }
  };
  double scale[kEntryLanes];
  if constexpr (Lines == 1) {
    std::fill_n(scale, kEntryLanes, scale_of(0));
    const std::int64_t whole = view_.inner / kEntryLanes, rest = view_.inner % kEntryLanes;
    convert_entries(x, words, kEntryLanes, whole, scale, lanes);
    add(0, 0);
    if (rest == 0) return;
    double last[kEntryLanes] = {};
    std::uint64_t last_words[kEntryLanes];
    std::copy_n(x + whole * kEntryLanes, rest, last);
    convert_entries(last, last_words, kEntryLanes, 1, scale, lanes);
    std::copy_n(last, rest, x + whole * kEntryLanes);
    std::copy_n(last_words, rest, words + whole * kEntryLanes);
    add(0, 0);
  } else {
    for (std::int64_t first = 0; first < Lines; first += kEntryLanes) {
      for (std::int64_t l = 0; l < kEntryLanes; ++l) scale[l] = scale_of(first + l);
      convert_entries(x + first, words + first, Lines, view_.inner, scale, lanes);
      add(first, 1);
    }
  }
}

template <std::int64_t Lines>
void WordOperand<Lines>::count_rounded(std::int64_t line, std::int64_t rounded) {
  const auto index = static_cast<std::size_t>(line);
  if (lines_->scales.records[index].rounded != 0) lines_->scales.records[index].rounded = static_cast<std::uint64_t>(rounded);
}

template <std::int64_t Lines>
void WordOperand<Lines>::convert(std::int64_t begin, std::int64_t end, const ScaleRequest& request) {
  for (std::int64_t group = begin; group < end; ++group) {
    double squares[Lines] = {};
    std::int64_t rounded[Lines] = {};
    convert_group(group, squares, rounded);
    for (std::int64_t l = 0; l < lines_of(group); ++l) {
      const auto index = static_cast<std::size_t>(group * Lines + l);
      lines_->squares[index] = squares[l];
      if (request.accuracy == Accuracy::correct) count_rounded(group * Lines + l, rounded[l]);
    }
  }
}

template <std::int64_t Lines>
void WordOperand<Lines>::end_conversion() {
  // The factor covers the roundings of products and additions.
  lines_->scales.norm_squared = *std::max_element(lines_->squares.begin(), lines_->squares.end()) *
                                (1.0 + (static_cast<double>(view_.inner) + 64.0) * 0x1p-52);
}

template <std::int64_t Lines>
void WordOperand<Lines>::reduce(std::int64_t begin, std::int64_t end, int bridges) {
  const std::int64_t entries = Lines * view_.inner, first = begin * entries, count = (end - begin) * entries;
  for (int i = 0; i < bridges; ++i) {
    find_residues(values_ + first, count, kBridges[i], values_ + (2 + i) * pitch_ + first);
  }
}

template <std::int64_t Lines>
void WordOperand<Lines>::raise(int most_bits, const ScaleRequest& request) {
  const Scales& scales = lines_->scales;
  std::vector<std::int32_t>& shift = lines_->limb_shift;
  shift.assign(scales.shift.begin(), scales.shift.end());
  for (std::size_t i = 0; most_bits > 0 && i < shift.size(); ++i) {
    const int bits = scales.records.empty() ? request.bits : scales.records[i].capacity;
    shift[i] += std::clamp(most_bits - bits, 0, kMostRaised);  // bits of special lines, which have void results, may be any
  }
}

template <std::int64_t Lines>
void WordOperand<Lines>::cut(std::int64_t begin, std::int64_t end, const ScaleRequest& request, const LimbShape& shape,
                             char* planes) {
  static_assert(Lines == 1 || Lines % kPanelLines == 0);
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t first = panel * kPanelLines;
    const Lying source = lying(first / Lines);
    LimbLines own{source.x + first % Lines * source.line_step,
                  source.line_step,
                  source.inner_step,
                  std::min(kPanelLines, view_.outer - first),
                  view_.inner,
                  {},
                  {},
                  lines_->scales.special_lines == 0,
                  nullptr};
    std::fill_n(own.scale, kPanelLines, 1.0);
    for (std::int64_t l = 0; l < own.lines; ++l) {
      const std::int32_t shift = lines_->scales.shift[static_cast<std::size_t>(first + l)];
      own.scale[l] = exact_power_of_two<double>(shift);
      own.raised[l] = lines_->limb_shift[static_cast<std::size_t>(first + l)] - shift;
    }
    std::int64_t rounded[kPanelLines];
    if (request.accuracy == Accuracy::correct) {
      const LineRecord* records = lines_->scales.records.data() + first;
      const bool are_exact = std::all_of(records, records + own.lines, [](const LineRecord& line) { return line.rounded == 0; });
      if (!are_exact) own.rounded = rounded;
    }
    auto* to = reinterpret_cast<std::int8_t*>(planes + panel * shape.panel_bytes());
    (Lines == 1 ? encode_left_limbs : encode_right_limbs)(own, shape.limbs, shape.tiles, to);
    for (std::int64_t l = 0; own.rounded != nullptr && l < own.lines; ++l) count_rounded(first + l, rounded[l]);
  }
}

template class WordOperand<1>;
template class WordOperand<kSumColumns>;

}  // namespace ozfp4
