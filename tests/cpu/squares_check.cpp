// What encode says of planes of FP64: sums of squares that are never too small, and the same planes whether they pass the caches
// or not.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "arith/limits.hpp"
#include "check.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/stages/encode.hpp"
#include "cpu/stages/scale.hpp"

namespace {

using namespace ozfp4;

Plan plan_for(std::int64_t k, bool is_complex = false) {
  PlanRequest request;
  request.scheme = Scheme::two;
  request.alphabet = Alphabet::fp64;
  request.k = k;
  request.is_complex = is_complex;
  return make_plan(request);
}

// The largest of the sums of squares, exactly.
__int128 largest_squares(const std::vector<double>& planes, std::int64_t lines, std::int64_t inners) {
  __int128 largest = 0;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t first = 0; first < inners; first += kSquaresInner) {
      __int128 sum = 0;
      for (std::int64_t k = first; k < std::min(first + kSquaresInner, inners); ++k) {
        const auto limb = static_cast<std::int64_t>(planes[static_cast<std::size_t>(line * inners + k)]);
        sum += static_cast<__int128>(limb) * limb;
      }
      largest = std::max(largest, sum);
    }
  }
  return largest;
}

template <class T>
struct Matrix {
  std::vector<T> entries;
  std::int64_t outers, inners;
  bool is_turned;

  OperandView view(ElementType type) const {
    const auto item = static_cast<std::ptrdiff_t>(sizeof(T));
    const auto pitch = static_cast<std::ptrdiff_t>(is_turned ? outers : inners) * item;
    return {
        reinterpret_cast<const char*>(entries.data()), type, outers, inners, is_turned ? item : pitch, is_turned ? pitch : item};
  }
};

template <class T>
Matrix<T> random_matrix(std::int64_t outers, std::int64_t inners, bool is_turned) {
  Matrix<T> matrix{std::vector<T>(static_cast<std::size_t>(outers * inners)), outers, inners, is_turned};
  for (T& x : matrix.entries) x = static_cast<T>(std::ldexp(static_cast<double>(random_int(-(1LL << 53), 1LL << 53)), -40));
  return matrix;
}

struct Encoded {
  std::vector<double> planes;
  double squares;
};

Encoded encode(const Plan& plan, const OperandView& view, const Scales& scales, const Block& block) {
  const std::size_t entries = static_cast<std::size_t>(plan.planes_a * block.outers * block.inners / plan.width());
  Encoded found{std::vector<double>(entries + 8), 0};
  std::memset(found.planes.data(), kPoison, found.planes.size() * sizeof(double));
  const double poison = found.planes.back();
  found.squares = cpu_encode(plan, plan.count(), view, line_scales(scales), block, found.planes.data());
  bool is_untouched = true;
  for (std::size_t i = entries; i < found.planes.size(); ++i)
    is_untouched = is_untouched && std::memcmp(&found.planes[i], &poison, sizeof poison) == 0;
  report("nothing is written behind the planes", is_untouched);
  found.planes.resize(entries);
  return found;
}

template <class T>
void check_squares(const Matrix<T>& matrix, ElementType type, const std::string& name) {
  const Plan plan = plan_for(matrix.inners);
  const OperandView view = matrix.view(type);
  const Scales scales = cpu_scale(view, {Accuracy::scaled, plan.bits, 53, false, false});
  const Encoded found = encode(plan, view, scales, {0, matrix.outers, 0, matrix.inners});
  const auto exact =
      static_cast<double>(largest_squares(found.planes, plan.planes_a * matrix.outers, matrix.inners));  // rounds by 2^-53
  report(name, found.squares >= exact * (1 - 0x1p-52) && found.squares <= exact * (1 + 0x1p-38),
         std::to_string(matrix.outers) + " x " + std::to_string(matrix.inners));
}

// Every entry has the largest residue of a modulus: the most that a sum of squares may be.
void check_largest() {
  const std::int64_t inners = 700;
  const Plan plan = plan_for(inners);
  for (int g = 0; g < plan.count(); ++g) {
    const std::int64_t m = plan.modulus(g), base = 3LL << 51, v = base - base % m + (m - 1) / 2;
    const Matrix<double> matrix{std::vector<double>(static_cast<std::size_t>(3 * inners), static_cast<double>(v)), 3, inners,
                                false};
    const Scales scales = cpu_scale(matrix.view(ElementType::float64), {Accuracy::scaled, plan.bits, 53, false, false});
    const Encoded found = encode(plan, matrix.view(ElementType::float64), scales, {0, 3, 0, inners});
    const double largest = static_cast<double>((m - 1) / 2);
    report("the largest residues", found.squares >= static_cast<double>(kSquaresInner) * largest * largest &&
                                       bound_of_sums(found.squares, found.squares) >= static_cast<double>(kFp64Exact));
  }
}

// Planes of more than 32 MiB, whose lines begin anywhere in a cache line, against those of one line at a time.
void check_streamed() {
  const std::int64_t outers = 850, inners = 1031;
  for (const bool is_turned : {false, true}) {
    const Plan plan = plan_for(inners);
    const Matrix<double> matrix = random_matrix<double>(outers, inners, is_turned);
    const OperandView view = matrix.view(ElementType::float64);
    const Scales scales = cpu_scale(view, {Accuracy::scaled, plan.bits, 53, false, false});
    const Encoded all = encode(plan, view, scales, {0, outers, 0, inners});
    report("planes are large", all.planes.size() * sizeof(double) > 32u << 20);
    bool is_right = true;
    for (std::int64_t line = 0; line < outers; line += 7) {
      const Encoded own = encode(plan, view, scales, {line, 1, 0, inners});
      for (int p = 0; p < plan.planes_a; ++p) {
        is_right = is_right && std::memcmp(own.planes.data() + p * inners, all.planes.data() + (p * outers + line) * inners,
                                           static_cast<std::size_t>(inners) * sizeof(double)) == 0;
      }
    }
    report("streamed planes", is_right);
  }
}

void check_unknown() {
  const Plan pairs = plan_for(64, true), plan = plan_for(64);
  const Matrix<double> matrix = random_matrix<double>(4, 64, false);
  const Scales scales = cpu_scale(matrix.view(ElementType::float64), {Accuracy::scaled, plan.bits, 53, false, false});
  report("pairs", std::isinf(encode(pairs, matrix.view(ElementType::float64), scales, {0, 4, 0, 64}).squares));
}

}  // namespace

int main() {
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    for (const std::int64_t inners : {1, 15, 16, 511, 512, 513, 1200}) {
      for (const bool is_turned : {false, true}) {
        check_squares(random_matrix<double>(70, inners, is_turned), ElementType::float64, "float64");
        check_squares(random_matrix<float>(70, inners, is_turned), ElementType::float32, "float32");
      }
    }
    check_streamed();
  }
  check_largest();
  check_unknown();
  return finish();
}
