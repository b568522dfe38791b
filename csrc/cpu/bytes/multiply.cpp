#include "cpu/bytes/multiply.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "arith/fold.hpp"
#include "arith/limits.hpp"
#include "arith/multiples.hpp"
#include "cpu/bytes/fold_lines.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/stages/encode.hpp"
#include "cpu/stages/walk.hpp"

namespace ozfp4 {
namespace {

// Of a tile of the output: 272 KiB of sums, in the second-level cache with what they take of A and B, 256 KiB each for 16 tiles
// of K; and below which panels are read too often.
constexpr std::int64_t kLongestSide = 256, kShortestSide = 32;
constexpr std::int64_t kTasksPerThread = 4;  // so that threads end together
constexpr std::int64_t kTaskWork = 1 << 22;  // products that a thread multiplies at least

struct TileShape {
  std::int64_t rows, columns;
  std::int64_t slots;  // threads that have sums of their own

  std::int64_t sums() const { return rows * sums_pitch(columns); }
};

// With all sums in `room` entries. Precondition: room >= kLeastTileSums.
TileShape choose_tile(const Plan& plan, const MultiplyShape& shape, std::int64_t room) {
  const std::int64_t threads = thread_count();
  const auto padded = [](std::int64_t extent) { return panels_of(extent) * kPanelLines; };
  TileShape tile{std::min(kLongestSide, padded(shape.rows)), std::min(kLongestSide, padded(shape.columns)), 1};
  const auto tasks = [&] {
    return ceil_div(shape.rows, tile.rows) * ceil_div(shape.columns, tile.columns) *
           static_cast<std::int64_t>(plan.groups.size());
  };
  const auto is_too_large = [&] {
    return threads > 1 && tasks() < kTasksPerThread * threads && std::max(tile.rows, tile.columns) > kShortestSide;
  };
  while (tile.sums() > room || is_too_large()) {
    std::int64_t& longer = tile.rows > tile.columns ? tile.rows : tile.columns;
    longer = padded(ceil_div(longer, std::int64_t(2)));
  }
  const double work = static_cast<double>(shape.rows) * static_cast<double>(shape.columns) * static_cast<double>(shape.inners) *
                      static_cast<double>(plan.groups.size());
  const auto worth = static_cast<std::int64_t>(std::min(work / static_cast<double>(kTaskWork), 1e6));
  tile.slots = std::clamp<std::int64_t>(std::min({worth, tasks(), room / tile.sums()}), 1, threads);
  return tile;
}

// One tile of the output of one group, on the sums of one thread, as walk.hpp asks for.
class TileSums {
 public:
  TileSums(const ByteKernel& kernel, const MultiplyShape& shape, const void* planes_a, const void* planes_b, std::int32_t* sums)
      : kernel_(kernel),
        shape_(shape),
        packed_a_{Side::left, shape.rows, shape.inners},
        packed_b_{Side::right, shape.columns, shape.inners},
        planes_a_(static_cast<const char*>(planes_a)),
        planes_b_(static_cast<const char*>(planes_b)),
        sums_(sums) {}

  // `output` is that of all of the group. Precondition: a modulus of at least 2, or 0 where nothing is folded.
  void place(std::int64_t row, std::int64_t column, const TileShape& tile, std::int64_t modulus, bool accumulate, void* output) {
    row_ = row;
    rows_ = std::min(tile.rows, shape_.rows - row);
    column_ = column;
    columns_ = std::min(tile.columns, shape_.columns - column);
    pitch_ = sums_pitch(columns_);
    is_started_ = false;
    if (modulus != 0) modulus_ = make_fold(static_cast<std::uint32_t>(modulus), kSignedFoldExact);
    accumulate_ = accumulate;
    output_ = output;
  }

  // Precondition: all of K at once.
  void add(int a_plane, int b_plane, std::int64_t, std::int64_t) {
    const char *plane_a = planes_a_ + a_plane * packed_a_.plane_bytes(), *plane_b = planes_b_ + b_plane * packed_b_.plane_bytes();
    const std::int32_t* starts = packed_b_.starts(plane_b) + column_;
    const std::int64_t padded = panels_of(columns_) * kPanelLines;
    for (std::int64_t i = 0; i < panels_of(rows_) * kPanelLines; ++i) {
      is_started_ ? add_starts(line(i), starts, padded) : static_cast<void>(std::copy_n(starts, padded, line(i)));
    }
    is_started_ = true;
    const std::int64_t panel_bytes = packed_a_.panel_bytes(), tiles = tiles_of(shape_.inners);
    const auto* a = reinterpret_cast<const std::uint8_t*>(plane_a) + row_ / kPanelLines * panel_bytes;
    const auto* b = reinterpret_cast<const std::int8_t*>(plane_b) + column_ / kPanelLines * panel_bytes;
    for (std::int64_t t = 0; t < tiles; t += kernel_.chunk_tiles) {
      kernel_.run({a + t * kTileBytes, b + t * kTileBytes, sums_, panel_bytes, panel_bytes, pitch_, panels_of(rows_),
                   panels_of(columns_), std::min(kernel_.chunk_tiles, tiles - t)});
    }
  }

