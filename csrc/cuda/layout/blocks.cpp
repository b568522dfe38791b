#include "cuda/layout/blocks.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "arith/multiples.hpp"
#include "cuda/encode/encode.hpp"
#include "cuda/places.hpp"
#include "cuda/repair/listed.hpp"
#include "cuda/repair/repair.hpp"
#include "cuda/scale/scale.hpp"
#include "cuda/standard/standard.hpp"
#include "cuda/thin/thin.hpp"
#include "plan/workspace_error.hpp"

namespace ozfp4::cuda {
namespace {

constexpr std::int64_t kWordLimit = std::int64_t(1) << 31;
constexpr std::int64_t kMapLimit = std::int64_t(1) << 40;  // of the strides of a tensor map

constexpr std::int64_t kLongPiece = 32768;  // pieces of K above this cost little
constexpr std::int32_t kLongSide = 256;     // blocks of the output below this leave tiles empty
constexpr std::int32_t kShortSide = 64;     // the smallest tile
constexpr int kMostParts = 64;              // of the rows, and of the columns: as many blocks are tried to find the fastest

// An H200 at N = 16384, in a microsecond: bytes that scale and encode move, and products of bytes that a multiprocessor adds.
constexpr double kPreparedBytes = 3.4e6, kMultiplied = 5.9e6;
// Microseconds of a block: four or five launches, each of which begins and ends, and the last tiles of its operands. Blocks of
// "correct" at N = 16384 took 100 to 220.
constexpr double kLaunches = 120;

constexpr std::int64_t kNorms = round_up(sizeof(ScaleDecision), 8);  // from a decision to the two norms that it was made of

// The cut that is tried: which part of the product the workspace is for.
struct Cut {
  Turns turns;
  std::int32_t rows, columns, inners;
  std::vector<Schedule> pieces{};  // as of CudaLayout
};

// Room for either operand by itself, and for both, whichever are kept.
std::int64_t scratch_of(const Turn& turn) {
  std::int64_t bytes = scale_scratch_bytes(turn.a, turn.b);
  if (turn.stored_a.exists()) bytes = std::max(bytes, scale_scratch_bytes(turn.b));
  if (turn.stored_b.exists()) bytes = std::max(bytes, scale_scratch_bytes(turn.a));
  return bytes;
}

// Scratch of any turn. How scale cuts lines depends on whether they are aligned, in which matrices of one stack may differ,
// and a turn of fewer matrices may be cut into more chunks.
std::int64_t scratch_of_turns(const CudaProduct& product, const Turns& turns) {
  if (turns.count == 1) return scratch_of(turn_at(product, turns, 0));
  std::int64_t bytes = 0;
  const std::int64_t extent = product.axes[static_cast<std::size_t>(turns.axis)].extent;
  for (const std::int64_t index : {std::int64_t(0), ceil_div(extent, turns.chunk) - 1}) {
    Turn turn = turn_at(product, turns, index);
    for (const std::uintptr_t start_a : {0, 4}) {
      for (const std::uintptr_t start_b : {0, 4}) {
        turn.a.data = reinterpret_cast<const char*>(start_a);
        turn.b.data = reinterpret_cast<const char*>(start_b);
        bytes = std::max(bytes, scratch_of(turn));
      }
    }
  }
  return bytes;
}

// Forced splits must be what the schedule can be cut into; pieces of K are added up, and each is multiplied whole.
void check_splits(const ForcedChoice& forced, const Schedule& schedule, bool is_whole_k) {
  const int most = schedule.may_split && is_whole_k ? kMaxSplits : 1;
  if (!forced.splits || (*forced.splits >= schedule.least_splits && *forced.splits <= most)) return;
  throw std::invalid_argument("splits: " + std::to_string(*forced.splits) + "; this product takes " +
                              std::to_string(schedule.least_splits) + " to " + std::to_string(most) +
                              (is_whole_k ? "" : ", as its workspace has room for pieces of K alone"));
}

// Masks of all of K. They are next to nothing compared with the planes of a whole K. Compared with those of a short piece of a
// long K they are more, and then there are none.
void place_masks(const DeviceOperand& a, const DeviceOperand& b, int planes, CudaLayout& layout, PlaceCount& places) {
  const std::int64_t a_bytes = size_of({kMaskUnitBytes, mask_units(a.inner), a.stack.count(), layout.rows});
  const std::int64_t b_bytes = size_of({kMaskUnitBytes, mask_units(b.inner), b.stack.count(), layout.columns});
  const std::int64_t plane_bytes =
      size_of({planes, layout.k_pitch, a.stack.count() * layout.rows + b.encoded().stack.count() * layout.columns});
  if (a_bytes + b_bytes > plane_bytes / 4) return;
  layout.a_masks = places.take(a_bytes);
  layout.b_masks = places.take(b_bytes);
}

// Places for what scale leaves of the lines of both operands.
void place_lines(const CudaPlan& plan, const Turn& turn, CudaLayout& layout, PlaceCount& places) {
  layout.decision = places.take(kNorms + 2 * 8);
  layout.a.norm = layout.decision + kNorms;
  layout.b.norm = layout.a.norm + 8;
  if (plan.integer) return;
  const std::int64_t a_lines = turn.a.stack.count() * turn.a.outer, b_lines = turn.b.stack.count() * turn.b.outer;
  layout.a.shift = places.take(4 * a_lines);
  layout.b.shift = places.take(4 * b_lines);
  layout.a.special = places.take(a_lines);
  layout.b.special = places.take(b_lines);
  if (!plan.promise.has_records()) return;
  layout.a.record = places.take(size_of({sizeof(LineRecord), a_lines}));
  layout.b.record = places.take(size_of({sizeof(LineRecord), b_lines}));
}

// The list of what repair is to do in `matrices` blocks.
void place_list(std::int64_t matrices, CudaLayout& layout, PlaceCount& places) {
  layout.listed_pitch = listed_pitch(layout.columns);
  layout.listed = places.take(size_of({4, matrices, layout.rows, layout.listed_pitch}));
  layout.counts = places.take(kRepairReportBytes + kRepairCounterBytes);
}

// See KeptValues.
std::int64_t kept_bytes(const CudaPlan& plan, std::int64_t stack, const CudaLayout& layout) {
  if (plan.promise.accuracy != Accuracy::standard || !plan.promise.updates) return 0;
  return size_of({plan.promise.precision == 53 ? 8 : 4, stack, layout.rows, layout.out_pitch});
}

// The operands of which nothing is kept.
bool can_scale_and_encode(const CudaPlan& plan, const Turn& turn) {
  const EncodePlan& encode = plan.encode;
  const bool has_records = plan.promise.has_records();
  if (!turn.stored_a.exists() && !turn.stored_b.exists()) return can_scale_and_encode(encode, turn.a, turn.b, has_records);
  if (turn.stored_a.exists() && turn.stored_b.exists()) return false;
  return can_scale_and_encode(encode, turn.stored_a.exists() ? turn.b : turn.a, has_records);
}

std::vector<Schedule> pieces_of(const CudaPlan& plan, std::int32_t k, std::int32_t inners) {
  const int width = plan.plan.width(), rest = (k - 1) % inners + 1;
  return {make_schedule(plan.plan, plan.schedule.element, inners / width, k / width),
          make_schedule(plan.plan, plan.schedule.element, rest / width, k / width)};
}

CudaLayout layout_for(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu, const Cut& cut,
                      const ForcedChoice& forced) {
  const Turn turn = turn_at(product, cut.turns, 0);
  const DeviceOperand &a = turn.a, &b = turn.b;
  CudaLayout layout;
  layout.turns = cut.turns;
  layout.rows = cut.rows;
  layout.columns = cut.columns;
  layout.inners = cut.inners;
  layout.pieces = cut.pieces;
  const bool is_whole_k = cut.inners == a.inner;
  const int width = plan.plan.width();
  const Schedule& schedule = is_whole_k ? plan.schedule : layout.pieces[0];
  layout.k_pitch = plane_pitch(schedule.element, cut.inners / width);
  layout.out_pitch = round_up(cut.columns, 16);
  const std::int64_t stack_a = a.stack.count(), stack_b = b.stack.count(), stack = turn.result.stack.count();
  const std::int64_t multiplied = stack / width;  // matrices of planes

  const GemmShape shape = gemm_shape(schedule, cut.rows, cut.columns, cut.inners / width, multiplied, is_whole_k, gpu);
  check_splits(forced, schedule, is_whole_k);
  layout.tile = choose_tile(shape, plan.kernel, schedule.element, gpu, forced);
  layout.tile.splits = std::max(layout.tile.splits, schedule.least_splits);

  layout.scales_and_encodes = !plan.integer && is_whole_k && cut.rows == a.outer && cut.columns == b.outer &&
                              !plan.promise.counts_rounded() && can_scale_and_encode(plan, turn);

  PlaceCount places;
  place_lines(plan, turn, layout, places);
  if (!plan.integer) layout.scratch = places.take(scratch_of_turns(product, cut.turns));
  const bool has_a = !turn.stored_a.exists(), has_b = !turn.stored_b.exists();
  layout.a.planes = places.take(has_a ? size_of({schedule.planes, stack_a, cut.rows, layout.k_pitch}) : 0);
  layout.b.planes = places.take(has_b ? size_of({schedule.planes, b.encoded().stack.count(), cut.columns, layout.k_pitch}) : 0);
  const std::int64_t out_bytes =
      size_of({plan.integer ? 4 : schedule.out_planes, layout.tile.splits, multiplied, cut.rows, layout.out_pitch});
  layout.outputs = plan.integer ? places.bytes : places.take(out_bytes);  // INT8 products are stored to where they belong
  layout.partial = is_whole_k ? places.bytes : places.take(out_bytes);
  if (plan.promise.certifies()) {
    if (plan.promise.counts_rounded()) {
      place_masks(a, b, schedule.planes, layout, places);
    } else {
      layout.has_magnitudes =
          magnitude_room(stack_a, cut.rows, a.inner) + magnitude_room(stack_b, cut.columns, a.inner) <= out_bytes;
      if (const std::int64_t kept = kept_bytes(plan, stack, layout); kept > 0) layout.kept = places.take(kept);
    }
    place_list(stack, layout, places);
  }
  layout.bytes = places.bytes;
  return layout;
}

// Places for what scale leaves of the lines, and for the list of what repair is to do.
CudaLayout layout_without_planes(const CudaPlan& plan, const Turn& turn, const Turns& turns, const ForcedChoice& forced,
                                 Way way) {
  CudaLayout layout;
  layout.turns = turns;
  layout.way = way;
  layout.rows = turn.a.outer;
  layout.columns = turn.b.outer;
  layout.inners = turn.a.inner;
  layout.tile.overlap_previous = forced.overlap_previous.value_or(true);
  PlaceCount places;
  place_lines(plan, turn, layout, places);
  if (plan.promise.certifies()) place_list(turn.result.stack.count(), layout, places);
  if (way == Way::thin) layout.thin = places.take(thin_workspace_bytes(views_of(turn)));
  layout.bytes = places.bytes;
  return layout;
}

// An upper bound of the blocks that scale and encode cut an operand into, beyond the first two.
double blocks_of(std::int64_t lines, std::int64_t k) {
  const double entries = static_cast<double>(lines) * static_cast<double>(k);
  return entries / 2048 + static_cast<double>(lines) * static_cast<double>(std::min<std::int64_t>(256, 2 * k)) / 256 +
         static_cast<double>(k) / 8;
}

// Bytes that are moved to scale all lines of an operand once, and to encode them so many times.
double prepared_bytes(const CudaPlan& plan, const DeviceOperand& operand, std::int64_t times) {
  const double read = static_cast<double>(operand.stack.count()) * operand.outer * operand.inner * entry_bytes(operand.type);
  const double written = static_cast<double>(operand.encoded().stack.count()) * operand.outer * plan.schedule.planes *
                         static_cast<double>(row_bytes(plan.schedule.element, operand.inner / plan.plan.width()));
  return read + static_cast<double>(times) * (read + written);
}

// The model of scale, encode and multiply. Preparation::encode says how often lines are encoded. The last tiles of a launch are
// taken to leave half of the multiprocessors idle, as data decides how many tiles there are. Reads of tiles are left out: only
// tiles that run at the same time share them, however large the block is.
double microseconds_of(const CudaPlan& plan, const CudaProduct& product, const CudaLayout& layout, const Gpu& gpu) {
  const Turn turn = turn_at(product, layout.turns, 0);
  const std::int64_t rows = ceil_div(turn.a.outer, layout.rows), columns = ceil_div(turn.b.outer, layout.columns);
  const std::int64_t pieces = ceil_div(turn.a.inner, layout.inners);
  double bytes = 0;
  if (!turn.stored_a.exists()) bytes += prepared_bytes(plan, turn.a, pieces > 1 ? columns : 1);
  if (!turn.stored_b.exists()) bytes += prepared_bytes(plan, turn.b, pieces > 1 || columns > 1 ? rows : 1);

  const TileGeometry& tile = tile_geometry(layout.tile.shape);
  const Schedule& schedule = layout.pieces.empty() ? plan.schedule : layout.pieces[0];
  const auto along = [](std::int32_t extent, std::int32_t block, int of_tile) {  // tiles of all blocks
    return static_cast<double>(extent / block * ceil_div(block, of_tile) + ceil_div(extent % block, of_tile));
  };
  const double tiles = along(turn.a.outer, layout.rows, tile.m) * along(turn.b.outer, layout.columns, tile.n) *
                       static_cast<double>(turn.result.stack.count() / plan.plan.width());
  const double line = static_cast<double>(row_bytes(schedule.element, turn.a.inner / plan.plan.width()));
  const double blocks = static_cast<double>(rows * columns * pieces);
  const double rounds = tiles * schedule.unit_count() / gpu.multiprocessors + 0.5 * blocks / pieces;
  const double each = line * tile.m * tile.n * static_cast<double>(schedule.steps.size()) / schedule.unit_count();
  return static_cast<double>(layout.turns.count) * (bytes / kPreparedBytes + rounds * each / kMultiplied + blocks * kLaunches);
}

// Names the extent of a cut that exceeds the numbers that the kernels count in; nullptr where nothing does.
const char* find_limit(const CudaPlan& plan, const CudaProduct& product, const CudaLayout& layout) {
  const Turn turn = turn_at(product, layout.turns, 0);
  const Schedule& schedule = layout.pieces.empty() ? plan.schedule : layout.pieces[0];
  const std::int64_t stack_a = turn.a.stack.count(), stack_b = turn.b.stack.count(), stack = turn.result.stack.count();
  const std::int64_t lines_a = size_of({stack_a, turn.a.outer}), lines_b = size_of({stack_b, turn.b.outer});
  if (std::max(lines_a, lines_b) >= kWordLimit) return "2^31 rows of a or columns of b in all matrices of a turn";
  if (blocks_of(lines_a, turn.a.inner) + blocks_of(lines_b, turn.b.inner) >= static_cast<double>(kWordLimit - 4)) {
    return "the entries that a launch takes, about 2^42";
  }
  const std::int64_t matrices = size_of({stack, layout.tile.splits});
  if (size_of({matrices, ceil_div(layout.rows, 64), ceil_div(layout.columns, 64), schedule.unit_count()}) >= kWordLimit ||
      size_of({matrices, schedule.out_planes}) >= kWordLimit) {
    return "2^31 tiles of the output";
  }
  if (size_of({stack_a, layout.rows, layout.k_pitch}) >= kMapLimit ||
      size_of({stack_b, layout.columns, layout.k_pitch}) >= kMapLimit ||
      size_of({layout.rows, layout.out_pitch, 4}) >= kMapLimit) {
    return "2^40 bytes of a plane";
  }
  if (!layout.pieces.empty() &&
      (schedule.steps.size() > static_cast<std::size_t>(kMaxInlineSteps) || schedule.least_splits > 1)) {
    return "256 steps of a piece of K";
  }
  return nullptr;
}

// Pieces of K have schedules of their own, which travel in the kernel's parameters: no plan of more products has any.
bool may_cut_k(const Plan& plan) { return !plan.has_moduli() || plan.products() <= kMaxInlineSteps; }

// The lines of a part where `extent` lines are cut into `count` equal parts or fewer.
std::int32_t part_of(std::int32_t extent, std::int64_t count) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(extent, round_up(ceil_div(extent, count), kLongSide)));
}

