// A product by a plain loop, as BLAS defines it, each entry one sum in its own precision: of a routine that no other library has
// what ozfp4 does not make (an infinite alpha, no memory), and the rest of a triangle for which memory ended.
#include <complex>
#include <cstdint>
#include <type_traits>

#include "exec/serve_cpu.hpp"

namespace ozfp4::exec {
namespace {

template <class T>
T turned(T x, int op) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return op == conjugate_transpose ? std::conj(x) : x;
}

template <class T>
void multiply(const Product& p) {
  const auto at = [](const void* matrix, std::ptrdiff_t place) {
    return reinterpret_cast<T*>(const_cast<char*>(static_cast<const char*>(matrix)) + place);
  };
  const auto operand = [&](const void* matrix, std::int64_t leading, int op, std::int64_t row, std::int64_t column) {
    return turned(*at(matrix, op == no_transpose ? place_of(p, leading, row, column) : place_of(p, leading, column, row)), op);
  };
  const T alpha = *at(p.alpha, 0), beta = *at(p.beta, 0);
  const bool multiplies = p.k > 0 && alpha != T(0);  // else neither A nor B is read
  if (!multiplies && beta == T(1)) return;
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      if (!is_written(p, i, j)) continue;
      T sum = 0;
      for (std::int64_t l = 0; l < p.k && multiplies; ++l) {
        sum += operand(p.a, p.lda, p.transpose_a, i, l) * operand(p.b, p.ldb, p.transpose_b, l, j);
      }
      if (multiplies) sum *= alpha;
      T& c = *at(p.c, place_of(p, p.ldc, i, j));
      const bool is_real = p.is_hermitian && i == j;
      if (beta != T(0)) sum += beta * (is_real ? T(std::real(c)) : c);
      c = is_real ? T(std::real(sum)) : sum;
    }
  }
}

}  // namespace

void multiply_plainly(const Product& product) {
  switch (product.type) {
    case Type::float32: return multiply<float>(product);
    case Type::float64: return multiply<double>(product);
    case Type::complex64: return multiply<std::complex<float>>(product);
    default: return multiply<std::complex<double>>(product);
  }
}

}  // namespace ozfp4::exec
