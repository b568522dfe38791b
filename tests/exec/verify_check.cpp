// What `ozfp4 exec --verify` holds results against: exact sums against the hardware's own roundings, and entries that are right,
// wrong by a unit in the last place, and wrong by more.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "exec/exact_sum.hpp"
#include "exec/verify.hpp"
#include "ozfp4.h"

using namespace ozfp4::exec;

namespace {

// Of any bits: subnormal, the largest, all between.
double any_number() {
  for (;;) {
    const std::uint64_t bits = generator();
    double x;
    std::memcpy(&x, &bits, sizeof x);
    if (std::isfinite(x)) return x;
  }
}

float any_single() {
  for (;;) {
    const auto bits = static_cast<std::uint32_t>(generator());
    float x;
    std::memcpy(&x, &bits, sizeof x);
    if (std::isfinite(x)) return x;
  }
}

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

double sum_of(std::initializer_list<double> numbers, int precision = 53) {
  ExactSum sum;
  for (const double x : numbers) sum.add(x, 1, 1);
  return sum.rounded(precision);
}

void check_sums() {
  bool products = true, sums = true, singles = true, fused = true;
  for (int i = 0; i < 20000; ++i) {
    const double x = any_number(), y = any_number(), scale = std::ldexp(1.0, random_int(-1000, 1000));
    ExactSum product, fma;
    product.add(x, y, 1);
    products = products && same(product.rounded(53), x * y);
    const double near = std::ldexp(y, random_int(-60, 60) + std::ilogb(x) - std::ilogb(y));
    sums = sums && (!std::isfinite(near) || same(sum_of({x, near}), x + near));
    const double u = std::ldexp(x, -std::ilogb(x)), v = std::ldexp(y, -std::ilogb(y));
    fma.add(u, v, scale);
    fma.add(-(u * v), scale, 1);
    fused = fused && same(fma.rounded(53), std::fma(u, v, -(u * v)) * scale);
    const float f = any_single(), g = any_single();
    ExactSum single;
    single.add(f, g, 1);
    singles = singles && same(single.rounded(24), static_cast<double>(f * g));
  }
  report("products are rounded as the processor does", products);
  report("sums are rounded as the processor does", sums);
  report("what a product's rounding leaves", fused);
  report("products of single precision", singles);
  const double most = std::numeric_limits<double>::max(), least = 0x1p-1074;
  report("ties to even", sum_of({1, 0x1p-53}) == 1 && sum_of({1, 0x1p-53, least}) == 1 + 0x1p-52 &&
                             sum_of({1 + 0x1p-52, 0x1p-53}) == 1 + 0x1p-51);
  report("all cancels", sum_of({most, least, -most, -least}) == 0 && sum_of({most, least, -most}) == least);
  report("beyond the largest",
         std::isinf(sum_of({most, 0x1p970})) && sum_of({most, 0x1p969}) == most && std::isinf(-sum_of({-most, -most})));
  ExactSum cubes;
  for (int i = 0; i < 1000; ++i) cubes.add(most, most, most);
  for (int i = 0; i < 1000; ++i) cubes.add(-most, most, most);
  cubes.add(least, least, least);
  ExactSum smallest;
  smallest.add(least, least, least);
  report("the largest terms, and then the least",
         cubes.magnitude_about() == smallest.magnitude_about() && smallest.magnitude_about() > 0);
}

template <class T>
void check_entries(Type type, int order, int op) {
  const int m = 5, n = 4, k = 7;  // A is m x k, and k x m where it is transposed
  const double alpha = 0.5, beta = -2;
  std::vector<T> a(m * k), b(k * n), c(m * n), factors{T(alpha), T(beta)};
  for (auto* matrix : {&a, &b, &c}) {
    for (T& x : *matrix) x = static_cast<T>(random_int(-1000, 1000));
  }
  const bool by_row = order == row_major, turned = op != no_transpose;
  const auto at = [by_row](int row, int column, int rows, int columns) {
    return by_row ? row * columns + column : row + column * rows;
  };
  const std::vector<T> before = c;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      T sum = 0;
      for (int l = 0; l < k; ++l) sum += a[turned ? at(l, i, k, m) : at(i, l, m, k)] * b[at(l, j, k, n)];
      c[at(i, j, m, n)] = static_cast<T>(alpha) * sum + static_cast<T>(beta) * before[at(i, j, m, n)];
    }
  }
  const int lda = by_row == turned ? m : k;
  const Product product{type,           order,       op,       no_transpose,  m, n, k, &factors[0], a.data(), lda, b.data(),
                        by_row ? n : k, &factors[1], c.data(), by_row ? n : m};
  const std::string name = std::string(name_of(type)) + " " + std::to_string(order) + " " + std::to_string(op) + ": ";
  const auto check = [&](const std::string& what, int accuracy, T value, Finding wanted) {
    T& entry = c[at(3, 2, m, n)];
    const T kept = entry;
    entry = value;
    const Checked found = check_entry(product, accuracy, {0, 3, 2, {before[at(3, 2, m, n)], 0}}, read_from_host, nullptr);
    report(name + what, found.finding == wanted && found.exact.real == kept);
    entry = kept;
  };
  const T right = c[at(3, 2, m, n)], next = std::nextafter(right, T(1e30));
  for (const int accuracy : {OZFP4_ACCURACY_SCALED, OZFP4_ACCURACY_STANDARD, OZFP4_ACCURACY_CORRECT}) {
    check("the exact result", accuracy, right, Finding::correct);
    check("zero", accuracy, right == 0 ? T(1e20) : T(0), Finding::wrong);
    check("NaN", accuracy, std::numeric_limits<T>::quiet_NaN(), Finding::wrong);
  }
  check("the next number", OZFP4_ACCURACY_SCALED, next, Finding::wrong);
  check("the next number", OZFP4_ACCURACY_CORRECT, next, Finding::wrong);
  check("the next number", OZFP4_ACCURACY_STANDARD, next, Finding::within_bound);
}

void check_special() {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double one = 1, zero = 0;
  struct Case {
    double a[2], b[2], result;
  };
  for (const Case& each : {Case{{infinity, 1}, {2, 3}, infinity}, Case{{infinity, 1}, {0, 3}, nan}, Case{{nan, 1}, {2, 3}, nan},
                           Case{{infinity, infinity}, {1, -1}, nan}, Case{{-infinity, 1}, {1, 1e300}, -infinity}}) {
    for (const double found : {infinity, -infinity, nan, 0.0}) {
      double c = found;
      const Product product{Type::float64, row_major, no_transpose, no_transpose, 1, 1, 2, &one, each.a, 2,
                            each.b,        1,         &zero,        &c,           1};
      const Finding wanted = same(found, each.result) ? Finding::correct : Finding::wrong;
      report("what is not finite", check_entry(product, OZFP4_ACCURACY_STANDARD, {}, read_from_host, nullptr).finding == wanted);
    }
  }
}

}  // namespace

int main() {
  check_sums();
  for (const int order : {row_major, column_major}) {
    for (const int op : {no_transpose, transpose, conjugate_transpose}) {
      check_entries<double>(Type::float64, order, op);
      check_entries<float>(Type::float32, order, op);
    }
  }
  check_special();
  return finish();
}
