// Findings of `ozfp4 exec --verify` on entries that are right, wrong by a unit in the last place, and wrong by more.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "exec/verify.hpp"
#include "ozfp4.h"

using namespace ozfp4::exec;

namespace {

struct Host final : Place {
  std::int64_t threshold(Type) override { return 0; }
  Reason is_open(const Real&) override { return Reason::failed; }
  Reason make(const Real&, const Product&) override { return Reason::failed; }
  void make_alone(const Real&, const Product&) override {}
};

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

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
    const Checked found = check_entry(product, accuracy, {0, 3, 2, {before[at(3, 2, m, n)], 0}}, Host());
    report(name + what, found.finding == wanted && found.exact == std::complex<double>(kept));
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
      report("what is not finite", check_entry(product, OZFP4_ACCURACY_STANDARD, {}, Host()).finding == wanted);
    }
  }
}

}  // namespace

int main() {
  for (const int order : {row_major, column_major}) {
    for (const int op : {no_transpose, transpose, conjugate_transpose}) {
      check_entries<double>(Type::float64, order, op);
      check_entries<float>(Type::float32, order, op);
    }
  }
  check_special();
  return finish();
}
