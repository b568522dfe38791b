// How results are cut where not all of a product is made at once: by what is copied for it, or by what symmetry saves.
#pragma once

#include <cstdint>
#include <vector>

namespace ozfp4 {

// Bytes of copies for each row, each column and each entry of the result; all rows (columns) at once where has_whole_*.
struct CopyBytes {
  std::int64_t row = 0, column = 0, entry = 0;
  bool has_whole_rows = false, has_whole_columns = false;
};

struct Extents {
  std::int64_t rows, columns;
};

// The extent of a block with copies of `budget` bytes or less, if those of one row and one column have so few; 1 or more.
// Precondition: m, n, budget >= 0.
Extents cut_for_copies(std::int64_t m, std::int64_t n, const CopyBytes& bytes, std::int64_t budget);

struct ColumnRange {
  std::int64_t first, last;
};

// The columns of each block of a symmetric result of `extent` rows; a block's rows are all down to its diagonal, the others
// follow by symmetry. One empty range for an extent of 0. `least_columns`: of a block at least, as narrower products take longer
// than their share. Precondition: least_columns >= 1.
std::vector<ColumnRange> gram_blocks(std::int64_t extent, std::int64_t least_columns);

// Columns of a block with which a BLAS is not slower.
inline constexpr std::int64_t kGramColumns = 256;

}  // namespace ozfp4
