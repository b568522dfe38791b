// Triangles by blocks, of which some cannot be made: nothing is written where the first one cannot, and the others are made
// anyway.
#include <complex>
#include <string>
#include <vector>

#include "check.hpp"
#include "exec/serve_cpu.hpp"

namespace ozfp4::exec {
namespace {

int blocks_left = 0;

}  // namespace

// In place of the one that calls the core.
Reason serve(const Product& product, std::int64_t* repaired) {
  *repaired = 0;
  if (blocks_left-- <= 0) return Reason::no_memory;
  multiply_plainly(product);
  return Reason::none;
}

}  // namespace ozfp4::exec

using namespace ozfp4::exec;

namespace {

double integer() { return random_int(-9, 9); }
void draw(double& x) { x = integer(); }
void draw(std::complex<double>& x) { x = {integer(), integer()}; }

template <class T>
void check(Type type, bool is_hermitian, int triangle, int order, std::int64_t n, std::int64_t k) {
  std::vector<T> a(static_cast<std::size_t>(n * k)), before(static_cast<std::size_t>(n * (n + 3)));
  for (T& x : a) draw(x);
  for (T& x : before) draw(x);
  const T alpha = 2, beta = -3;
  std::vector<T> right = before, found;
  const auto product = [&](std::vector<T>& c) {
    return triangle_of(type, is_hermitian, order, triangle, no_transpose, n, k, &alpha, a.data(), order == row_major ? k : n,
                       &beta, c.data(), n + 3);
  };
  multiply_plainly(product(right));
  int most = 1;
  for (int blocks = 0; blocks <= most; ++blocks) {
    found = before;
    blocks_left = blocks;
    std::int64_t repaired = -1;
    const Reason reason = serve_triangle(product(found), &repaired);
    const std::string name = std::to_string(n) + " x " + std::to_string(k) + ", " + std::to_string(blocks) + " blocks";
    report(name, reason == (blocks == 0 ? Reason::no_memory : Reason::none));
    report(name + ": C", found == (blocks == 0 ? before : right));
    if (blocks_left < 0 && blocks == most) ++most;
  }
  report("blocks", n <= 256 ? most == 1 : most > 2, std::to_string(most));
}

void check_none() {
  const double factor = 1;
  std::int64_t repaired = -1;
  const Product none = triangle_of(Type::float64, false, column_major, lower_triangle, no_transpose, 0, 3, &factor, nullptr, 1,
                                   &factor, nullptr, 1);
  blocks_left = 0;
  report("nothing is to be made of no rows", serve_triangle(none, &repaired) == Reason::none && repaired == 0);
}

}  // namespace

int main() {
  for (const std::int64_t n : {1, 200, 257, 700}) {
    for (const int triangle : {lower_triangle, upper_triangle}) {
      for (const int order : {row_major, column_major}) {
        check<double>(Type::float64, false, triangle, order, n, 3);
        check<std::complex<double>>(Type::complex128, false, triangle, order, n, 2);
        check<std::complex<double>>(Type::complex128, true, triangle, order, n, 2);
      }
    }
  }
  check_none();
  return finish();
}
