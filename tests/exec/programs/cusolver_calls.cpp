// cuSOLVER's factorisations of one matrix, or the one that the argument names, each compared with the matrix on the host. Prints
// "N passed, N failed"; status 77 without a GPU.
#include <cusolverDn.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device.hpp"

namespace {

using Matrix = std::vector<double>;  // n x n, column-major

constexpr int n = 768;

std::size_t at(int i, int j) { return static_cast<std::size_t>(j) * n + i; }

// X Y, or X^T Y.
Matrix product(const Matrix& x, const Matrix& y, bool is_transposed = false) {
  Matrix rows(x), found(x.size());
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) rows[at(j, i)] = is_transposed ? x[at(j, i)] : x[at(i, j)];  // K side by side
  }
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) found[at(i, j)] = std::inner_product(&rows[at(0, i)], &rows[at(0, i)] + n, &y[at(0, j)], 0.0);
  }
  return found;
}

double largest(const Matrix& x) {
  double found = 0;
  for (const double entry : x) found = std::max(found, std::isnan(entry) ? INFINITY : std::fabs(entry));
  return found;
}

void note(const char* what, const Matrix& x, const Matrix& y) {
  Matrix difference(x);
  for (std::size_t i = 0; i < x.size(); ++i) difference[i] -= y[i];
  const double relative = largest(difference) / largest(y);
  const bool is_right = relative < 1e-13 * n;
  std::printf("%s: relative residual %.1e\n", what, relative);
  (is_right ? passed : failed) += 1;
}

Matrix triangle(const Matrix& x, bool is_lower, bool is_unit) {
  Matrix found(x.size());
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      if (i == j)
        found[at(i, j)] = is_unit ? 1.0 : x[at(i, j)];
      else if ((i > j) == is_lower)
        found[at(i, j)] = x[at(i, j)];
    }
  }
  return found;
}

Matrix transposed(const Matrix& x) {
  Matrix found(x.size());
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) found[at(i, j)] = x[at(j, i)];
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (!has_gpu()) return skipped;
  const auto is_asked = [&](const char* name) { return argc < 2 || std::string(argv[1]) == name; };
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal;
  Matrix general(static_cast<std::size_t>(n) * n);
  std::generate(general.begin(), general.end(), [&] { return normal(engine); });
  Matrix definite = product(general, general, true);
  for (int i = 0; i < n; ++i) definite[at(i, i)] += n;

  cusolverDnHandle_t handle;
  REQUIRE(cusolverDnCreate(&handle));
  Device<int> status(1), pivots(static_cast<std::size_t>(n));
  int size = 0;
  if (is_asked("getrf")) {
    Device<double> a(general);
    REQUIRE(cusolverDnDgetrf_bufferSize(handle, n, n, a.data, n, &size));
    Device<double> work(static_cast<std::size_t>(size));
    REQUIRE(cusolverDnDgetrf(handle, n, n, a.data, n, work.data, pivots.data, status.data));
    const Matrix factors = a.read();
    const std::vector<int> rows = pivots.read();
    Matrix moved = general;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) std::swap(moved[at(i, j)], moved[at(rows[static_cast<std::size_t>(i)] - 1, j)]);
    }
    note("getrf", product(triangle(factors, true, true), triangle(factors, false, false)), moved);
  }
  if (is_asked("potrf")) {
    Device<double> a(definite);
    REQUIRE(cusolverDnDpotrf_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, n, a.data, n, &size));
    Device<double> work(static_cast<std::size_t>(size));
    REQUIRE(cusolverDnDpotrf(handle, CUBLAS_FILL_MODE_LOWER, n, a.data, n, work.data, size, status.data));
    const Matrix lower = triangle(a.read(), true, false);
    note("potrf", product(lower, transposed(lower)), definite);
  }
  if (is_asked("geqrf")) {
    Device<double> a(general), tau(static_cast<std::size_t>(n));
    REQUIRE(cusolverDnDgeqrf_bufferSize(handle, n, n, a.data, n, &size));
    Device<double> work(static_cast<std::size_t>(size));
    REQUIRE(cusolverDnDgeqrf(handle, n, n, a.data, n, tau.data, work.data, size, status.data));
    const Matrix upper = triangle(a.read(), false, false);
    note("geqrf", product(upper, upper, true), product(general, general, true));
  }
  if (is_asked("syevd")) {
    Device<double> a(definite), values(static_cast<std::size_t>(n));
    const auto vector = CUSOLVER_EIG_MODE_VECTOR;
    REQUIRE(cusolverDnDsyevd_bufferSize(handle, vector, CUBLAS_FILL_MODE_LOWER, n, a.data, n, values.data, &size));
    Device<double> work(static_cast<std::size_t>(size));
    REQUIRE(cusolverDnDsyevd(handle, vector, CUBLAS_FILL_MODE_LOWER, n, a.data, n, values.data, work.data, size, status.data));
    const Matrix vectors = a.read(), scales = values.read();
    Matrix scaled = vectors;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) scaled[at(i, j)] *= scales[static_cast<std::size_t>(j)];
    }
    note("syevd", product(definite, vectors), scaled);
  }
  REQUIRE(cusolverDnDestroy(handle));
  return finish();
}
