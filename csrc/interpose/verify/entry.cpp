#include "interpose/verify/entry.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "interpose/verify/exact_sum.hpp"
#include "ozfp4.h"

namespace ozfp4::interpose {
namespace {

Complex load(Type type, const void* matrix, std::int64_t place) {
  const char* at = static_cast<const char*>(matrix) + place * static_cast<std::int64_t>(size_of(type));
  const Factor found = factor(type, at);
  return {found.real, found.imaginary};
}

Complex operand(const Product& p, const void* matrix, std::int64_t leading, int op, std::int64_t row, std::int64_t column) {
  const bool is_transposed = op != no_transpose, by_row = p.order == row_major;
  Complex found = load(p.type, matrix, is_transposed == by_row ? row + column * leading : row * leading + column);
  if (op == conjugate_transpose) found.imaginary = -found.imaginary;
  return found;
}

using Line = std::vector<Complex>;

bool is_finite(const Complex& x) { return std::isfinite(x.real) && std::isfinite(x.imaginary); }
bool is_finite(const Line& line) {
  return std::all_of(line.begin(), line.end(), [](const Complex& x) { return is_finite(x); });
}

// Scaled: entries rounded to `bits` bits of the line's largest, ties to even.
void round_line(Line& line, int bits) {
  double largest = 0;
  for (const Complex& x : line) largest = std::max({largest, std::fabs(x.real), std::fabs(x.imaginary)});
  if (largest == 0) return;
  int exponent = 0;
  std::frexp(largest, &exponent);
  const int last = exponent - bits;  // of the last bit that is kept
  if (last <= -1074) return;
  const auto round = [last](double x) {
    int own = 0;
    std::frexp(x, &own);
    if (x == 0 || own - 53 >= last) return x;
    return std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);  // |x| 2^-last is below 2^bits, and no subnormal number
  };
  for (Complex& x : line) x = {round(x.real), round(x.imaginary)};
}

// Real and imaginary part of alpha row column + beta c; what is added is positive where `magnitudes`.
struct Sums {
  ExactSum real, imaginary;
};

void add(ExactSum& sum, double x, double y, double z, bool magnitudes) {
  if (magnitudes) {
    sum.add(std::fabs(x), std::fabs(y), std::fabs(z));
  } else {
    sum.add(x, y, z);
  }
}

void add_product(Sums& sums, bool is_complex, Factor alpha, Complex a, Complex b, bool magnitudes) {
  add(sums.real, alpha.real, a.real, b.real, magnitudes);
  if (!is_complex) return;
  add(sums.real, -alpha.real, a.imaginary, b.imaginary, magnitudes);
  add(sums.imaginary, alpha.real, a.real, b.imaginary, magnitudes);
  add(sums.imaginary, alpha.real, a.imaginary, b.real, magnitudes);
  if (alpha.imaginary == 0) return;
  add(sums.imaginary, alpha.imaginary, a.real, b.real, magnitudes);
  add(sums.imaginary, -alpha.imaginary, a.imaginary, b.imaginary, magnitudes);
  add(sums.real, -alpha.imaginary, a.real, b.imaginary, magnitudes);
  add(sums.real, -alpha.imaginary, a.imaginary, b.real, magnitudes);
}

Sums sums_of(bool is_complex, const Line& row, const Line& column, Factor alpha, bool magnitudes) {
  Sums sums;
  for (std::size_t l = 0; l < row.size(); ++l) add_product(sums, is_complex, alpha, row[l], column[l], magnitudes);
  return sums;
}

Complex rounded_sums(const Sums& sums, int precision) {
  return {sums.real.rounded(precision), sums.imaginary.rounded(precision)};
}

bool has_both(Factor x) { return x.real != 0 && x.imaginary != 0; }

// |found - exact| <= n (u magnitudes + factor eta / 2) + half a unit in the last place of what was found, but for 2^-50 of that.
bool is_within(double found, ExactSum error, const ExactSum& magnitudes, double n, double factor, int precision) {
  if (!std::isfinite(found)) return false;
  error.add(-found, 1, 1);
  const long double least = precision == 53 ? 0x1p-1074 : 0x1p-149;
  int exponent = 0;
  std::frexp(found, &exponent);
  const long double unit = std::max(std::ldexp(1.0L, exponent - precision), least);
  const long double bound = n * (std::ldexp(magnitudes.magnitude_about(), -precision) + factor * least / 2) + unit / 2;
  return error.magnitude_about() <= bound * (1 + 0x1p-50L);
}

// Of real types: NaN or the infinity that IEEE's sum of products has, and whether `found` is that.
Checked check_special(const Line& row, const Line& column, Factor alpha, Factor beta, Complex before, Complex found) {
  double sum = 0;
  const auto add_term = [&sum](double x, double y) {
    if (std::isfinite(x) && std::isfinite(y)) return;
    sum += x * y;  // NaN or infinite
  };
  for (std::size_t l = 0; l < row.size(); ++l) add_term(row[l].real, column[l].real);
  sum *= alpha.real;
  if (beta.real != 0 && !std::isfinite(before.real)) sum += beta.real * before.real;
  const bool is_same = std::isnan(sum) ? std::isnan(found.real) : sum == found.real;
  return {is_same ? Finding::correct : Finding::wrong, {sum, 0}};
}

}  // namespace

