#include "cpu/stages/scale.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "arith/float_fields.hpp"
#include "arith/scale_entry.hpp"
#include "cpu/accuracy/facts.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// Largest finite magnitude (as bits) of a line, and the largest of all, which tells infinities and NaNs.
template <class Bits, class T>
inline void magnitudes_impl(const T* x, std::int64_t n, Bits& finite, Bits& any) {
  // Vectors below AVX-512 compare only signed numbers of 64 bits, which magnitudes are as well.
  using Signed = std::make_signed_t<Bits>;
  constexpr auto infinity = static_cast<Signed>(kInfinityBits<T>);
  Signed largest_finite = 0, largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto magnitude = static_cast<Signed>(magnitude_bits(x[i]));
    const Signed kept = magnitude < infinity ? magnitude : 0;
    largest_finite = kept > largest_finite ? kept : largest_finite;
    largest = magnitude > largest ? magnitude : largest;
  }
  finite = static_cast<Bits>(largest_finite);
  any = static_cast<Bits>(largest);
}

// Sum of (x * first * second)^2 over the finite entries; the two powers of two together are 2^-e and keep within range.
template <class T>
inline double squares_impl(const T* x, std::int64_t n, double first, double second) {
  constexpr int lanes = 8;
  double sum[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int l = 0; l < lanes; ++l) {
      const double y = magnitude_bits(x[i + l]) < kInfinityBits<T> ? static_cast<double>(x[i + l]) * first * second : 0.0;
      sum[l] += y * y;
    }
  }
  for (; i < n; ++i) {
    const double y = magnitude_bits(x[i]) < kInfinityBits<T> ? static_cast<double>(x[i]) * first * second : 0.0;
    sum[0] += y * y;
  }
  double total = 0;
  for (double part : sum) total += part;
  return total;
}

OZFP4_VECTORISED void magnitudes(const double* x, std::int64_t n, std::uint64_t& finite, std::uint64_t& any) {
  magnitudes_impl(x, n, finite, any);
}
OZFP4_VECTORISED void magnitudes(const float* x, std::int64_t n, std::uint32_t& finite, std::uint32_t& any) {
  magnitudes_impl(x, n, finite, any);
}
OZFP4_VECTORISED double squares(const double* x, std::int64_t n, double first, double second) {
  return squares_impl(x, n, first, second);
}
OZFP4_VECTORISED double squares(const float* x, std::int64_t n, double first, double second) {
  return squares_impl(x, n, first, second);
}

// What is known of a line so far: sum of squares relative to 2^(2 exponent), and facts where they are wanted.
struct LineState {
  int exponent = kNoExponent;
  double sum = 0;
  std::uint8_t special = kFinite;
  LineFacts facts;
};

LineState state_of(const PieceFacts& piece) { return {piece.facts.exponent, piece.squares, piece.special, piece.facts}; }

template <class T>
void extend(LineState& line, const T* x, std::int64_t n) {
  FloatBits<T> finite, any;
  magnitudes(x, n, finite, any);
  if (any >= kInfinityBits<T>) {
    // A NaN can hide an infinity: look at each.
    for (std::int64_t i = 0; i < n; ++i) {
      const FloatBits<T> magnitude = magnitude_bits(x[i]);
      if (magnitude >= kInfinityBits<T>) line.special |= magnitude > kInfinityBits<T> ? kHasNan : kHasInfinity;
    }
  }
  if (finite == 0) return;
  const int exponent = exponent_of_magnitude<T>(finite);
  if (exponent > line.exponent) {
    line.sum = line.exponent == kNoExponent ? 0.0 : std::ldexp(line.sum, 2 * (line.exponent - exponent));
    line.exponent = exponent;
  }
  const int half = -line.exponent / 2;
  line.sum += squares(x, n, std::ldexp(1.0, half), std::ldexp(1.0, -line.exponent - half));
}

// Covers the rounding of k additions of squares.
double sum_margin(std::int64_t k) { return 1.0 + (static_cast<double>(k) + 64.0) * 0x1p-52; }

