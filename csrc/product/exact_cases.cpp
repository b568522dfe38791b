#include "product/exact_cases.hpp"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <memory>

namespace ozfp4::product {
namespace {

struct Shape {
  int m, n, k;
  int bits_a, bits_b;  // of the entries of each; 0: ones and minus ones
  int nonzeros;        // in each column of B; 0: all of them
};
// Every sum is below 2^53.
constexpr Shape kShapes[] = {{70, 33, 300, 51, 0, 2}, {33, 130, 129, 0, 51, 2}, {65, 39, 1300, 20, 20, 0}};
constexpr Shape kSmallShapes[] = {
    {9, 7, 11, 51, 0, 2}, {70, 33, 16, 0, 51, 2}, {150, 130, 63, 20, 20, 0}, {300, 3, 2500, 51, 0, 2}, {5, 200, 1300, 20, 20, 0}};

// Integers of either sign, at random but the same everywhere.
double next_integer(std::uint64_t& state, int bits) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  const auto magnitude = static_cast<std::int64_t>(bits == 0 ? 1 : state >> (64 - bits));
  return static_cast<double>((state >> 3 & 1) != 0 ? -magnitude : magnitude);
}

ExactCase make_case(const Shape& shape) {
  std::uint64_t state = 0x2545f4914f6cdd1du;
  ExactCase made{shape.m, shape.n, shape.k, {}, {}, {}};
  for (int i = 0; i < shape.m * shape.k; ++i) made.a.push_back(next_integer(state, shape.bits_a));
  const int period = shape.nonzeros == 0 ? 1 : shape.k / shape.nonzeros;
  for (int j = 0; j < shape.n; ++j) {
    for (int k = 0; k < shape.k; ++k) made.b.push_back(k % period == j % period ? next_integer(state, shape.bits_b) : 0.0);
  }
  for (int i = 0; i < shape.m; ++i) {
    for (int j = 0; j < shape.n; ++j) {
      std::int64_t sum = 0;
      for (int k = 0; k < shape.k; ++k) {
        sum += static_cast<std::int64_t>(made.a[static_cast<std::size_t>(i * shape.k + k)]) *
               static_cast<std::int64_t>(made.b[static_cast<std::size_t>(j * shape.k + k)]);
      }
      made.c.push_back(static_cast<double>(sum));
    }
  }
  return made;
}

// Rows 2^i (1, y) and columns (-fl(y z), z): the entry is what the rounding of y z leaves. Large entries, which meet zeros, keep
// lines and magnitudes from certifying anything.
ExactCase make_chain_case(int m, int n) {
  constexpr double large = 0x1p200;
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  ExactCase made{m, n, 4, {}, {}, {}};
  const double y = next_integer(state, 51);
  std::vector<double> left;
  for (int i = 0; i < m; ++i) {
    const double scale = 1 << i % 8;
    made.a.insert(made.a.end(), {scale, scale * y, large, 0.0});
  }
  for (int j = 0; j < n; ++j) {
    const double z = next_integer(state, 51), product = y * z;
    made.b.insert(made.b.end(), {-product, z, 0.0, large});
    left.push_back(std::fma(y, z, -product));
  }
  for (int i = 0; i < m; ++i) {
    for (const double x : left) made.c.push_back(x * (1 << i % 8));
  }
  return made;
}

using Cases = std::vector<ExactCase>;

// Made once, without a lock, which a process that forks meanwhile would find held: two threads may make them.
template <class Shapes, class Make>
const Cases& kept_cases(std::atomic<const Cases*>& kept, const Shapes& shapes, const Make& make) {
  const Cases* found = kept;
  if (found != nullptr) return *found;
  auto made = std::make_unique<Cases>();
  for (const auto& shape : shapes) made->push_back(make(shape));
  return kept.compare_exchange_strong(found, made.get()) ? *made.release() : *found;
}

}  // namespace

const std::vector<ExactCase>& exact_cases() {
  static std::atomic<const Cases*> kept{nullptr};
  return kept_cases(kept, kShapes, make_case);
}

const std::vector<ExactCase>& chain_cases() {
  static std::atomic<const Cases*> kept{nullptr};
  constexpr int rows[] = {3, 70};
  return kept_cases(kept, rows, [](int m) { return make_chain_case(m, m == 3 ? 5 : 130); });
}

const std::vector<ExactCase>& small_exact_cases() {
  static std::atomic<const Cases*> kept{nullptr};
  return kept_cases(kept, kSmallShapes, make_case);
}

}  // namespace ozfp4::product