Complex entry_of_c(const Product& product, Place place) {
  return operand(product, product.c, product.ldc, no_transpose, place.row, place.column);
}

Checked check_entry(const Product& p, int accuracy, Place place, Complex before) {
  const bool complex = is_complex(p.type);
  const int precision = is_single(p.type) ? 24 : 53;
  const Complex found = entry_of_c(p, place);
  const Factor alpha = factor(p.type, p.alpha), beta = factor(p.type, p.beta);
  const bool multiplies = alpha.real != 0 || alpha.imaginary != 0;  // else neither A nor B is read
  Line row, column;
  for (std::int64_t l = 0; l < p.k && multiplies; ++l) {
    row.push_back(operand(p, p.a, p.lda, p.transpose_a, place.row, l));
    column.push_back(operand(p, p.b, p.ldb, p.transpose_b, l, place.column));
  }
  const bool reads_c = beta.real != 0 || beta.imaginary != 0;
  if (!is_finite(row) || !is_finite(column) || (reads_c && !is_finite(before))) {
    if (complex) return {Finding::not_finite, {}};
    return check_special(row, column, alpha, beta, before, found);
  }
  if (accuracy == OZFP4_ACCURACY_SCALED) {
    round_line(row, precision);
    round_line(column, precision);
  }
  Sums exact;
  // As ozfp4.h says: A B is then rounded first, and where it is to be correct what that lost is rounded, too, and kept.
  const bool is_in_two_steps = has_both(alpha) || has_both(beta);
  if (is_in_two_steps) {
    Sums product = sums_of(complex, row, column, {1, 0}, false);
    const Complex rounded = rounded_sums(product, precision);
    if (!is_finite(rounded)) return {Finding::not_finite, {}};
    add_product(exact, complex, alpha, rounded, {1, 0}, false);
    if (accuracy == OZFP4_ACCURACY_CORRECT) {
      product.real.add(-rounded.real, 1, 1);
      product.imaginary.add(-rounded.imaginary, 1, 1);
      add_product(exact, complex, alpha, rounded_sums(product, precision), {1, 0}, false);
    }
  } else {
    exact = sums_of(complex, row, column, alpha, false);
  }
  if (reads_c) add_product(exact, complex, beta, before, {1, 0}, false);
  const Complex right = rounded_sums(exact, precision);
  if (right.real == found.real && right.imaginary == found.imaginary) return {Finding::correct, right};
  if (accuracy != OZFP4_ACCURACY_STANDARD) return {Finding::wrong, right};
  // Each part is a sum of two products for each index where the type is complex; what two steps add is below that of one or two
  // terms. Only products that are not 0 count.
  const Sums sizes = sums_of(complex, row, column, alpha, true);
  const auto nonzeros = [](const Line& line) {
    return std::count_if(line.begin(), line.end(), [](const Complex& x) { return x.real != 0 || x.imaginary != 0; });
  };
  const auto products = static_cast<double>(std::min(nonzeros(row), nonzeros(column))) * (complex ? 2 : 1);
  const double n = products + (is_in_two_steps ? 2 : 0);
  const double factor = std::fabs(alpha.real) + std::fabs(alpha.imaginary);
  const bool within = is_within(found.real, exact.real, sizes.real, n, factor, precision) &&
                      is_within(found.imaginary, exact.imaginary, sizes.imaginary, n, factor, precision);
  return {within ? Finding::within_bound : Finding::wrong, right};
}

}  // namespace ozfp4::interpose
