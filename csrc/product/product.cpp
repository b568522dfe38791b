#include "product/product.hpp"

#include <algorithm>
#include <iterator>

namespace ozfp4::product {
namespace {

void advance(ResultMatrix& x, std::ptrdiff_t bytes) {
  if (x.exists()) x.data += bytes;
}

void advance(Operand& x, std::ptrdiff_t bytes) {
  if (x.data != nullptr) x.data += bytes;
}

// The inner axis continues the outer one for every matrix.
bool continues(const Axis& outer, const Axis& inner) {
  return std::all_of(std::begin(kSteps), std::end(kSteps),
                     [&](std::ptrdiff_t Axis::* step) { return outer.*step == inner.*step * inner.extent; });
}

// The matrices of the only axis may be the rows of one product.
bool is_tall(const Product& p, std::int64_t most_rows) {
  if (p.axes.size() != 1 || p.m == 0 || p.prepared_a != nullptr || p.axes[0].extent > most_rows / p.m) return false;
  const Axis& axis = p.axes[0];
  const auto follows = [&](const ResultMatrix& x, std::ptrdiff_t step) { return !x.exists() || step == p.m * x.row_stride; };
  return axis.b == 0 && axis.a == p.m * p.a.row_stride && follows(p.c, axis.c) && follows(p.addend, axis.addend) &&
         follows(p.upper, axis.upper) && follows(p.bound, axis.bound);
}

}  // namespace

Axes merged(const Axes& axes) {
  Axes fewest;
  for (const Axis& axis : axes) {
    if (axis.extent == 1) continue;
    if (!fewest.empty() && continues(fewest.back(), axis)) {
      const std::int64_t extent = fewest.back().extent * axis.extent;
      fewest.back() = axis;
      fewest.back().extent = extent;
    } else {
      fewest.push_back(axis);
    }
  }
  return fewest;
}

Product merged(Product product, std::int64_t most_rows) {
  product.axes = merged(product.axes);
  if (is_tall(product, most_rows)) {
    product.m = product.a.rows = product.m * product.axes[0].extent;
    product.axes.clear();
  }
  return product;
}

Product matrix_at(const Product& product, std::int64_t number) {
  Product one = product;
  one.axes.clear();
  for_places(product.axes, number, [&](const Axis& axis, std::int64_t i) {
    advance(one.a, i * axis.a);
    advance(one.b, i * axis.b);
    advance(one.c, i * axis.c);
    advance(one.addend, i * axis.addend);
    advance(one.upper, i * axis.upper);
    advance(one.bound, i * axis.bound);
  });
  return one;
}

Product part_of(const Product& product, const Block& at) {
  Product part = product;
  part.m = part.a.rows = at.rows;
  part.n = part.b.columns = at.columns;
  advance(part.a, at.row * part.a.row_stride);
  advance(part.b, at.column * part.b.column_stride);
  for (ResultMatrix* x : {&part.c, &part.addend, &part.upper, &part.bound}) {
    advance(*x, at.row * x->row_stride + at.column * x->column_stride);
  }
  return part;
}

}  // namespace ozfp4::product
