#include "cpu/threading/tiles.hpp"

#include <algorithm>
#include <atomic>

#include "arith/multiples.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

// Extents of a tile whose product by one thread has nearly the rate of a large one.
constexpr std::int64_t kMostRows = 1024, kMostColumns = 256;
constexpr std::int64_t kLeastSide = 128;
constexpr std::int64_t kTasksPerThread = 4;

}  // namespace

Tiling::Tiling(std::int64_t rows, std::int64_t columns, std::int64_t most_rows, std::int64_t most_columns)
    : rows_(rows), columns_(columns), down_(ceil_div(rows, most_rows)), across_(ceil_div(columns, most_columns)) {}

Tiling Tiling::for_threads(std::int64_t rows, std::int64_t columns, std::int64_t room, int threads, int groups) {
  // A result that is narrower or shorter than a tile has longer or wider ones.
  constexpr std::int64_t entries = kMostRows * kMostColumns;
  std::int64_t width = std::min(columns, kMostColumns), height = std::min(rows, entries / width);
  width = std::min(columns, std::max(width, entries / height));
  const std::int64_t wanted = threads > 1 ? kTasksPerThread * threads : 1;
  const auto tasks = [&] { return ceil_div(rows, height) * ceil_div(columns, width) * groups; };
  while (height * width > room || (tasks() < wanted && std::max(height, width) > kLeastSide)) {
    std::int64_t& longer = height >= width ? height : width;
    longer = ceil_div(longer, std::int64_t(2));
  }
  return {rows, columns, height, width};
}

Tile Tiling::operator[](std::int64_t index) const {
  const std::int64_t i = index / across_, j = index % across_;
  const std::int64_t row = rows_ * i / down_, column = columns_ * j / across_;
  return {row, rows_ * (i + 1) / down_ - row, column, columns_ * (j + 1) / across_ - column};
}

std::int64_t Tiling::most_entries() const { return ceil_div(rows_, down_) * ceil_div(columns_, across_); }

void take_in_turn(std::int64_t first, std::int64_t end, int slots, const std::function<void(std::int64_t, int)>& body) {
  std::atomic<std::int64_t> next{first};
  parallel_for(slots, 1, [&](std::int64_t begin, std::int64_t stop) {
    for (std::int64_t slot = begin; slot < stop; ++slot) {
      for (std::int64_t task = next++; task < end; task = next++) body(task, static_cast<int>(slot));
    }
  });
}

}  // namespace ozfp4
