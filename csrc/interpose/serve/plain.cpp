#include "interpose/serve/plain.hpp"

#include <cstdint>

namespace ozfp4::interpose {
namespace {

// Numbers of a type, with BLAS's plain multiplication: NaN and infinities are what sums of products of parts make of them.
template <class T, bool has_imaginary>
struct Number {
  T real = 0, imaginary = 0;

  static Number load(const void* matrix, std::ptrdiff_t place) {
    const T* at = reinterpret_cast<const T*>(static_cast<const char*>(matrix) + place);
    return {at[0], has_imaginary ? at[1] : T(0)};
  }
  void store(void* matrix, std::ptrdiff_t place) const {
    T* at = reinterpret_cast<T*>(static_cast<char*>(matrix) + place);
    at[0] = real;
    if constexpr (has_imaginary) at[1] = imaginary;
  }
  bool is_zero() const { return real == 0 && imaginary == 0; }
  bool is_one() const { return real == 1 && imaginary == 0; }
  Number conjugated() const { return {real, -imaginary}; }
  Number operator+(const Number& other) const { return {real + other.real, imaginary + other.imaginary}; }
  Number operator*(const Number& other) const {
    if constexpr (!has_imaginary) return {real * other.real, 0};
    return {real * other.real - imaginary * other.imaginary, real * other.imaginary + imaginary * other.real};
  }
};

template <class Entry>
void multiply(const Product& p) {
  const auto operand = [&p](const void* matrix, std::int64_t leading, int op, std::int64_t row, std::int64_t column) {
    const std::ptrdiff_t place = op == no_transpose ? place_of(p, leading, row, column) : place_of(p, leading, column, row);
    const Entry found = Entry::load(matrix, place);
    return op == conjugate_transpose ? found.conjugated() : found;
  };
  const Entry alpha = Entry::load(p.alpha, 0), beta = Entry::load(p.beta, 0);
  const bool multiplies = p.k > 0 && !alpha.is_zero();  // else neither A nor B is read
  if (!multiplies && beta.is_one()) return;
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      if (!is_written(p, i, j)) continue;
      Entry sum;
      for (std::int64_t l = 0; l < p.k && multiplies; ++l) {
        sum = sum + operand(p.a, p.lda, p.transpose_a, i, l) * operand(p.b, p.ldb, p.transpose_b, l, j);
      }
      if (multiplies) sum = alpha * sum;
      const std::ptrdiff_t place = place_of(p, p.ldc, i, j);
      const bool is_real = p.is_hermitian && i == j;
      if (!beta.is_zero()) {
        Entry before = Entry::load(p.c, place);
        if (is_real) before.imaginary = 0;
        sum = sum + beta * before;
      }
      if (is_real) sum.imaginary = 0;
      sum.store(p.c, place);
    }
  }
}

}  // namespace

void multiply_plainly(const Product& product) {
  switch (product.type) {
    case Type::float32: return multiply<Number<float, false>>(product);
    case Type::float64: return multiply<Number<double, false>>(product);
    case Type::complex64: return multiply<Number<float, true>>(product);
    default: return multiply<Number<double, true>>(product);
  }
}

}  // namespace ozfp4::interpose
