#include <cmath>
#include <limits>
#include <vector>

#include "cpu/reconstruct/reconstruct.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

double entry(const OperandView& view, std::int64_t outer, std::int64_t inner) {
  return with_float(view.type, [&](auto zero) { return static_cast<double>(load<decltype(zero)>(view.at(outer, inner))); });
}

// The sum of the products that the infinities of one line (at `places`) take part in: an infinity or NaN. The other
// products of the sum are finite and change nothing.
double meet(const OperandView& special, std::int64_t s, const std::vector<std::int64_t>& places, const OperandView& other,
            std::int64_t o) {
  bool plus = false, minus = false;
  for (const std::int64_t k : places) {
    const double product = entry(special, s, k) * entry(other, o, k);
    if (std::isnan(product)) return std::numeric_limits<double>::quiet_NaN();  // one NaN, whatever the processor makes
    plus = plus || product > 0;
    minus = minus || product < 0;
  }
  if (plus && minus) return std::numeric_limits<double>::quiet_NaN();
  return plus ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

std::vector<std::int64_t> infinities(const OperandView& view, std::int64_t outer) {
  std::vector<std::int64_t> places;
  for (std::int64_t k = 0; k < view.inner; ++k) {
    if (std::isinf(entry(view, outer, k))) places.push_back(k);
  }
  return places;
}

// Puts what a NaN or infinite entry of the product becomes. Each entry once: C may lie there.
void put_special(const Target& target, std::int64_t row, std::int64_t column, double product) {
  const TargetUpdate& update = target.update;
  put(target.result, row, column,
      update.is_asked ? special_update(update.factors, product, update.addend(row, column)) : product);
}

// The sum of what the infinities of a row and those of a column give.
double join(double x, double y) {
  if (std::isnan(x) || std::isnan(y) || x != y) return std::numeric_limits<double>::quiet_NaN();
  return x;
}

}  // namespace

void cpu_patch_specials(const ScaledOperands& of, const Target& target) {
  const auto& [a, scale_a, b, scale_b] = of;
  const ResultView& result = target.result;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::int64_t> special_columns;
  std::vector<std::vector<std::int64_t>> column_places(static_cast<std::size_t>(result.columns));
  for (std::int64_t j = 0; j < result.columns; ++j) {
    const auto flags = scale_b.special[static_cast<std::size_t>(j)];
    if (flags == kFinite) continue;
    special_columns.push_back(j);
    if (!(flags & kHasNan)) column_places[static_cast<std::size_t>(j)] = infinities(b, j);
  }
  parallel_for(result.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto row_flags = scale_a.special[static_cast<std::size_t>(i)];
      const std::vector<std::int64_t> places = row_flags == kHasInfinity ? infinities(a, i) : std::vector<std::int64_t>();
      const auto patch = [&](std::int64_t j) {
        const auto flags = scale_b.special[static_cast<std::size_t>(j)];
        if ((row_flags | flags) & kHasNan) return put_special(target, i, j, nan);
        const auto from_row = [&] { return meet(a, i, places, b, j); };
        const auto from_column = [&] { return meet(b, j, column_places[static_cast<std::size_t>(j)], a, i); };
        put_special(target, i, j,
                    flags == kFinite       ? from_row()
                    : row_flags == kFinite ? from_column()
                                           : join(from_row(), from_column()));
      };
      if (row_flags == kFinite) {
        for (const std::int64_t j : special_columns) patch(j);
      } else {
        for (std::int64_t j = 0; j < result.columns; ++j) patch(j);
      }
    }
  });
}

}  // namespace ozfp4