// Calls body(line, entries, n) for every piece of the lines [outer, outer + outers), outers <= kTileOuter.
template <class T, class Body>
void for_pieces(const OperandView& view, std::int64_t outer, std::int64_t outers, std::vector<T>& tile, const Body& body) {
  for (std::int64_t inner = 0; inner < view.inner; inner += kTileInner) {
    const std::int64_t inners = std::min(kTileInner, view.inner - inner);
    load_tile(view, outer, outers, inner, inners, tile.data());
    for (std::int64_t o = 0; o < outers; ++o) body(o, tile.data() + o * kTilePitch, inners);
  }
}

// Puts the number of rounded entries into the records of the lines [outer, outer + outers) that are not exact.
template <class T>
void count_lines(const OperandView& view, std::int64_t outer, std::int64_t outers, std::vector<T>& tile, Scales& scales) {
  LineRecord* records = scales.records.data() + outer;
  if (std::all_of(records, records + outers, [](const LineRecord& record) { return record.rounded == 0; })) return;
  std::int64_t count[kTileOuter] = {};
  for_pieces(view, outer, outers, tile, [&](std::int64_t o, const T* x, std::int64_t n) {
    if (records[o].rounded != 0) count[o] += count_rounded(x, n, scales.shift[outer + o]);
  });
  for (std::int64_t o = 0; o < outers; ++o) records[o].rounded = static_cast<std::uint64_t>(count[o]);
}

// The scale of line `index` from what is known of all of it. Returns its capacity.
int settle_line(const LineState& line, const ScaleRequest& request, std::size_t index, Scales& scales) {
  const int capacity = capacity_of(line.facts, request);
  const bool zero = line.exponent == kNoExponent;
  scales.shift[index] = zero ? 0 : scale_exponent(capacity, line.exponent);
  scales.special[index] = line.special;
  scales.exponent[index] = line.exponent;
  if (request.wants_records()) {
    scales.facts[index] = line.facts;
    scales.records[index] = make_record(line.facts, capacity);
  }
  return capacity;
}

void settle_line(const LineState& line, std::int64_t k, const ScaleRequest& request, std::size_t index, Scales& scales,
                 double& norm) {
  const int capacity = settle_line(line, request, index, scales);
  norm = norm_squared_bound(line.sum * sum_margin(k), k, capacity);
}

template <class T>
void scale_lines(const OperandView& view, const ScaleRequest& request, std::int64_t begin, std::int64_t end, Scales& scales,
                 double* norms) {
  std::vector<T> tile(static_cast<std::size_t>(kTileOuter * kTilePitch));
  const bool has_facts = request.wants_records();
  for (std::int64_t outer = begin; outer < end; outer += kTileOuter) {
    const std::int64_t outers = std::min(kTileOuter, end - outer);
    LineState lines[kTileOuter];
    for_pieces(view, outer, outers, tile, [&](std::int64_t o, const T* x, std::int64_t n) {
      extend(lines[o], x, n);
      if (has_facts) add_entries(lines[o].facts, x, n);
    });
    for (std::int64_t o = 0; o < outers; ++o)
      settle_line(lines[o], view.inner, request, static_cast<std::size_t>(outer + o), scales, norms[outer + o]);
    if (request.accuracy == Accuracy::correct) count_lines(view, outer, outers, tile, scales);
  }
}

template <class T>
void find_pieces(const OperandView& view, std::int64_t begin, std::int64_t end, PieceFacts* pieces) {
  std::vector<T> tile(static_cast<std::size_t>(kTileOuter * kTilePitch));
  for (std::int64_t outer = begin; outer < end; outer += kTileOuter) {
    const std::int64_t outers = std::min(kTileOuter, end - outer);
    LineState lines[kTileOuter];
    for_pieces(view, outer, outers, tile, [&](std::int64_t o, const T* x, std::int64_t n) {
      extend(lines[o], x, n);
      add_entries(lines[o].facts, x, n);
    });
    for (std::int64_t o = 0; o < outers; ++o)
      pieces[outer + o] = {lines[o].facts, lines[o].sum * sum_margin(view.inner), lines[o].special};
  }
}