// The fastest of `best` and the blocks of the output that stay at or below `cap` bytes, with the turns and pieces of K of
// `whole`. For each number of parts of the rows a bisection tries parts of the columns, up to the largest that fit. None where
// none fit.
void find_fastest_blocks(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu, const Cut& whole, std::int64_t cap,
                         const ForcedChoice& forced, std::optional<CudaLayout>& best) {
  const auto attempt = [&](const Cut& cut) {
    CudaLayout layout = layout_for(plan, product, gpu, cut, forced);
    if (layout.bytes > cap || find_limit(plan, product, layout) != nullptr) return false;
    layout.microseconds = microseconds_of(plan, product, layout, gpu);
    if (!best || layout.microseconds < best->microseconds) best = std::move(layout);
    return true;
  };
  Cut cut = whole;
  for (int of_rows = 1; of_rows <= kMostParts; ++of_rows) {
    cut.rows = part_of(whole.rows, of_rows);
    for (int least = 1, most = kMostParts; least <= most;) {  // fewer parts of the columns take more bytes
      const int of_columns = (least + most) / 2;
      cut.columns = part_of(whole.columns, of_columns);
      const bool fits = attempt(cut);
      if (fits) most = of_columns - 1;
      if (!fits) least = of_columns + 1;
    }
    if (cut.rows <= kLongSide) break;
  }
}

