#include "cpu/blas/blas_check.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/runtime/fp_mode.hpp"

namespace ozfp4 {
namespace {

struct Case {
  std::int64_t rows, columns, k;
};
// Around the extents at which kernels change; the last one is as long as pieces of K are.
constexpr Case kCases[] = {{1, 1, 1}, {3, 5, 7}, {17, 33, 65}, {64, 48, 129}, {9, 70, 512}};
constexpr std::int64_t kGap = 3;  // entries between lines

// Integers up to `largest` in magnitude, at random but the same everywhere; every fourth one is the largest.
class Numbers {
 public:
  explicit Numbers(std::int64_t largest) : largest_(largest) {}
  std::int64_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const auto top = static_cast<std::int64_t>(state_ >> 33);
    const std::int64_t magnitude = top % 4 == 0 ? largest_ : top % (largest_ + 1);
    return (state_ >> 32 & 1) != 0 ? -magnitude : magnitude;
  }

 private:
  std::int64_t largest_;
  std::uint64_t state_ = 0x9e3779b97f4a7c15u;
};

// The first product that is wrong, by its extents; empty: none is.
template <class Real, class Pointer>
std::string first_wrong(Pointer gemm, std::int64_t largest_sum) {
  for (const Case& shape : kCases) {
    // k products of the largest entries, and what was there before, as much again, come close to the limit.
    std::int64_t largest = 1;
    while ((largest + 1) * (largest + 1) * 2 * shape.k <= largest_sum && largest < (1 << 22)) ++largest;
    Numbers numbers(largest);
    const std::int64_t pitch = shape.k + kGap, out_pitch = shape.columns + kGap;
    std::vector<Real> a(static_cast<std::size_t>(shape.rows * pitch)), b(static_cast<std::size_t>(shape.columns * pitch));
    std::vector<Real> c(static_cast<std::size_t>(shape.rows * out_pitch), Real(0.5));
    for (Real& x : a) x = static_cast<Real>(numbers.next());
    for (Real& x : b) x = static_cast<Real>(numbers.next());
    // The first lines have the largest sum, the last ones of `a` its negative.
    std::fill_n(a.begin(), shape.k, static_cast<Real>(largest));
    std::fill_n(b.begin(), shape.k, static_cast<Real>(largest));
    std::fill_n(a.end() - pitch, shape.k, static_cast<Real>(shape.rows > 1 ? -largest : largest));
    for (const bool accumulate : {false, true}) {
      gemm_nt(gemm, shape.rows, shape.columns, shape.k, a.data(), pitch, b.data(), pitch, accumulate, c.data(), out_pitch);
      for (std::int64_t i = 0; i < shape.rows; ++i) {
        for (std::int64_t j = 0; j < out_pitch; ++j) {
          std::int64_t sum = 0;
          for (std::int64_t k = 0; j < shape.columns && k < shape.k; ++k) {
            sum += static_cast<std::int64_t>(a[static_cast<std::size_t>(i * pitch + k)]) *
                   static_cast<std::int64_t>(b[static_cast<std::size_t>(j * pitch + k)]);
          }
          const Real expected = j < shape.columns ? static_cast<Real>(accumulate ? 2 * sum : sum) : Real(0.5);
          if (c[static_cast<std::size_t>(i * out_pitch + j)] != expected) {
            return "is wrong in entry (" + std::to_string(i) + ", " + std::to_string(j) + ") of a product of integers, " +
                   std::to_string(shape.rows) + " x " + std::to_string(shape.columns) + " x " + std::to_string(shape.k);
          }
        }
      }
    }
  }
  return "";
}

}  // namespace

std::string wrong_gemm(DgemmPointer dgemm, SgemmPointer sgemm) {
  const DefaultFpMode mode;
  const std::string in_double = first_wrong<double>(dgemm, std::int64_t(1) << 53);
  if (!in_double.empty()) return "dgemm " + in_double;
  const std::string in_single = first_wrong<float>(sgemm, std::int64_t(1) << 24);
  return in_single.empty() ? "" : "sgemm " + in_single;
}

}  // namespace ozfp4
