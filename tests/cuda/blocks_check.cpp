// How products are cut (cuda/layout/blocks.hpp). The workspace stays at or below the cap, every part of it lies inside, and
// turns, blocks and pieces make the whole product exactly once. Their launches are in the range of the multiply kernels.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arith/multiples.hpp"
#include "check.hpp"
#include "cuda/layout/blocks.hpp"
#include "cuda/multiply/units.hpp"
#include "cuda/repair/listed.hpp"
#include "cuda/repair/repair.hpp"
#include "cuda/standard/standard.hpp"
#include "plan/workspace_error.hpp"

// The planner's questions to the stages, which need nvcc: any answer must do. Scratch need not shrink with the problem.
namespace ozfp4::cuda {
TileChoice choose_tile(const GemmShape& shape, Kernel, Element element, const Gpu&, const ForcedChoice& forced) {
  TileChoice choice;
  const std::int64_t blocks = ceil_div(shape.k, block_entries(element));
  choice.splits = forced.splits.value_or(static_cast<int>(std::min<std::int64_t>({shape.max_splits, blocks, 7})));
  return choice;
}

std::int64_t scale_scratch_bytes(const DeviceOperand& a, const DeviceOperand& b) {
  std::int64_t bytes = 256;
  for (const DeviceOperand* operand : {&a, &b}) {
    const std::int64_t lines = operand->stack.count() * operand->outer;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(operand->data) % 16 == 0;
    if (lines % 2 == 1) bytes += lines * (is_aligned ? 4 : 12);
  }
  return bytes;
}

std::int64_t scale_scratch_bytes(const DeviceOperand& one) { return scale_scratch_bytes(one, one) + 256; }

bool can_scale_and_encode(const EncodePlan&, const DeviceOperand& a, const DeviceOperand&, bool) { return a.inner <= 8192; }
bool can_scale_and_encode(const EncodePlan&, const DeviceOperand& one, bool) { return one.inner <= 8192; }
}  // namespace ozfp4::cuda

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

constexpr std::uintptr_t kBase = std::uintptr_t(1) << 60;  // of addresses that are not read
constexpr std::int64_t kUnlimited = std::int64_t(1) << 62;

// Products of INT8 too, by six and by nine products.
const std::vector<PlanWay> kWays = [] {
  std::vector<PlanWay> ways(std::begin(kPlanWays), std::end(kPlanWays));
  for (const char* products : {"6", "9"}) ways.push_back({Scheme::integer, Alphabet::fp4, products, Element::s8});
  return ways;
}();

Plan plan_of(const PlanWay& way, int bits, std::int64_t k) {
  if (way.scheme == Scheme::integer) {
    Plan plan = make_int8_matmul_plan(way.family[0] - '0');
    if (k > plan.k_max) throw std::length_error("too long");
    return plan;
  }
  return make_plan({way.scheme, way.alphabet, way.family, bits, k});
}

CudaPlan cuda_plan_of(const PlanWay& way, int bits, int k) {
  CudaPlan plan;
  plan.plan = plan_of(way, bits, k);
  plan.bits = bits;
  plan.k = k;
  plan.integer = way.scheme == Scheme::integer;
  plan.schedule = make_schedule(plan.plan, way.element, k);
  return plan;
}

std::int64_t random_size(int most_bits) { return random_int(std::int64_t(1), std::int64_t(1) << random_int(0, most_bits)); }

// A product of contiguous matrices of float64 (int8); operands may be broadcast along axes.
CudaProduct random_product(bool integer, int m, int n, int k, const std::vector<std::int64_t>& extents) {
  CudaProduct product;
  const std::int64_t entry = integer ? 1 : 8, out = integer ? 4 : 8, columns = integer ? round_up(n, 4) : n;
  product.a = {reinterpret_cast<const char*>(kBase), ElementType::float64, m, k, k * entry, entry, {}};
  product.b = {reinterpret_cast<const char*>(kBase), ElementType::float64, n, k, entry, n * entry, {}};
  product.result.data = reinterpret_cast<char*>(kBase);
  product.result.rows = m, product.result.columns = n;
  product.result.row_stride = columns * out, product.result.column_stride = out;
  std::int64_t a = std::int64_t(m) * k * entry, b = std::int64_t(n) * k * entry, c = m * columns * out;
  for (std::size_t i = extents.size(); i-- > 0;) {
    const int kind = random_int(0, 5);
    product.axes.insert(product.axes.begin(), {extents[i], kind == 0 ? 0 : a, kind == 1 ? 0 : b, c});
    if (kind != 0) a *= extents[i];
    if (kind != 1) b *= extents[i];
    c *= extents[i];
  }
  return product;
}