  void fold(std::int64_t multiplier) {
    for (std::int64_t i = 0; i < rows_; ++i) fold_sums(line(i), columns_, modulus_, static_cast<std::int32_t>(multiplier));
  }

  void store(std::int64_t multiplier) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      store_residues(line(i), columns_, modulus_, static_cast<std::uint32_t>(multiplier), accumulate_,
                     static_cast<std::uint8_t*>(output_) + first_of(i));
    }
  }

  void flush(std::int64_t weight) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      flush_sums(line(i), columns_, weight, accumulate_, static_cast<std::int64_t*>(output_) + first_of(i));
    }
    accumulate_ = true;
    is_started_ = false;
  }

 private:
  std::int32_t* line(std::int64_t i) { return sums_ + i * pitch_; }
  std::int64_t first_of(std::int64_t i) const { return (row_ + i) * shape_.columns + column_; }

  const ByteKernel& kernel_;
  const MultiplyShape& shape_;
  const PackedShape packed_a_, packed_b_;
  const char *planes_a_, *planes_b_;
  std::int32_t* sums_;
  std::int64_t row_ = 0, rows_ = 0, column_ = 0, columns_ = 0, pitch_ = 0;
  fold_constants modulus_{};
  bool accumulate_ = false, is_started_ = false;
  void* output_ = nullptr;
};

}  // namespace

const ByteKernel* byte_kernel_of(const Plan& plan) {
  return plan.alphabet.entry == PlaneEntry::int8 ? serving_byte_kernel() : nullptr;
}

std::int64_t multiply_bytes_scratch(const Plan& plan, const MultiplyShape& shape) {
  const TileShape tile = choose_tile(plan, shape, std::numeric_limits<std::int64_t>::max());
  return tile.slots * tile.sums() * static_cast<std::int64_t>(sizeof(std::int32_t));
}

void multiply_bytes(const ByteKernel& kernel, const Plan& plan, int count, const MultiplyShape& shape, const void* planes_a,
                    const void* planes_b, bool accumulate, void* output, const MultiplyScratch& scratch,
                    const std::function<void(double)>& progress) {
  const TileShape tile = choose_tile(plan, shape, scratch.bytes / static_cast<std::int64_t>(sizeof(std::int32_t)));
  const std::int64_t tile_columns = ceil_div(shape.columns, tile.columns);
  const std::int64_t per_group = ceil_div(shape.rows, tile.rows) * tile_columns, entries = shape.rows * shape.columns;
  const auto multiply_one = [&](TileSums& sums, std::int64_t task) {
    const std::int64_t g = task / per_group, at = task % per_group;
    const Group& group = plan.groups[static_cast<std::size_t>(g)];
    sums.place(at / tile_columns * tile.rows, at % tile_columns * tile.columns, tile, plan.has_moduli() ? group.modulus : 0,
               accumulate, static_cast<char*>(output) + g * entries * output_entry_bytes(plan));
    if (plan.has_moduli()) {
      walk_chain(group, shape.inners, kSignedFoldExact, group.modulus, sums);
    } else {
      walk_terms(plan, group, shape.inners, kInt32Exact, sums);
    }
  };
  // All threads work on one group at a time, whose planes stay in the last-level cache: tasks in order, group by group.
  const auto multiply_tasks = [&](std::int64_t first, std::int64_t end) {
    std::atomic<std::int64_t> next{first};
    parallel_for(tile.slots, 1, [&](std::int64_t slot, std::int64_t slots_end) {
      for (; slot < slots_end; ++slot) {
        if (next >= end) return;
        kernel.begin();
        TileSums sums(kernel, shape, planes_a, planes_b, static_cast<std::int32_t*>(scratch.memory) + slot * tile.sums());
        for (std::int64_t task = next++; task < end; task = next++) multiply_one(sums, task);
        kernel.end();
      }
    });
  };
  const int groups = plan.groups_of(count);
  if (!progress) return multiply_tasks(0, groups * per_group);
  int terms = 0, terms_done = 0;
  for (int g = 0; g < groups; ++g) terms += plan.groups[static_cast<std::size_t>(g)].terms;
  for (int g = 0; g < groups; ++g) {
    multiply_tasks(g * per_group, (g + 1) * per_group);
    terms_done += plan.groups[static_cast<std::size_t>(g)].terms;
    progress(static_cast<double>(terms_done) / terms);
  }
}

}  // namespace ozfp4
