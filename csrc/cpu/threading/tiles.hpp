// How the output of multiply is cut into tiles, and tasks that threads take in turn.
#pragma once

#include <cstdint>
#include <functional>

namespace ozfp4 {

struct Tile {
  std::int64_t row, rows, column, columns;
  std::int64_t entries() const { return rows * columns; }
};

// Rows and columns in ranges of about equal lengths; tiles are numbered along the rows of tiles.
class Tiling {
 public:
  // Tiles of at most so many rows and columns. Range: all >= 1.
  Tiling(std::int64_t rows, std::int64_t columns, std::int64_t most_rows, std::int64_t most_columns);

  // Tiles for threads that multiply one each at a time: so large that a product's packing is little of it, at most `room`
  // entries, and where that leaves them large enough so many that `groups` times their number keeps all threads busy to the end.
  // Range: all >= 1.
  static Tiling for_threads(std::int64_t rows, std::int64_t columns, std::int64_t room, int threads, int groups);

  std::int64_t count() const { return down_ * across_; }
  Tile operator[](std::int64_t index) const;
  // The largest of all: its entries.
  std::int64_t most_entries() const;

 private:
  std::int64_t rows_, columns_, down_, across_;
};

// Calls body(task, slot) for the tasks [first, end): at one time at most one for each slot in [0, slots), by as many threads.
void take_in_turn(std::int64_t first, std::int64_t end, int slots, const std::function<void(std::int64_t, int)>& body);

}  // namespace ozfp4