std::int64_t distinct(const CudaProduct& product, std::int64_t StackAxis::* stride) {
  std::int64_t count = 1;
  for (const StackAxis& axis : product.axes) count *= axis.*stride == 0 ? 1 : axis.extent;
  return count;
}

std::int64_t offset_of(const Stack& stack, std::int64_t index) {
  std::int64_t offset = 0;
  for (int i = stack.rank - 1; i >= 0; --i) {
    offset += index % stack.extent[i] * stack.stride[i];
    index /= stack.extent[i];
  }
  return offset;
}

// Every matrix of the result once, with its operands; every matrix of an operand new once.
void check_turns(const CudaProduct& product, const Turns& turns, const std::string& name) {
  std::map<std::uintptr_t, std::pair<std::uintptr_t, std::uintptr_t>> expected, found;
  std::int64_t matrices = 1;
  for (const StackAxis& axis : product.axes) matrices *= axis.extent;
  for (std::int64_t index = 0; index < matrices; ++index) {
    std::uintptr_t a = kBase, b = kBase, c = kBase;
    std::int64_t rest = index;
    for (std::size_t i = product.axes.size(); i-- > 0; rest /= product.axes[i].extent) {
      const std::int64_t coordinate = rest % product.axes[i].extent;
      a += static_cast<std::uintptr_t>(coordinate * product.axes[i].a_stride);
      b += static_cast<std::uintptr_t>(coordinate * product.axes[i].b_stride);
      c += static_cast<std::uintptr_t>(coordinate * product.axes[i].c_stride);
    }
    expected[c] = {a, b};
  }
  std::int64_t visits = 0, new_a = 0, new_b = 0;
  const auto is_in_place = [](const DeviceOperand& operand, const StoredOperand& stored) {
    const std::int64_t at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(operand.data) - kBase);
    return !stored.exists() || at == stored.first_matrix * operand.outer * operand.inner * 8;
  };
  bool is_kept = true;
  for (std::int64_t index = 0; index < turns.count; ++index) {
    const Turn turn = turn_at(product, turns, index);
    is_kept = is_kept && is_in_place(turn.a, turn.stored_a) && is_in_place(turn.b, turn.stored_b);
    if (turn.is_new_a) new_a += turn.a.stack.count();
    if (turn.is_new_b) new_b += turn.b.stack.count();
    for (std::int64_t matrix = 0; matrix < turn.result.stack.count(); ++matrix, ++visits) {
      std::int64_t a = 0, b = 0, rest = matrix;
      for (int i = turn.result.stack.rank - 1; i >= 0; --i) {
        const std::int64_t coordinate = rest % turn.result.stack.extent[i];
        rest /= turn.result.stack.extent[i];
        a += coordinate * turn.result.a_step[i];
        b += coordinate * turn.result.b_step[i];
      }
      if (a >= turn.a.stack.count() || b >= turn.b.stack.count()) continue;
      found[reinterpret_cast<std::uintptr_t>(turn.result.data + offset_of(turn.result.stack, matrix))] = {
          reinterpret_cast<std::uintptr_t>(turn.a.data + offset_of(turn.a.stack, a)),
          reinterpret_cast<std::uintptr_t>(turn.b.data + offset_of(turn.b.stack, b))};
    }
  }
  report(name + ": every matrix once", visits == matrices && found == expected);
  report(name + ": what is kept begins with the turn's matrices", is_kept);
  report(name + ": every operand's matrix new once",
         new_a == distinct(product, &StackAxis::a_stride) && new_b == distinct(product, &StackAxis::b_stride));
}

