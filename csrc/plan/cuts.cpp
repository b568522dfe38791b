#include "plan/cuts.hpp"

#include <algorithm>

#include "arith/multiples.hpp"

namespace ozfp4 {

Extents cut_for_copies(std::int64_t m, std::int64_t n, const CopyBytes& bytes, std::int64_t budget) {
  const auto total = static_cast<double>(m) * static_cast<double>(bytes.row) +
                     static_cast<double>(n) * static_cast<double>(bytes.column) +
                     static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(bytes.entry);
  if (total <= static_cast<double>(budget) || (bytes.has_whole_rows && bytes.has_whole_columns)) {
    return {std::max<std::int64_t>(m, 1), std::max<std::int64_t>(n, 1)};
  }
  const std::int64_t third = budget / 3;
  const auto within = [third](std::int64_t extent, std::int64_t each) {
    return std::max<std::int64_t>(1, each > 0 ? std::min(extent, third / each) : extent);
  };
  Extents block{within(m, bytes.row), within(n, bytes.column)};
  if (bytes.entry > 0) {
    const std::int64_t rows = bytes.has_whole_rows ? m : 1;
    const std::int64_t columns = third / (bytes.entry * std::max<std::int64_t>(1, rows));
    block.columns = std::max<std::int64_t>(1, bytes.has_whole_columns ? n : std::min(block.columns, columns));
    const std::int64_t held = third / (bytes.entry * block.columns);
    block.rows = std::max<std::int64_t>(1, bytes.has_whole_rows ? m : std::min(block.rows, held));
  }
  return block;
}

namespace {

constexpr std::int64_t kMostBlocks = 16;  // 17/32 of all entries are multiplied; with twice as many it would be 33/64
constexpr std::int64_t kMultiple = 64;    // whole tiles, and lines that begin where planes are aligned

}  // namespace

std::vector<ColumnRange> gram_blocks(std::int64_t extent, std::int64_t least_columns) {
  const std::int64_t count = std::min(std::max<std::int64_t>(extent / least_columns, 1), kMostBlocks);
  const std::int64_t width = std::max<std::int64_t>(ceil_div(extent, count * kMultiple), 1) * kMultiple;
  std::vector<ColumnRange> blocks;
  for (std::int64_t first = 0; first < std::max<std::int64_t>(extent, 1); first += width) {
    blocks.push_back({first, std::min(first + width, extent)});
  }
  return blocks;
}

}  // namespace ozfp4
