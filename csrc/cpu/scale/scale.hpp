// Stage 1, scale. For each row of A (column of B) the exponent e of its largest finite magnitude gives the scale exponent s = c -
// 1 - e. It is 0 for a line without finite nonzero entries. The integers are round(a * 2^s), ties to even. The capacity c is
// given, or chosen by the line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "arith/accuracy/capacity.hpp"
#include "arith/accuracy/certificate.hpp"
#include "arith/accuracy/line_facts.hpp"
#include "arith/scale_entry.hpp"
#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4 {

// The exponents of lines that have a finite nonzero entry; empty: none has.
struct LineRange {
  std::int32_t least = std::numeric_limits<std::int32_t>::max(), largest = std::numeric_limits<std::int32_t>::min();

  bool empty() const { return least > largest; }
  void extend(const LineRange& other) {
    least = std::min(least, other.least);
    largest = std::max(largest, other.largest);
  }
};

struct Scales {
  std::vector<std::int32_t> shift;     // s_i (t_j), one per line
  std::vector<std::uint8_t> special;   // Special flags, one per line
  std::vector<std::int32_t> exponent;  // of the largest finite magnitude of each line, kNoExponent for none
  std::vector<LineRecord> records;     // one per line where they are wanted, else empty
  std::vector<LineFacts> facts;        // likewise
  double norm_squared = 0;             // rigorous upper bound of the largest sum of squares of a line's integers
  LineRange exponents, capacities;
  std::int64_t special_lines = 0;
};

// The operands of a product, B seen from its columns, and the scales of all of their lines.
struct ScaledOperands {
  const OperandView& a;
  const Scales& scale_a;
  const OperandView& b;
  const Scales& scale_b;
};

// The choice of the lines' capacities. Precondition: bits in [kLeastBits, kMostBits]; precision that of the result.
struct ScaleRequest {
  Accuracy accuracy;
  int bits;
  int precision;
  bool has_bound = false;  // a bound of the error is wanted
  bool is_update = false;  // the product is added to something
  int longest = 0;         // for correct: the most bits of any line, instead of those by line_capacity; 0: those

  bool wants_records() const { return accuracy != Accuracy::scaled || has_bound || is_update; }
};

// The capacity of a line that these facts are of.
inline int capacity_of(const LineFacts& line, const ScaleRequest& request) {
  return request.longest > 0 ? capacity_of_span(request.accuracy, span(line), request.longest)
                             : line_capacity(request.accuracy, request.bits, line, request.precision, request.is_update);
}

// One pass over the operand, and where entries are counted one more over the lines that are rounded. float64 or float32 entries.
Scales cpu_scale(const OperandView& operand, const ScaleRequest& request);

// Where K is cut: the facts of pieces, one for each line of an operand that holds a piece of K. Then the scales that all pieces
// of a line share, from its pieces combined, `k` entries together. Then, for the lines that are not exact with these, how many
// entries of this piece are rounded, which replace the records' counts. Precondition: scales of the operand's lines, with
// records.
std::vector<PieceFacts> cpu_piece_facts(const OperandView& operand);
Scales scales_of(const std::vector<PieceFacts>& lines, std::int64_t k, const ScaleRequest& request);
void cpu_count_rounded(const OperandView& operand, Scales& scales);

// The same line by line in memory that is there, but for the norm, which is 0. First room for so many lines; then the scale of
// the line `index` from its facts, by any thread, which returns its capacity; when all have theirs, their common facts.
void begin_scales(std::size_t lines, const ScaleRequest& request, Scales& scales);
inline int finish_scale(const PieceFacts& line, const ScaleRequest& request, std::size_t index, Scales& scales) {
  const bool has_records = request.wants_records();
  const int capacity = has_records ? capacity_of(line.facts, request) : request.bits;
  const std::int32_t exponent = line.facts.exponent;
  scales.shift[index] = exponent == kNoExponent ? 0 : scale_exponent(capacity, exponent);
  scales.special[index] = line.special;
  scales.exponent[index] = exponent;
  if (has_records) {
    scales.facts[index] = line.facts;
    scales.records[index] = make_record(line.facts, capacity);
  }
  return capacity;
}
void end_scales(const ScaleRequest& request, Scales& scales);

inline Scales cpu_scale(const OperandView& operand, int capacity) { return cpu_scale(operand, {Accuracy::scaled, capacity, 53}); }

}  // namespace ozfp4
