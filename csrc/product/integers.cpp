#include "product/integers.hpp"

#include <cstddef>
#include <initializer_list>

namespace ozfp4::product {
namespace {

// The matrices of the only axis may be the rows of one product.
bool is_tall(const IntegerSum& sum) {
  const IntegerProduct& p = sum.product;
  if (sum.axes.size() != 1 || p.a.outer == 0 || sum.axes[0].extent > kMostEntries / p.a.outer) return false;
  const Axis& axis = sum.axes[0];
  const auto follows = [&](std::ptrdiff_t step, std::ptrdiff_t row) { return step == p.a.outer * row; };
  return axis.b == 0 && follows(axis.a, p.a.outer_stride) && follows(axis.c, p.c.row_stride) &&
         (sum.addend.data == nullptr || follows(axis.addend, sum.addend.row_stride));
}

void advance(ResultView& x, std::ptrdiff_t bytes) {
  if (x.data != nullptr) x.data += bytes;
}

}  // namespace

IntegerSum merged(IntegerSum sum) {
  sum.axes = merged(sum.axes);
  if (is_tall(sum)) {
    const std::int64_t rows = sum.product.a.outer * sum.axes[0].extent;
    sum.product.a.outer = sum.product.c.rows = sum.addend.rows = rows;
    sum.axes.clear();
  }
  return sum;
}

IntegerSum matrix_at(const IntegerSum& sum, std::int64_t number) {
  IntegerSum one = sum;
  one.axes.clear();
  for_places(sum.axes, number, [&](const Axis& axis, std::int64_t i) {
    one.product.a.data += i * axis.a;
    one.product.b.data += i * axis.b;
    advance(one.product.c, i * axis.c);
    advance(one.addend, i * axis.addend);
  });
  return one;
}

IntegerSum part_of(const IntegerSum& sum, const Block& at) {
  IntegerSum part = sum;
  OperandView &a = part.product.a, &b = part.product.b;
  a.data += at.row * a.outer_stride;
  a.outer = at.rows;
  b.data += at.column * b.outer_stride;
  b.outer = at.columns;
  for (ResultView* x : {&part.product.c, &part.addend}) {
    x->rows = at.rows;
    x->columns = at.columns;
    advance(*x, at.row * x->row_stride + at.column * x->column_stride);
  }
  return part;
}

}  // namespace ozfp4::product
