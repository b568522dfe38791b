#include "c_api/product/exact_cases.hpp"

#include <atomic>
#include <cstddef>
#include <memory>

namespace ozfp4::c_api {
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

using Cases = std::vector<ExactCase>;

// Made once, without a lock, which a process that forks meanwhile would find held: two threads may make them.
template <std::size_t N>
const Cases& kept_cases(std::atomic<const Cases*>& kept, const Shape (&shapes)[N]) {
  const Cases* found = kept;
  if (found != nullptr) return *found;
  auto made = std::make_unique<Cases>();
  for (const Shape& shape : shapes) made->push_back(make_case(shape));
  return kept.compare_exchange_strong(found, made.get()) ? *made.release() : *found;
}

}  // namespace

const std::vector<ExactCase>& exact_cases() {
  static std::atomic<const Cases*> kept{nullptr};
  return kept_cases(kept, kShapes);
}

const std::vector<ExactCase>& small_exact_cases() {
  static std::atomic<const Cases*> kept{nullptr};
  return kept_cases(kept, kSmallShapes);
}

}  // namespace ozfp4::c_api
