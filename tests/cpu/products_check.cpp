// Whole products on this CPU, by every kernel for bytes that it has and in floating point, against sums of 128-bit integers.
// Entries are integers of at most 46 bits times a power of two, so that a sum of up to 2^20 products fits. The program needs no
// Python, so that it runs wherever the core compiles.
//
// Arguments: `few` for fewer shapes and three threads alone, where each instruction is emulated.
#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/matmul.hpp"
#include "cpu/runtime/threads.hpp"

namespace {

using namespace ozfp4;

__extension__ using Sum = __int128;

constexpr int kEntryBits = 46;
constexpr double kNoise = -1.2345e300;

struct Shape {
  std::int64_t m, n, k;
};

struct Problem {
  Shape shape;
  std::vector<std::int64_t> a, b;  // rows of A, columns of B
  std::vector<double> real_a, real_b, expected;
  static constexpr int kExponent = -700, kOther = 650;

  explicit Problem(const Shape& extents) : shape(extents) {
    fill(a, real_a, shape.m * shape.k, kExponent);
    fill(b, real_b, shape.n * shape.k, kOther);
    for (std::int64_t i = 0; i < shape.m; ++i) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        Sum sum = 0;
        for (std::int64_t l = 0; l < shape.k; ++l) {
          sum += static_cast<Sum>(a[at(i * shape.k + l)]) * b[at(j * shape.k + l)];
        }
        // The conversion rounds to nearest, ties to even.
        expected.push_back(std::ldexp(static_cast<double>(sum), kExponent + kOther));
      }
    }
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  // Lines of the largest magnitude, of both signs, among random ones, and a line of zeros.
  void fill(std::vector<std::int64_t>& x, std::vector<double>& real, std::int64_t entries, int exponent) const {
    constexpr std::int64_t largest = std::int64_t(1) << kEntryBits;
    for (std::int64_t i = 0; i < entries; ++i) {
      const std::int64_t line = i / shape.k % 5;
      x.push_back(line == 0 ? largest : line == 1 ? -largest : line == 2 ? 0 : random_int(-largest, largest));
      real.push_back(std::ldexp(static_cast<double>(x.back()), exponent));
    }
  }
};

OperandView view_of(const std::vector<double>& x, std::int64_t outer, std::int64_t inner) {
  return {reinterpret_cast<const char*>(x.data()), ElementType::float64, outer, inner, inner * 8, 8};
}

void check_product(const Problem& problem, const PlanRequest& request, Accuracy accuracy, std::int64_t limit,
                   const std::string& kernel) {
  const Plan plan = make_plan(request);
  const Shape& shape = problem.shape;
  std::vector<double> c(problem.expected.size(), kNoise);
  const ResultView result{reinterpret_cast<char*>(c.data()), ElementType::float64, shape.m, shape.n, shape.n * 8, 8};
  cpu_matmul(plan, view_of(problem.real_a, shape.m, shape.k), view_of(problem.real_b, shape.n, shape.k), {Target{result}},
             {limit, {}, {accuracy, 53}});
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) wrong += c[i] != problem.expected[i];
  report("product", wrong == 0,
         kernel + ", scheme " + std::to_string(static_cast<int>(request.scheme)) + " " + request.alphabet.name + " " +
             std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k) + ": " +
             std::to_string(wrong) + " entries wrong");
}

void check_problem(const Problem& problem, const ByteKernel* kernel) {
  const ForcedKernel forced(kernel);
  const std::string name = kernel != nullptr ? kernel->name : "floating point";
  for (const Alphabet* alphabet : alphabets()) {
    if (kernel != nullptr && alphabet->entry != PlaneEntry::int8) continue;
    for (const Scheme scheme : {Scheme::one, Scheme::two}) {
      for (const std::int64_t limit : {std::int64_t(300000), std::int64_t(1) << 30}) {
        check_product(problem, {scheme, *alphabet, "least", 53, problem.shape.k}, Accuracy::scaled, limit, name);
      }
    }
    const PlanRequest certified{Scheme::two, *alphabet, "least", accuracy_bits(Accuracy::correct, 53), problem.shape.k};
    check_product(problem, certified, Accuracy::correct, std::int64_t(1) << 30, name);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const bool few = is_few(count, arguments);
  std::vector<Shape> shapes = {{1, 1, 1}, {17, 33, 65}, {3, 130, 40}};
  if (!few) shapes.push_back({70, 5, 513});
  for (const Shape& shape : shapes) {
    const Problem problem(shape);
    for (const int threads : {1, 3}) {
      if (few && threads == 1) continue;
      set_thread_count(threads);
      for (const ByteKernel* kernel : byte_kernels()) check_problem(problem, kernel);
      check_problem(problem, nullptr);
    }
  }
  return finish();
}
