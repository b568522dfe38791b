// Checks of entries, by sums that share nothing with what makes products.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "exec/exact_sum.hpp"
#include "exec/verify.hpp"
#include "ozfp4.h"

namespace ozfp4::exec {
namespace {

using Line = std::vector<Complex>;

bool is_finite(const Complex& x) { return std::isfinite(x.real) && std::isfinite(x.imaginary); }
bool is_finite(const Line& line) {
  return std::all_of(line.begin(), line.end(), [](const Complex& x) { return is_finite(x); });
}

// `count` entries of op(X) from one on, along its row or its column. Empty where they cannot be read.
Line line_of(const Product& p, const void* matrix, std::int64_t leading, int op, std::int64_t row, std::int64_t column,
             bool along_row, std::int64_t count, Read read, void* stream) {
  const bool is_turned = op != no_transpose;
  const std::int64_t first = is_turned ? place_of(p, leading, column, row) : place_of(p, leading, row, column);
  const std::int64_t step = (along_row != is_turned) != (p.order == row_major) ? leading : 1;
  const std::size_t bytes = size_of(p.type);
  std::vector<char> entries(bytes * static_cast<std::size_t>(count));
  if (!read(entries.data(), static_cast<const char*>(matrix) + first, bytes, step, count, stream)) return {};
  Line line;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const Factor x = factor(p.type, entries.data() + bytes * i);
    line.push_back({x.real, op == conjugate_transpose ? -x.imaginary : x.imaginary});
  }
  return line;
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
  return {is_same ? Finding::correct : Finding::wrong, {sum, 0}, found};
}

}  // namespace

bool read_from_host(void* to, const void* from, std::size_t bytes, std::int64_t step, std::int64_t count, void*) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto gap = static_cast<std::int64_t>(bytes);
    std::memcpy(static_cast<char*>(to) + i * gap, static_cast<const char*>(from) + i * step * gap, bytes);
  }
  return true;
}

Checked check_entry(const Product& product, int accuracy, const Sample& entry, Read read, void* stream) {
  const Product p = matrix_of(product, entry.matrix);
  const bool complex = is_complex(p.type);
  const int precision = is_single(p.type) ? 24 : 53;
  const Factor alpha = factor(p.type, p.alpha), beta = factor(p.type, p.beta);
  const bool reads_c = beta.real != 0 || beta.imaginary != 0;
  const std::int64_t k = alpha.real != 0 || alpha.imaginary != 0 ? p.k : 0;  // else neither A nor B is read
  const Line c = line_of(p, p.c, p.ldc, no_transpose, entry.row, entry.column, true, 1, read, stream);
  Line row = line_of(p, p.a, p.lda, p.transpose_a, entry.row, 0, true, k, read, stream);
  Line column = line_of(p, p.b, p.ldb, p.transpose_b, 0, entry.column, false, k, read, stream);
  if (c.empty() || static_cast<std::int64_t>(row.size()) != k || static_cast<std::int64_t>(column.size()) != k) {
    return {Finding::unread, {}, {}};
  }
  const Complex found = c[0], before = entry.before;
  if (!is_finite(row) || !is_finite(column) || (reads_c && !is_finite(before))) {
    if (complex) return {Finding::not_finite, {}, found};
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
    Sums exact_product = sums_of(complex, row, column, {1, 0}, false);
    const Complex rounded = rounded_sums(exact_product, precision);
    if (!is_finite(rounded)) return {Finding::not_finite, {}, found};
    add_product(exact, complex, alpha, rounded, {1, 0}, false);
    if (accuracy == OZFP4_ACCURACY_CORRECT) {
      exact_product.real.add(-rounded.real, 1, 1);
      exact_product.imaginary.add(-rounded.imaginary, 1, 1);
      add_product(exact, complex, alpha, rounded_sums(exact_product, precision), {1, 0}, false);
    }
  } else {
    exact = sums_of(complex, row, column, alpha, false);
  }
  if (reads_c) add_product(exact, complex, beta, before, {1, 0}, false);
  const Complex right = rounded_sums(exact, precision);
  if (right.real == found.real && right.imaginary == found.imaginary) return {Finding::correct, right, found};
  if (accuracy != OZFP4_ACCURACY_STANDARD) return {Finding::wrong, right, found};
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
  return {within ? Finding::within_bound : Finding::wrong, right, found};
}

}  // namespace ozfp4::exec