// Entries of the smallest piece of K.
int block_of_k(const CudaPlan& plan, const Cut& cut) {
  return may_cut_k(plan.plan) ? plan.plan.width() * block_entries(plan.schedule.element) : cut.inners;
}

bool has_long_k(const CudaPlan& plan, const Cut& cut) {
  return cut.inners > plan.plan.width() * kLongPiece && cut.inners > block_of_k(plan, cut);
}

// The next smaller cut; false where there is none.
bool shorten(const CudaPlan& plan, const CudaProduct& product, Cut& cut) {
  const int block = block_of_k(plan, cut);
  const auto halve = [](std::int32_t& extent, std::int64_t multiple) {
    extent = static_cast<std::int32_t>(round_up(ceil_div(extent, 2), multiple));
  };
  std::int32_t& longer = cut.columns >= cut.rows ? cut.columns : cut.rows;
  if (can_shorten(product, cut.turns)) {
    cut.turns = shortened(product, cut.turns);
  } else if (has_long_k(plan, cut)) {
    halve(cut.inners, block);
  } else if (longer > kLongSide) {
    halve(longer, kLongSide);
  } else if (cut.inners > block) {
    halve(cut.inners, block);
  } else if (longer > kShortSide) {
    halve(longer, kShortSide);
  } else {
    return false;
  }
  return true;
}

