// Products and triangles that run out of memory: C is restored, for the real routine to add to. Once a triangle is begun, its
// other blocks are made anyway.
#include <complex>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "c_api/gemm.hpp"
#include "c_api/status.hpp"
#include "check.hpp"
#include "exec/serve_cpu.hpp"

namespace {

int products_left = 0;  // for which there is memory

}  // namespace

// Replaces the core's function: half of C is written where memory ends.
namespace ozfp4::c_api {

void multiply(const GemmCall& call, const ozfp4_options*) {
  const auto& [order, transa, transb, m, n, k, a, b, c, batch] = call.product;
  const bool is_single = c.type.part == ElementType::float32;
  const exec::Type type = exec::type_of(is_single ? 's' : c.type.is_complex ? 'z' : 'd');
  const float single[2] = {static_cast<float>(call.alpha.real()), static_cast<float>(call.beta.real())};
  const void* const alpha = is_single ? static_cast<const void*>(&single[0]) : &call.alpha;
  const void* const beta = is_single ? static_cast<const void*>(&single[1]) : &call.beta;
  auto* const data = static_cast<char*>(const_cast<void*>(c.data));
  if (products_left-- > 0) {
    return exec::multiply_plainly(
        {type, order, transa, transb, m, n, k, alpha, a.data, a.leading, b.data, b.leading, beta, data, c.leading});
  }
  const std::int64_t line = order == exec::row_major ? n : m;
  for (std::int64_t i = 0; i < (m * n + 1) / 2; ++i) {
    std::fill_n(data + (i / line * c.leading + i % line) * c.type.bytes(), c.type.bytes(), char(77));
  }
  throw std::bad_alloc();
}

ozfp4_status status_of_exception() noexcept { return OZFP4_OUT_OF_MEMORY; }

}  // namespace ozfp4::c_api

extern "C" const char* ozfp4_last_error() { return ""; }

using namespace ozfp4::exec;

namespace {

double integer() { return random_int(-9, 9); }
void draw(float& x) { x = static_cast<float>(integer()); }
void draw(double& x) { x = integer(); }
void draw(std::complex<double>& x) { x = {integer(), integer()}; }

template <class T>
std::vector<T> numbers(std::int64_t count) {
  std::vector<T> found(static_cast<std::size_t>(count));
  for (T& x : found) draw(x);
  return found;
}

// `product_of` C: with memory for ever more products of the core until it is enough, each time from the same C.
template <class T, class ProductOf>
int check(const std::string& name, const std::vector<T>& before, bool reads_c, const ProductOf& product_of) {
  std::vector<T> right = before;
  multiply_plainly(product_of(right));
  for (int products = 0;; ++products) {
    std::vector<T> found = before;
    products_left = products;
    const Reason reason = Cpu().make(Real(), product_of(found));
    const std::string with = name + ", " + std::to_string(products) + " products";
    report(with, reason == (products == 0 ? Reason::no_memory : Reason::none));
    report(with + ": C", products > 0 ? found == right : !reads_c || found == before);
    if (products_left >= 0) return products;
  }
}

template <class T>
void check_matrix(Type type, int order, std::int64_t m, std::int64_t n, double beta_value) {
  constexpr std::int64_t k = 3, gap = 5;
  const bool by_rows = order == row_major;
  const std::int64_t ldc = (by_rows ? n : m) + gap;
  const auto a = numbers<T>(m * k), b = numbers<T>(k * n), before = numbers<T>(ldc * (by_rows ? m : n));
  const T alpha = T(2), beta = T(static_cast<float>(beta_value));
  const std::string name = std::to_string(m) + " x " + std::to_string(n) + ", beta " + std::to_string(beta_value);
  check(name, before, beta_value != 0, [&](std::vector<T>& c) {
    return Product{type,     order,           no_transpose, no_transpose,    m,     n,        k,  &alpha,
                   a.data(), by_rows ? k : m, b.data(),     by_rows ? n : k, &beta, c.data(), ldc};
  });
}

template <class T>
void check_triangle(Type type, bool is_hermitian, int triangle, int order, std::int64_t n, std::int64_t k) {
  const auto a = numbers<T>(n * k), before = numbers<T>(n * (n + 3));
  const T alpha = 2, beta = -3;
  const std::string name = std::to_string(n) + " x " + std::to_string(k);
  const int most = check(name, before, true, [&](std::vector<T>& c) {
    return triangle_of(type, is_hermitian, order, triangle, no_transpose, n, k, &alpha, a.data(), order == row_major ? k : n,
                       &beta, c.data(), n + 3);
  });
  report(name + ": blocks", n <= 256 ? most == 1 : most > 2, std::to_string(most));
}

void check_none() {
  const double factor = 1;
  const Product none = triangle_of(Type::float64, false, column_major, lower_triangle, no_transpose, 0, 3, &factor, nullptr, 1,
                                   &factor, nullptr, 1);
  products_left = 0;
  report("nothing is to be made of no rows", Cpu().make(Real(), none) == Reason::none);
}

}  // namespace

int main() {
  for (const int order : {row_major, column_major}) {
    for (const double beta : {0.0, 1.0, -3.0}) {
      check_matrix<double>(Type::float64, order, 7, 4, beta);
      check_matrix<double>(Type::float64, order, 1, 1, beta);
      check_matrix<double>(Type::float64, order, 700, 900, beta);
      check_matrix<float>(Type::float32, order, 33, 20, beta);
      check_matrix<std::complex<double>>(Type::complex128, order, 12, 31, beta);
    }
    for (const std::int64_t n : {1, 200, 257, 700}) {
      for (const int triangle : {lower_triangle, upper_triangle}) {
        check_triangle<double>(Type::float64, false, triangle, order, n, 3);
        check_triangle<std::complex<double>>(Type::complex128, false, triangle, order, n, 2);
        check_triangle<std::complex<double>>(Type::complex128, true, triangle, order, n, 2);
      }
    }
  }
  check_none();
  return finish();
}
