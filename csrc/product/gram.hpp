// C = X X^H in blocks of columns: those on and above the diagonal are multiplied, and those below it are copied.
#pragma once

#include "plan/cuts.hpp"
#include "product/integers.hpp"
#include "product/product.hpp"

namespace ozfp4::product {

// The product for these columns, with rows down to the diagonal.
template <class Gram>
Gram part_of(const Gram& gram, const ColumnRange& columns) {
  return part_of(gram, Block{0, columns.last, columns.first, columns.last - columns.first});
}

}  // namespace ozfp4::product
