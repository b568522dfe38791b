#include "cpu/scale/scale.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>

#include "arith/float_fields.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"
#include "cpu/scale/facts.hpp"

namespace ozfp4 {
namespace {

// Room for a tile of entries, of FP64 at most.
constexpr std::int64_t kTileRoom = kTileOuter * kTilePitch * static_cast<std::int64_t>(sizeof(double));

// Sum of (x * first * second)^2 over the finite entries; the two powers of two together are 2^-e and keep within range.
OZFP4_VECTORISED double squares(const double* x, std::int64_t n, double first, double second) {
  constexpr int lanes = 8;
  double sum[lanes] = {};
  const auto square = [&](double entry) {
    const double y = magnitude_bits(entry) < kInfinityBits<double> ? entry * first * second : 0.0;
    return y * y;
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int l = 0; l < lanes; ++l) sum[l] += square(x[i + l]);
  }
  for (; i < n; ++i) sum[0] += square(x[i]);
  double total = 0;
  for (double part : sum) total += part;
  return total;
}

// Covers the rounding of k additions of squares.
double sum_margin(std::int64_t k) { return 1.0 + (static_cast<double>(k) + 64.0) * 0x1p-52; }

// Adds the entries to what is known of a line so far.
void extend(PieceFacts& line, const double* x, std::int64_t n, bool has_facts) {
  const int before = line.facts.exponent;
  add_entries(line, x, n, has_facts);
  const int exponent = line.facts.exponent;
  if (exponent == kNoExponent) return;
  if (exponent > before) line.squares = std::ldexp(line.squares, 2 * (before - exponent));
  const int half = -exponent / 2;
  line.squares += squares(x, n, std::ldexp(1.0, half), std::ldexp(1.0, -exponent - half));
}

// for_pieces with the entries as FP64 numbers. `tile`: kTileRoom bytes.
template <class Body>
void for_numbers(const OperandView& view, std::int64_t outer, std::int64_t outers, char* tile, const Body& body) {
  with_float(view.type, [&](auto zero) {
    using T = decltype(zero);
    for_pieces(view, outer, outers, reinterpret_cast<T*>(tile), [&](std::int64_t line, std::int64_t, const T* x, std::int64_t n) {
      if constexpr (std::is_same_v<T, double>) {
        body(line, x, n);
      } else {
        double wide[kTileInner];
        std::copy_n(x, n, wide);
        body(line, wide, n);
      }
    });
  });
}

// The facts of the lines [outer, outer + outers).
void find_lines(const OperandView& view, std::int64_t outer, std::int64_t outers, bool has_facts, char* tile, PieceFacts* lines) {
  for_numbers(view, outer, outers, tile,
              [&](std::int64_t line, const double* x, std::int64_t n) { extend(lines[line - outer], x, n, has_facts); });
  for (std::int64_t o = 0; o < outers; ++o) lines[o].squares *= sum_margin(view.inner);
}

// Puts the number of rounded entries into the records of the lines [outer, outer + outers) that are not exact.
void count_lines(const OperandView& view, std::int64_t outer, std::int64_t outers, char* tile, Scales& scales) {
  LineRecord* records = scales.records.data() + outer;
  if (std::all_of(records, records + outers, [](const LineRecord& record) { return record.rounded == 0; })) return;
  std::int64_t count[kTileOuter] = {};
  for_numbers(view, outer, outers, tile, [&](std::int64_t line, const double* x, std::int64_t n) {
    if (records[line - outer].rounded != 0) count[line - outer] += count_rounded(x, n, scales.shift[line]);
  });
  for (std::int64_t o = 0; o < outers; ++o) records[o].rounded = static_cast<std::uint64_t>(count[o]);
}

// Calls body(outer, outers, tile) for groups of up to kTileOuter lines, on several threads.
template <class Body>
void for_groups(const OperandView& operand, const Body& body) {
  const std::int64_t grain = std::max<std::int64_t>(kTileOuter, 20000 / std::max<std::int64_t>(operand.inner, 1));
  parallel_for_units(operand.outer, kTileOuter, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::unique_ptr<char[]> tile(new char[kTileRoom]);  // scratch of a thread, besides the workspace
    for (std::int64_t outer = begin; outer < end; outer += kTileOuter) body(outer, std::min(kTileOuter, end - outer), tile.get());
  });
}

// Facts of all lines together.
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
  for_groups(operand, [&](std::int64_t outer, std::int64_t outers, char* tile) {
    PieceFacts own[kTileOuter];
    find_lines(operand, outer, outers, request.wants_records(), tile, own);
    for (std::int64_t o = 0; o < outers; ++o) {
      const int capacity = finish_scale(own[o], request, static_cast<std::size_t>(outer + o), scales);
      norms[outer + o] = norm_squared_bound(own[o].squares, operand.inner, capacity);
    }
    if (request.accuracy == Accuracy::correct) count_lines(operand, outer, outers, tile, scales);
  });
  summarise(norms, request, scales);
  return scales;
}

std::vector<PieceFacts> cpu_piece_facts(const OperandView& operand) {
  std::vector<PieceFacts> pieces(static_cast<std::size_t>(operand.outer));
  for_groups(operand, [&](std::int64_t outer, std::int64_t outers, char* tile) {
    find_lines(operand, outer, outers, true, tile, pieces.data() + outer);
  });
  return pieces;
}

Scales scales_of(const std::vector<PieceFacts>& lines, std::int64_t k, const ScaleRequest& request) {
  Scales scales;
  begin_scales(lines.size(), request, scales);
  std::vector<double> norms(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    norms[i] = norm_squared_bound(lines[i].squares, k, finish_scale(lines[i], request, i, scales));
  summarise(norms, request, scales);
  return scales;
}

void cpu_count_rounded(const OperandView& operand, Scales& scales) {
  for_groups(operand,
             [&](std::int64_t outer, std::int64_t outers, char* tile) { count_lines(operand, outer, outers, tile, scales); });
}

}  // namespace ozfp4