const char* problem_error(const CudaLayout& layout, const Turn& turn, const Schedule& schedule, int m, int n, int k) {
  alignas(128) static char place[128];
  const auto array = [&](std::int64_t lines, const Stack& stack) {
    PlaneArray planes;
    planes.data = place;
    planes.planes = schedule.planes;
    planes.batches = static_cast<int>(stack.count());
    planes.pitch = layout.k_pitch;
    planes.batch_stride = lines * layout.k_pitch;
    planes.plane_stride = stack.count() * planes.batch_stride;
    return planes;
  };
  GemmProblem problem;
  problem.m = m, problem.n = n, problem.k = k;
  problem.attach(schedule);
  problem.a = array(layout.rows, turn.a.stack);
  problem.b = array(layout.columns, turn.b.stack);
  problem.batch.rank = turn.result.stack.rank;
  for (int i = 0; i < turn.result.stack.rank; ++i) {
    problem.batch.extent[i] = turn.result.stack.extent[i];
    problem.batch.a_stride[i] = turn.result.a_step[i];
    problem.batch.b_stride[i] = turn.result.b_step[i];
  }
  problem.out = place;
  problem.out_pitch = layout.out_pitch;
  problem.out_matrix_stride = layout.rows * layout.out_pitch;
  problem.device_steps = layout.pieces.empty() ? schedule.steps.data() : nullptr;
  return find_problem_error(problem, layout.tile);
}

