#include "cpu/longer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "arith/accuracy/capacity.hpp"
#include "cpu/blocks.hpp"
#include "cpu/repair/correct_dot.hpp"
#include "plan/choice.hpp"

namespace ozfp4 {
namespace {

constexpr int kLines = 8;  // of each operand in the sample
constexpr std::int64_t kLeastLines = 128, kLeastProducts = 1 << 22;
constexpr int kStep = 4;                  // bits, of which both operands' together are about one modulus
constexpr double kPairNanoseconds = 0.5;  // of a term of an entry that is summed alone, on one thread
constexpr double kEntryNanoseconds = 50;  // more of an entry that is rounded from longer integers
constexpr double kLeastGain = 0.9;

// The lines of an entry, which decide whether it is certain, and about log2 of its magnitude, -infinity where nothing is left.
struct SampledEntry {
  LineFacts row, column;
  double magnitude;
};

std::vector<SampledEntry> take_sample(const OperandView& a, const OperandView& b) {
  const auto line_of = [](const OperandView& view, double place) {
    const auto index = std::min(static_cast<std::int64_t>(place * static_cast<double>(view.outer)), view.outer - 1);
    return dot_line(view.data + index * view.outer_stride, view.inner_stride, view.type, view.inner);
  };
  DotLine columns[kLines];
  constexpr double golden = 0.6180339887498949;  // multiples of it lie evenly, on no diagonal of the rows' places
  for (int j = 0; j < kLines; ++j) columns[j] = line_of(b, std::fmod((j + 1) * golden, 1.0));
  std::vector<SampledEntry> entries;
  for (int i = 0; i < kLines; ++i) {
    const DotLine row = line_of(a, (i + 0.5) / kLines);
    for (const DotLine& column : columns) entries.push_back({row.facts, column.facts, log2_of_dot(row, column, a.inner)});
  }
  return entries;
}

// The share of entries like this one that the rounding test leaves, in integers of these capacities: those that lie within the
// error of a number where the rounding changes.
double share_left(const SampledEntry& entry, int row_bits, int column_bits, int precision) {
  const bool is_row_rounded = span(entry.row) > row_bits, is_column_rounded = span(entry.column) > column_bits;
  // No magnitude: of special lines, and where lines are disjoint or cancel, which more bits do not change.
  if ((!is_row_rounded && !is_column_rounded) || !std::isfinite(entry.magnitude)) return 0;
  const double terms = static_cast<double>(std::min(entry.row.nonzeros, entry.column.nonzeros));
  const double error = terms * ((is_column_rounded ? std::ldexp(1.0, row_bits - 1) : 0.0) +
                                (is_row_rounded ? std::ldexp(1.0, column_bits - 1) : 0.0));
  const double integer = entry.magnitude + (row_bits - 1 - entry.row.exponent) + (column_bits - 1 - entry.column.exponent);
  return std::min(1.0, std::exp2(std::log2(error) + precision + 1 - integer));
}

}  // namespace

std::shared_ptr<const Plan> longer_plan(const Plan& plan, const OperandView& a, const OperandView& b,
                                        const ScaleRequest& request) {
  const double products = static_cast<double>(a.outer) * static_cast<double>(b.outer) * static_cast<double>(a.inner);
  if (std::min(a.outer, b.outer) < kLeastLines || products < kLeastProducts) return nullptr;
  const std::vector<SampledEntry> entries = take_sample(a, b);
  const auto of_pairs = [&](const auto& bits_of) {  // nanoseconds of a term of an entry, on average
    double left = 0;
    for (const SampledEntry& entry : entries)
      left += share_left(entry, bits_of(entry.row), bits_of(entry.column), request.precision);
    return left / static_cast<double>(entries.size()) * kPairNanoseconds;
  };
  const auto of_longer_pairs = [&](int bits) {
    return of_pairs([bits](const LineFacts& facts) { return capacity_of_span(Accuracy::correct, span(facts), bits); });
  };
  const auto of_products = [](const Plan& x) { return product_nanoseconds(x) * x.products() / (x.width() * x.width()); };
  const double of_entry = kEntryNanoseconds / static_cast<double>(a.inner);
  const int usual = accuracy_bits(Accuracy::correct, request.precision);
  const double most = kLeastGain * (of_products(plan) + of_pairs([&](const LineFacts& facts) {
                                      return line_capacity(Accuracy::correct, usual, facts, request.precision, request.is_update);
                                    }));
  // About as many products more as there are bits more; what they are shows when there is a plan.
  double least = most;
  int best = 0;
  for (int bits = std::max(usual, plan.bits) + kStep; bits <= kMostBits; bits += kStep) {
    const double own = of_products(plan) * bits / plan.bits + of_longer_pairs(bits) + of_entry;
    if (own < least) best = bits, least = own;
  }
  if (best == 0 || plan.family == kGivenFamily) return nullptr;
  for (; best > usual; best -= 2 * kStep) {
    try {
      auto longer = find_plan({plan.scheme, plan.alphabet, plan.family, best, a.inner}, plan.is_complex);
      const bool pays = of_products(*longer) + of_longer_pairs(best) + of_entry < most;
      return pays ? longer : nullptr;
    } catch (const std::length_error&) {  // the alphabet's moduli, or its digits, do not reach so far
    }
  }
  return nullptr;
}

}  // namespace ozfp4
