#include "cpu/repair/longer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "arith/accuracy/capacity.hpp"
#include "cpu/blocks.hpp"
#include "cpu/repair/correct_dot.hpp"

namespace ozfp4 {
namespace {

constexpr int kLines = 8;  // of each operand in the sample
constexpr std::int64_t kLeastLines = 128, kLeastProducts = 1 << 22;
constexpr int kStep = 4;                  // bits, of which both operands' together are about one modulus
constexpr double kPairNanoseconds = 0.5;  // of a term of an entry that is summed alone, on one thread
constexpr double kLeastGain = 0.9;

// What decides whether an entry is certain: its lines, and about log2 of its magnitude, -infinity where nothing is left.
struct SampledEntry {
  LineFacts row, column;
  double magnitude;
};

template <class A, class B>
void take_sample(const OperandView& a, const OperandView& b, std::vector<SampledEntry>& entries) {
  const auto line_of = [](const OperandView& view, double place, auto zero) {
    const auto index = std::min(static_cast<std::int64_t>(place * static_cast<double>(view.outer)), view.outer - 1);
    const char* data = view.data + index * view.outer_stride;
    return DotLine<decltype(zero)>{data, view.inner_stride, facts_of<decltype(zero)>(data, view.inner_stride, view.inner)};
  };
  DotLine<B> columns[kLines];
  constexpr double golden = 0.6180339887498949;  // multiples of it lie evenly, on no diagonal of the rows' places
  for (int j = 0; j < kLines; ++j) columns[j] = line_of(b, std::fmod((j + 1) * golden, 1.0), B());
  for (int i = 0; i < kLines; ++i) {
    const DotLine<A> row = line_of(a, (i + 0.5) / kLines, A());
    for (const DotLine<B>& column : columns) entries.push_back({row.facts, column.facts, log2_of_dot(row, column, a.inner)});
  }
}

// The share of entries like this one that the rounding test leaves, in integers of these capacities: those that lie within the
// error of a number where the rounding changes.
double share_left(const SampledEntry& entry, int row_bits, int column_bits, int precision) {
  const bool is_row_rounded = span(entry.row) > row_bits, is_column_rounded = span(entry.column) > column_bits;
  if ((!is_row_rounded && !is_column_rounded) || std::isnan(entry.magnitude)) return 0;
  const double terms = static_cast<double>(std::min(entry.row.nonzeros, entry.column.nonzeros));
  const double error = terms * ((is_column_rounded ? std::ldexp(1.0, row_bits - 1) : 0.0) +
                                (is_row_rounded ? std::ldexp(1.0, column_bits - 1) : 0.0));
  const double integer = entry.magnitude + (row_bits - 1 - entry.row.exponent) + (column_bits - 1 - entry.column.exponent);
  return std::min(1.0, std::exp2(std::log2(error) + precision + 1 - integer));
}

}  // namespace

std::optional<Plan> longer_plan(const Plan& plan, const OperandView& a, const OperandView& b, const ScaleRequest& request) {
  const double products = static_cast<double>(a.outer) * static_cast<double>(b.outer) * static_cast<double>(a.inner);
  if (std::min(a.outer, b.outer) < kLeastLines || products < kLeastProducts) return std::nullopt;
  std::vector<SampledEntry> entries;
  with_float(a.type, [&](auto x) { with_float(b.type, [&](auto y) { take_sample<decltype(x), decltype(y)>(a, b, entries); }); });
  // Nanoseconds of a term of an entry, where lines have the capacities of `bits_of`, `most` at most.
  const double of_bit = product_nanoseconds(plan) * plan.products() / plan.bits;
  const auto cost = [&](int most, const auto& bits_of) {
    double left = 0;
    for (const SampledEntry& entry : entries)
      left += share_left(entry, bits_of(entry.row), bits_of(entry.column), request.precision);
    return most * of_bit + left / static_cast<double>(entries.size()) * kPairNanoseconds;
  };
  const int usual = accuracy_bits(Accuracy::correct, request.precision);
  double least = kLeastGain * cost(usual, [&](const LineFacts& facts) {
                   return line_capacity(Accuracy::correct, usual, facts, request.precision, request.is_update);
                 });
  int best = usual;
  for (int bits = usual + kStep; bits <= kMostBits; bits += kStep) {
    const double own =
        cost(bits, [bits](const LineFacts& facts) { return capacity_of_span(Accuracy::correct, span(facts), bits); });
    if (own < least) best = bits, least = own;
  }
  for (; best > usual; best -= 2 * kStep) {
    try {
      return make_plan({plan.scheme, plan.alphabet, plan.family, best, a.inner, plan.is_complex});
    } catch (const std::length_error&) {  // the alphabet's moduli, or its digits, do not reach so far
    }
  }
  return std::nullopt;
}

}  // namespace ozfp4