void check_layout(const CudaPlan& plan, const CudaProduct& product, const CudaLayout& layout, std::int64_t cap,
                  const std::string& name) {
  report(name + ": within the cap", layout.bytes <= cap, std::to_string(layout.bytes));
  const std::int32_t m = product.a.outer, n = product.b.outer, k = product.a.inner;
  const int block = block_entries(plan.schedule.element);
  report(name + ": blocks of the product",
         layout.rows >= 1 && layout.rows <= round_up(m, 64) && layout.columns >= 1 && layout.columns <= round_up(n, 64) &&
             layout.inners >= 1 && layout.inners <= k && (layout.rows >= m || layout.rows % 64 == 0) &&
             (layout.columns >= n || layout.columns % 64 == 0) && (layout.inners == k || layout.inners % block == 0));

  report(name + ": pieces in one split", layout.pieces.empty() || layout.tile.splits == 1);

  const std::int64_t last = layout.turns.count - 1;
  std::set<std::int64_t> turns = {0, last, random_int(std::int64_t(0), last)};
  if (layout.turns.axis < static_cast<int>(product.axes.size())) {  // the end of the axis that is cut
    turns.insert(std::min(last, ceil_div(product.axes[layout.turns.axis].extent, layout.turns.chunk) - 1));
  }
  for (const std::int64_t index : turns) {
    Turn turn = turn_at(product, layout.turns, index);
    const std::int64_t stack = turn.result.stack.count();
    const std::int64_t lines_a = turn.a.stack.count() * m, lines_b = turn.b.stack.count() * n;
    const Schedule& schedule = layout.pieces.empty() ? plan.schedule : layout.pieces[0];
    const std::int64_t out =
        (plan.integer ? 4 : schedule.out_planes) * layout.tile.splits * stack * layout.rows * layout.out_pitch;
    std::vector<std::pair<std::int64_t, std::int64_t>> parts = {{layout.decision, 24}};  // and the norms
    if (!plan.integer) {
      parts.push_back({layout.a.shift, 4 * lines_a});
      parts.push_back({layout.b.shift, 4 * lines_b});
      parts.push_back({layout.a.special, lines_a});
      parts.push_back({layout.b.special, lines_b});
      if (plan.promise.has_records()) {
        constexpr std::int64_t bytes = sizeof(LineRecord);
        parts.push_back({layout.a.record, bytes * lines_a});
        parts.push_back({layout.b.record, bytes * lines_b});
      }
      std::int64_t scratch = scale_scratch_bytes(turn.a, turn.b);
      if (turn.stored_a.exists()) scratch = std::max(scratch, scale_scratch_bytes(turn.b));
      if (turn.stored_b.exists()) scratch = std::max(scratch, scale_scratch_bytes(turn.a));
      parts.push_back({layout.scratch, scratch});
    }
    // Planes of an operand that is kept are elsewhere.
    const bool has_a = !turn.stored_a.exists(), has_b = !turn.stored_b.exists();
    parts.push_back({layout.a.planes, has_a ? schedule.planes * turn.a.stack.count() * layout.rows * layout.k_pitch : 0});
    parts.push_back({layout.b.planes, has_b ? schedule.planes * turn.b.stack.count() * layout.columns * layout.k_pitch : 0});
    if (!plan.integer) parts.push_back({layout.outputs, out});
    if (!layout.pieces.empty()) parts.push_back({layout.partial, out});
    if (plan.promise.certifies()) {
      const std::int64_t mask = mask_units(k) * kMaskUnitBytes;
      if (layout.a_masks != 0) {
        parts.push_back({layout.a_masks, mask * turn.a.stack.count() * layout.rows});
        parts.push_back({layout.b_masks, mask * turn.b.stack.count() * layout.columns});
      }
      report(name + ": masks where K is whole", layout.a_masks != 0 || !layout.pieces.empty() || !plan.promise.counts_rounded());
      if (layout.has_magnitudes && index == 0) {  // the largest turn, with outputs that have room for the others
        const std::int64_t room =
            magnitude_room(turn.a.stack.count(), layout.rows, k) + magnitude_room(turn.b.stack.count(), layout.columns, k);
        report(name + ": magnitudes where the outputs were", room <= out);
      }
      if (layout.kept != 0)
        parts.push_back({layout.kept, (plan.promise.precision == 53 ? 8 : 4) * stack * layout.rows * layout.out_pitch});
      parts.push_back({layout.listed, 4 * stack * layout.rows * listed_pitch(layout.columns)});
      parts.push_back({layout.counts, kRepairReportBytes + kRepairCounterBytes});
    }
    std::int64_t end = 0;
    bool is_inside = true;
    for (const auto& [begin, size] : parts) {
      is_inside = is_inside && begin % 256 == 0 && begin >= end && size >= 0 && begin + size <= layout.bytes;
      end = begin + size;
    }
    is_inside = is_inside && layout.a.norm == layout.decision + 8 && layout.b.norm == layout.decision + 16;
    report(name + ": parts of the workspace", is_inside, "turn " + std::to_string(index));
    report(name + ": lines of a turn", std::max(lines_a, lines_b) < std::int64_t(1) << 31);

    const std::int32_t rest = (k - 1) % layout.inners + 1;
    for (const int inners : {layout.inners, rest}) {
      const Schedule& own = layout.pieces.empty() ? plan.schedule : layout.pieces[inners == layout.inners ? 0 : 1];
      report(name + ": outputs of a piece", own.out_planes == plan.schedule.out_planes);
      for (const int rows : {std::min(m, layout.rows), (m - 1) % layout.rows + 1}) {
        for (const int columns : {std::min(n, layout.columns), (n - 1) % layout.columns + 1}) {
          const char* error = problem_error(layout, turn, own, rows, columns, inners);
          report(name + ": what multiply is given", error == nullptr, error == nullptr ? "" : error);
        }
      }
    }
  }
}

void check_product(const CudaPlan& plan, const CudaProduct& product, std::int64_t cap, const std::string& name) {
  CudaLayout layout;
  try {
    layout = make_layout(plan, product, Gpu(), cap);
  } catch (const WorkspaceError& error) {
    const std::string text = error.what();
    if (!report(name + ": what is too small", error.limit() == cap, text)) return;
    const std::int64_t least = error.least();
    report(name + ": the least is above the cap", least > cap);
    // A small multiple of one tile, compared with the output of scale for every line.
    const std::int64_t lines = 2 * (std::int64_t(product.a.outer) + product.b.outer);
    report(name + ": the least is small", least < 12'000'000 + 20 * lines, text);
    check_layout(plan, product, make_layout(plan, product, Gpu(), least), least, name + " least");
    return;
  }
  check_layout(plan, product, layout, cap, name);
  std::int64_t matrices = 1;
  for (const StackAxis& axis : product.axes) matrices = std::min(matrices * axis.extent, std::int64_t(1) << 40);
  if (matrices <= 3000) check_turns(product, layout.turns, name);
}

