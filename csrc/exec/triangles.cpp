// A triangle of a product by blocks: what is off the diagonal is products, and blocks on it are made whole in memory apart.
#include <algorithm>
#include <cstring>
#include <new>

#include "cpu/runtime/buffer.hpp"
#include "exec/serve_cpu.hpp"

namespace ozfp4::exec {
namespace {

constexpr std::int64_t block = 256;  // rows of a block on the diagonal, at most, of which nearly half is made for nothing

// What is before row `index` of op(A), or before a column of op(B), in bytes.
std::ptrdiff_t before_row(const Product& p, std::int64_t index) {
  return p.transpose_a == no_transpose ? place_of(p, p.lda, index, 0) : place_of(p, p.lda, 0, index);
}
std::ptrdiff_t before_column(const Product& p, std::int64_t index) {
  return p.transpose_b == no_transpose ? place_of(p, p.ldb, 0, index) : place_of(p, p.ldb, index, 0);
}

Product part_of(const Product& p, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  Product found = p;
  found.m = rows, found.n = columns;
  found.a = static_cast<const char*>(p.a) + before_row(p, row);
  found.b = static_cast<const char*>(p.b) + before_column(p, column);
  found.c = static_cast<char*>(p.c) + place_of(p, p.ldc, row, column);
  return found;
}

// In two of `half` rows and the others, and the rectangle between them. Range: 0 < half < n.
Product first_triangle(const Product& p, std::int64_t half) { return part_of(p, 0, half, 0, half); }

Product second_triangle(const Product& p, std::int64_t half) { return part_of(p, half, p.n - half, half, p.n - half); }

Product between_triangles(const Product& p, std::int64_t half) {
  const bool is_lower = p.triangle == lower_triangle;
  Product found = is_lower ? part_of(p, half, p.n - half, 0, half) : part_of(p, 0, half, half, p.n - half);
  found.triangle = 0, found.is_hermitian = false;
  return found;
}

class Triangles {
 public:
  Triangles(std::int64_t* repaired, char* apart) : repaired_(repaired), apart_(apart) {}

  // The largest product first: what it is refused for, the triangle is, and nothing has been written. No later one is, but for
  // memory that others took meanwhile.
  Reason make(const Product& p) {
    if (p.n <= block) return make_on_diagonal(p);
    const std::int64_t half = (p.n / 2 + block - 1) / block * block;
    const Reason reason = make_one(between_triangles(p, half));
    if (reason != Reason::none) return reason;
    is_begun_ = true;
    make(first_triangle(p, half));
    return make(second_triangle(p, half));
  }

 private:
  Reason make_one(const Product& p) {
    std::int64_t own = 0;
    const Reason reason = serve(p, &own);
    *repaired_ += own;
    if (reason == Reason::none || !is_begun_) return reason;
    multiply_plainly(p);
    return Reason::none;
  }

  Reason make_on_diagonal(const Product& p) {
    const auto entry = static_cast<std::ptrdiff_t>(size_of(p.type));
    Product whole = p;
    whole.triangle = 0, whole.is_hermitian = false;
    whole.c = apart_, whole.ldc = p.n;
    const Factor beta = factor(p.type, p.beta);
    if (beta.real != 0 || beta.imaginary != 0) {
      std::memset(apart_, 0, static_cast<std::size_t>(p.n * p.n * entry));
      copy(p, p.c, p.ldc, apart_, p.n);
    }
    const Reason reason = make_one(whole);
    if (reason == Reason::none) copy(p, apart_, p.n, static_cast<char*>(p.c), p.ldc);
    return reason;
  }

  // The triangle from one matrix to another.
  static void copy(const Product& p, const void* from, std::int64_t leading, char* to, std::int64_t leading_to) {
    const auto entry = static_cast<std::int64_t>(size_of(p.type));
    // Lines are of entries side by side: before the diagonal, with it, or from it on.
    const bool ends_at_diagonal = (p.triangle == lower_triangle) == (p.order == row_major);
    for (std::int64_t i = 0; i < p.n; ++i) {
      const std::int64_t first = ends_at_diagonal ? 0 : i, last = ends_at_diagonal ? i + 1 : p.n;
      const char* source = static_cast<const char*>(from) + (i * leading + first) * entry;
      std::memcpy(to + (i * leading_to + first) * entry, source, static_cast<std::size_t>((last - first) * entry));
      if (p.is_hermitian) std::memset(to + (i * leading_to + i) * entry + entry / 2, 0, static_cast<std::size_t>(entry / 2));
    }
  }

  std::int64_t* repaired_;
  char* apart_;
  bool is_begun_ = false;
};

}  // namespace

Reason serve_triangle(const Product& triangle, std::int64_t* repaired) {
  *repaired = 0;
  if (triangle.n == 0) return Reason::none;
  try {
    const std::int64_t rows = std::min(triangle.n, block);
    const Buffer apart = allocate_buffer(rows * rows * static_cast<std::int64_t>(size_of(triangle.type)));
    return Triangles(repaired, apart.get()).make(triangle);
  } catch (const std::bad_alloc&) {
    return Reason::no_memory;
  }
}

}  // namespace ozfp4::exec
