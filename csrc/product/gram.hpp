// C = X X^H in blocks of columns: those on and above the diagonal are multiplied, and those below it are copied.
#pragma once

#include "plan/cuts.hpp"
#include "product/matrices.hpp"

namespace ozfp4::product {

// Of these columns the rows down to the diagonal.
inline MatrixProduct part_of(const MatrixProduct& gram, const ColumnRange& columns) {
  MatrixProduct part = gram;
  part.m = part.a.rows = columns.last;
  part.n = part.b.columns = columns.last - columns.first;
  if (part.b.data != nullptr) part.b.data += columns.first * part.b.column_stride;
  if (part.c != nullptr) part.c += columns.first * part.type.bytes();
  return part;
}

}  // namespace ozfp4::product