void check_random_products() {
  for (int i = 0; i < 6000; ++i) {
    const PlanWay& way = kWays[random_int(std::size_t(0), kWays.size() - 1)];
    const int bits = random_int(0, 1) == 0 ? 53 : 24;
    const auto m = static_cast<int>(random_size(14)), n = static_cast<int>(random_size(14)),
               k = static_cast<int>(random_size(20));
    std::vector<std::int64_t> extents(random_int(0, 6));
    for (auto& extent : extents) extent = random_size(random_int(0, 9) == 0 ? 20 : 3);
    CudaPlan plan;
    try {
      plan = cuda_plan_of(way, bits, k);
    } catch (const std::exception&) {
      continue;  // too few bits, or too long
    }
    if (!plan.integer) plan.promise.accuracy = i % 2 == 0 ? Accuracy::scaled : Accuracy::standard;
    CudaProduct product = random_product(plan.integer, m, n, k, extents);
    if (!plan.integer && random_int(0, 2) == 0) product.stored_a.lines = m;
    if (!plan.integer && random_int(0, 2) == 0) product.stored_b.lines = n;
    const std::int64_t cap = random_int(0, 4) == 0 ? kUnlimited : random_size(34);
    check_product(plan, product, cap,
                  std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n) + " way " +
                      std::to_string(&way - kWays.data()) + " cap " + std::to_string(cap));
  }
}

// Extents beyond what 32 bits count.
void check_huge_stacks() {
  for (const std::int64_t count :
       {(std::int64_t(1) << 31) - 1, std::int64_t(1) << 31, (std::int64_t(1) << 32) + 5, (std::int64_t(1) << 40) + 3}) {
    for (const PlanWay& way : kWays) {
      const CudaPlan plan = cuda_plan_of(way, way.scheme == Scheme::one ? 53 : 24, 1);
      for (const std::int64_t cap : {kUnlimited, std::int64_t(1) << 22}) {
        const CudaProduct product = random_product(plan.integer, 1, 1, 1, {count});
        const CudaLayout layout = make_layout(plan, product, Gpu(), cap);
        const std::string name = "stack of " + std::to_string(count);
        check_layout(plan, product, layout, cap, name);
        report(name + ": all matrices", layout.turns.count == ceil_div(count, layout.turns.chunk));
        report(name + ": long turns", layout.bytes > std::min(cap, kMostTurnBytes) / 3);
      }
    }
  }
}

// Pieces of K have schedules that travel with the launch, and sums that fit one split.
void check_long_k() {
  for (const PlanWay& way : kWays) {
    for (const int k : {20'699, 120'000, 131'071, 300'000, 1 << 20, 5'000'000}) {
      CudaPlan plan;
      try {
        plan = cuda_plan_of(way, 53, k);
      } catch (const std::length_error&) {
        continue;
      }
      for (const std::vector<std::int64_t>& extents : {std::vector<std::int64_t>{}, {24}}) {
        const CudaProduct product = random_product(plan.integer, 4, 10, k, extents);
        for (int log = 18; log <= 32; ++log) {
          check_product(plan, product, std::int64_t(1) << log,
                        "4 x " + std::to_string(k) + " x 10, cap 2^" + std::to_string(log));
        }
        report("4 MiB are enough", make_layout(plan, product, Gpu(), 4 << 20).bytes <= 4 << 20);
      }
    }
  }
}