// INT8 products are stored to where they belong, by pieces of 16 bytes.
void check_alignment(const CudaPlan& plan, const CudaProduct& product, const Turns& turns) {
  if (!plan.integer || turns.count == 1) return;
  for (const StackAxis& axis : product.axes) {
    if (axis.c_stride % 16 != 0) {
      throw std::invalid_argument("c: matrices of an INT8 product in turns must be aligned to 16 bytes");
    }
  }
}

}  // namespace

std::int64_t plane_pitch(Element element, std::int64_t inners) {
  const std::int64_t bytes = row_bytes(element, inners);
  return round_up(bytes, bytes >= 128 ? 128 : 16);
}

std::optional<CudaLayout> make_layout_without_planes(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu,
                                                     std::int64_t cap, const ForcedChoice& forced, WithoutPlanes direct,
                                                     const OfWays& factors) {
  const Turns turns = longest_turns(product);
  // make_layout refuses what is too long.
  if (turns.count != 1 || std::max(product.a.outer, product.b.outer) > kLongestExtent) return std::nullopt;
  const Turn turn = turn_at(product, turns, 0);
  const Way way = find_way(plan, product, turn, gpu, direct, factors);
  if (way == Way::stages) return std::nullopt;
  CudaLayout layout = layout_without_planes(plan, turn, turns, forced, way);
  if (layout.bytes > cap) return std::nullopt;
  return layout;
}