std::int64_t lines_per_thread(const OperandView& operand) {
  return std::max<std::int64_t>(kTileOuter, 20000 / std::max<std::int64_t>(operand.inner, 1));
}

// What is known of all lines together.
void summarise(const std::vector<double>& norms, const ScaleRequest& request, Scales& scales) {
  end_scales(request, scales);
  for (const double norm : norms) scales.norm_squared = std::max(scales.norm_squared, norm);
}

}  // namespace

void begin_scales(std::size_t lines, const ScaleRequest& request, Scales& scales) {
  scales.shift.resize(lines);
  scales.special.resize(lines);
  scales.exponent.resize(lines);
  scales.records.resize(request.wants_records() ? lines : 0);
  scales.facts.resize(request.wants_records() ? lines : 0);
  scales.norm_squared = 0;
  scales.exponents = scales.capacities = {};
  scales.special_lines = 0;
}

void settle_scale(const PieceFacts& line, const ScaleRequest& request, std::size_t index, Scales& scales) {
  settle_line(state_of(line), request, index, scales);
}

void end_scales(const ScaleRequest& request, Scales& scales) {
  scales.special_lines = std::count_if(scales.special.begin(), scales.special.end(), [](auto own) { return own != kFinite; });
  LineRange exponents, capacities;
  for (const std::int32_t own : scales.exponent) {
    if (own != kNoExponent) exponents.extend({own, own});
  }
  for (std::size_t i = 0; i < scales.records.size(); ++i) {
    const std::int32_t own = scales.records[i].capacity;
    if (scales.exponent[i] != kNoExponent) capacities.extend({own, own});
  }
  if (!request.wants_records() && !exponents.empty()) capacities = {request.bits, request.bits};
  scales.exponents = exponents;
  scales.capacities = capacities;
}

Scales cpu_scale(const OperandView& operand, const ScaleRequest& request) {
  const auto lines = static_cast<std::size_t>(operand.outer);
  Scales scales;
  begin_scales(lines, request, scales);
  std::vector<double> norms(lines);
  parallel_for_units(operand.outer, kTileOuter, lines_per_thread(operand), [&](std::int64_t begin, std::int64_t end) {
    with_float(operand.type, [&](auto zero) { scale_lines<decltype(zero)>(operand, request, begin, end, scales, norms.data()); });
  });
  summarise(norms, request, scales);
  return scales;
}

std::vector<PieceFacts> cpu_piece_facts(const OperandView& operand) {
  std::vector<PieceFacts> pieces(static_cast<std::size_t>(operand.outer));
  parallel_for_units(operand.outer, kTileOuter, lines_per_thread(operand), [&](std::int64_t begin, std::int64_t end) {
    with_float(operand.type, [&](auto zero) { find_pieces<decltype(zero)>(operand, begin, end, pieces.data()); });
  });
  return pieces;
}

Scales scales_of(const std::vector<PieceFacts>& lines, std::int64_t k, const ScaleRequest& request) {
  Scales scales;
  begin_scales(lines.size(), request, scales);
  std::vector<double> norms(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) settle_line(state_of(lines[i]), k, request, i, scales, norms[i]);
  summarise(norms, request, scales);
  return scales;
}

void cpu_count_rounded(const OperandView& operand, Scales& scales) {
  parallel_for_units(operand.outer, kTileOuter, lines_per_thread(operand), [&](std::int64_t begin, std::int64_t end) {
    with_float(operand.type, [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> tile(static_cast<std::size_t>(kTileOuter * kTilePitch));
      for (std::int64_t outer = begin; outer < end; outer += kTileOuter)
        count_lines(operand, outer, std::min(kTileOuter, end - outer), tile, scales);
    });
  });
}

}  // namespace ozfp4