// Plans of more products than travel in the kernel's parameters: their K is whole, however small the blocks of the output.
void check_many_products() {
  const PlanWay way = {Scheme::two, Alphabet::fp4, "least", Element::e2m1};
  for (const int k : {700, 100'000}) {
    CudaPlan plan = cuda_plan_of(way, 100, k);
    while (plan.plan.products() <= kMaxInlineSteps) {  // as plans of complex products and long K have
      plan.plan.terms.push_back(plan.plan.terms.back());
      plan.schedule.steps.push_back(plan.schedule.steps.back());
    }
    const CudaProduct product = random_product(false, 3000, 5000, k, {});
    const std::int64_t least = make_layout(plan, random_product(false, 64, 64, k, {}), Gpu(), kUnlimited).bytes;
    for (const std::int64_t cap : {2 * least, 5 * least, 40 * least}) {
      const CudaLayout layout = make_layout(plan, product, Gpu(), cap);
      check_product(plan, product, cap, "3000 x " + std::to_string(k) + " x 5000, many products");
      report("blocks of the output", layout.rows < 3000 || layout.columns < 5000);
      report("K is whole", layout.inners == k && layout.pieces.empty() && layout.bytes <= cap);
    }
    std::int64_t refused = 0;
    try {
      make_layout(plan, product, Gpu(), least / 2);
    } catch (const WorkspaceError& error) {
      refused = error.limit();
    }
    report("too small a workspace is named", refused == least / 2);
  }
}

// Where nothing is in the way, nothing is cut.
void check_whole_products() {
  for (const PlanWay& way : kWays) {
    for (const int extent : {1, 100, 5000}) {
      for (const std::vector<std::int64_t>& extents : {std::vector<std::int64_t>{}, {7}, {2, 3, 4, 5}}) {
        const CudaPlan plan = cuda_plan_of(way, 53, extent);
        const CudaLayout layout =
            make_layout(plan, random_product(plan.integer, extent, extent, extent, extents), Gpu(), kUnlimited);
        const bool is_whole =
            layout.rows == extent && layout.columns == extent && layout.inners == extent && layout.pieces.empty();
        report("whole product", is_whole && (layout.turns.count == 1 || layout.bytes > kMostTurnBytes / 3));
      }
    }
  }
}

// The ratios of a device to the models decide among the ways; a forced way is used whatever they are.
void check_factors_of_ways() {
  const PlanWay& int8 = kWays[0];
  Gpu gpu;
  gpu.multiprocessors = 132;
  for (const bool is_short : {false, true}) {  // of K: for cuda/tiles
    const int k = is_short ? 100 : 400, side = 200;
    CudaPlan plan = cuda_plan_of(int8, 53, k);
    if (is_short) plan.tile_limbs = 7;
    const CudaProduct product = random_product(false, side, side, k, {});
    const OfWays times = model_times(plan, product, gpu);
    report("ways without a kernel take for ever", std::isinf(times.thin) && std::isinf(times.tiles) == !is_short);
    const auto made_of = [&](WithoutPlanes direct, const OfWays& factors) {
      return make_layout_without_planes(plan, product, gpu, kUnlimited, {}, direct, factors);
    };
    const auto is_chosen = [&](const std::optional<CudaLayout>& made, bool tiled) {
      return made && (made->way == Way::tiles) == tiled;
    };
    // Just under and just over the other ways' times.
    const double others = is_short ? std::min(times.tiles, times.stages) : times.stages;
    report("direct", is_chosen(made_of(WithoutPlanes::where_it_pays, {0.99 * others / times.direct, 1, 1, 1}), false));
    const auto slow = made_of(WithoutPlanes::where_it_pays, {1.01 * others / times.direct, 1, 1, 1});
    report("direct no more", !slow || slow->way == Way::tiles);
    report("forced", is_chosen(made_of(WithoutPlanes::direct, {1e6, 1, 1, 1}), false));
    report("stages", !made_of(WithoutPlanes::where_it_pays, {1, 1, 1, 1e-6}));
    if (is_short) {
      report("tiles", is_chosen(made_of(WithoutPlanes::where_it_pays, {1, 1, 1e-6, 1}), true));
      report("tiles no more", !made_of(WithoutPlanes::where_it_pays, {1e6, 1, 1.01 * times.stages / times.tiles, 1}));
    }
  }
}

// The largest tiles of K up to 128 need more shared memory than a block has on some devices: others are used there.
void check_room_for_tiles() {
  Gpu gpu;
  CudaPlan plan = cuda_plan_of(kWays[0], 53, 128);
  plan.tile_limbs = 7;
  const CudaProduct product = random_product(false, 4000, 4000, 128, {});
  const double roomy = model_times(plan, product, gpu).tiles;
  gpu.shared_bytes = 99 * 1024;
  const double narrow = model_times(plan, product, gpu).tiles;
  report("room for tiles", roomy < narrow && std::isfinite(narrow));
}

}  // namespace

int main() {
  check_random_products();
  check_huge_stacks();
  check_long_k();
  check_whole_products();
  check_many_products();
  check_factors_of_ways();
  check_room_for_tiles();
  return finish();
}