CudaLayout make_layout(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu, std::int64_t cap,
                       const ForcedChoice& forced) {
  const std::int32_t rows = product.a.outer, columns = product.b.outer;
  if (std::max(rows, columns) > kLongestExtent) {
    throw std::length_error("rows of a or columns of b: " + std::to_string(std::max(rows, columns)) +
                            " exceeds the largest extent of a product on a GPU, " + std::to_string(kLongestExtent));
  }
  Cut cut{longest_turns(product), rows, columns, product.a.inner};
  std::optional<CudaLayout> fastest;
  for (;;) {
    CudaLayout layout = layout_for(plan, product, gpu, cut, forced);
    const char* limit = find_limit(plan, product, layout);
    const bool can_have_fewer = can_shorten(product, cut.turns);
    const bool fits = limit == nullptr && layout.bytes <= (can_have_fewer ? std::min(cap, kMostTurnBytes) : cap);
    if (fits) {
      layout.microseconds = microseconds_of(plan, product, layout, gpu);
      if (!fastest || layout.microseconds < fastest->microseconds) fastest = std::move(layout);
    } else if (!can_have_fewer && cut.rows == rows && cut.columns == columns) {
      find_fastest_blocks(plan, product, gpu, cut, cap, forced, fastest);
    }
    if (fastest && (fits || forced.splits || !has_long_k(plan, cut))) {
      check_alignment(plan, product, fastest->turns);
      return *std::move(fastest);
    }
    const std::int32_t inners = cut.inners;
    if (!shorten(plan, product, cut)) {
      if (limit != nullptr) throw std::length_error(std::string("a product on a GPU: this one exceeds ") + limit);
      throw WorkspaceError(cap, layout.bytes);
    }
    if (cut.inners != inners) cut.pieces = pieces_of(plan, product.a.inner, cut.inners);
  }
}

}  // namespace ozfp4::cuda
