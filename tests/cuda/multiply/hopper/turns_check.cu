// A tile order names every tile once. The two warpgroups of hopper/turns.cuh that take tiles alternately are played through with
// barriers as the hardware has them, in random interleavings.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "cuda/multiply/hopper/tiles.hpp"
#include "cuda/multiply/hopper/turns.cuh"
#include "cuda/multiply/walk/steps.cuh"
#include "cuda/multiply/walk/tile_order.cuh"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

// ---- The order of tiles ------------------------------------------------------------------------------------------------

void check_orders() {
  for (int i = 0; i < 2000; ++i) {
    const std::uint32_t m = random_int(1, 12), n = random_int(1, 12), matrices = random_int(1, 6), units = random_int(1, 4);
    const TileOrder order = make_tile_order(m, n, matrices, random_int(1, 14));
    std::vector<int> seen(m * n * matrices * units);
    bool is_inside = true;
    for (std::uint32_t index = 0; index < seen.size(); ++index) {
      const Tile tile = tile_at(order, index);
      is_inside = is_inside && tile.unit < units && tile.matrix < matrices && tile.m < m && tile.n < n;
      if (is_inside) ++seen[((tile.unit * matrices + tile.matrix) * m + tile.m) * n + tile.n];
    }
    report("tile order", is_inside && std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  }
  // The last tiles of the most there can be.
  const TileOrder long_order = make_tile_order(1 << 24, 127, 1, 8);
  const Tile last = tile_at(long_order, (127u << 24) - 1);
  report("last of many tiles", last.unit == 0 && last.matrix == 0 && last.m == (1 << 24) - 1 && last.n == 126);
  const TileOrder flat = make_tile_order(1, 1, 1, 8);
  const Tile unit = tile_at(flat, INT32_MAX);
  report("many units of one tile", unit.unit == INT32_MAX && unit.matrix == 0 && unit.m == 0 && unit.n == 0);
}

// ---- Alternating tiles -------------------------------------------------------------------------------------------------

// The parameters that walk/steps.cuh expects of a kernel.
struct Params {
  TileOrder order;
  Divisor batches;
  std::int32_t blocks_per_split;
  const GemmStep* device_steps = nullptr;
  std::int32_t unit_begin[5] = {};
  GemmStep steps[4 * 7];
};

// A step of the ring's order: its warpgroup, and its stages.
struct Turn {
  std::uint32_t tile;
  int step, group;
  std::uint32_t stages;
};

struct Block {
  Params p;
  TileLoop tiles;
};

Block random_block() {
  Block block;
  Params& p = block.p;
  const int units = random_int(1, 4), blocks = random_int(1, 6), batches = random_int(1, 2), splits = random_int(1, 3);
  for (int u = 0, count = 0; u < units; ++u) {
    for (int s = random_int(1, random_int(0, 3) == 0 ? 7 : 2); s > 0; --s) {
      const int begin = random_int(0, blocks), end = random_int(0, 3) == 0 ? begin : random_int(begin, blocks);
      p.steps[count++] = make_step(0, 0, 128 * begin, 128 * end, s == 1 ? Action::store_residue : Action::fold, 13);
    }
    p.unit_begin[u + 1] = count;
  }
  const std::uint32_t matrices = batches * splits;
  p.order = make_tile_order(random_int(1, 3), random_int(1, 3), matrices, random_int(1, 4));
  p.batches = make_divisor(batches);
  p.blocks_per_split = (blocks + splits - 1) / splits;
  const std::uint32_t stride = random_int(1, 9);
  block.tiles = {static_cast<std::uint32_t>(random_int(0, static_cast<int>(stride) - 1)), stride,
                 random_int(0, units) * p.order.per_unit.constants.modulus};
  return block;
}

std::uint32_t stages_of(const Params& p, std::uint32_t index, int step) {
  const int split = divide(tile_at(p.order, index).matrix, p.batches);
  return block_range(p.steps[step].k_begin, p.steps[step].k_end, split, p.blocks_per_split).count;
}

// The order that hopper/turns.cuh states, in which the producer loads.
std::vector<Turn> order_of(const Block& block) {
  const auto& [p, tiles] = block;
  std::vector<Turn> turns;
  for (std::uint32_t index = tiles.first; index < tiles.count; index += 2 * tiles.stride) {
    int step[2] = {0, 0}, last[2] = {0, 0};
    for (int t = 0; t < 2; ++t) {
      if (index + t * tiles.stride >= tiles.count) continue;
      const std::uint32_t unit = tile_at(p.order, index + t * tiles.stride).unit;
      step[t] = p.unit_begin[unit], last[t] = p.unit_begin[unit + 1];
    }
    while (step[0] < last[0] || step[1] < last[1]) {
      for (int t = 0; t < 2; ++t) {
        const std::uint32_t tile = index + t * tiles.stride;
        if (step[t] < last[t]) turns.push_back({tile, step[t], t, stages_of(p, tile, step[t])}), ++step[t];
      }
    }
  }
  return turns;
}

bool is_same(const Tile& x, const Tile& y) { return x.unit == y.unit && x.matrix == y.matrix && x.m == y.m && x.n == y.n; }

// The work of one warp, one after the other.
struct Operation {
  enum Kind { sync, arrive, wait_full, release, wait_empty, load } kind;
  std::uint32_t stage = 0, parity = 0;  // sync and arrive: the named barrier
  std::uint64_t position = 0;           // in the ring's order
};
using Program = std::vector<Operation>;

template <int kStages>
Program producer_program(const std::vector<Turn>& turns) {
  Program program;
  RingPosition<kStages> ring;
  std::uint64_t position = 0;
  for (const Turn& turn : turns) {
    for (std::uint32_t i = 0; i < turn.stages; ++i, ++position) {
      program.push_back({Operation::wait_empty, ring.stage, ring.parity ^ 1, position});
      program.push_back({Operation::load, ring.stage, 0, position});
      ring.advance();
    }
  }
  return program;
}

// Waits for each of the next stages, and releases all but the last one.
template <int kStages>
void multiply_stages(Program& program, RingPosition<kStages>& ring, std::uint64_t position, std::uint32_t stages) {
  for (std::uint32_t i = 0; i < stages; ++i) {
    program.push_back({Operation::wait_full, ring.stage, ring.parity, position + i});
    // The stage before is free when its multiplication has ended, that is after the next one has begun.
    if (i > 0) program.push_back({Operation::release, (ring.stage + kStages - 1) % kStages, 0, position + i - 1});
    ring.advance();
  }
}

// The calls of Consumer::run, and whether they are in step with the order.
template <int kStages>
Program consumer_program(const Block& block, const std::vector<Turn>& turns, int group, bool& is_in_step) {
  Program program;
  const auto& [p, tiles] = block;
  if (tiles.first >= tiles.count) return program;
  RingPosition<kStages> ring;
  std::uint64_t position = 0;
  std::size_t at = 0;
  hopper::EverySecondTile next(p, tiles, group);
  while (next.exists()) {
    std::uint32_t between = 0;
    const std::size_t before = at;
    for (; at < turns.size() && turns[at].group != group; ++at) between += turns[at].stages;
    if (at == turns.size()) {
      is_in_step = false;
      return program;
    }
    const Turn& turn = turns[at++];
    const bool is_followed = at < turns.size() && turns[at].group != group;
    is_in_step = is_in_step && is_same(next.tile(), tile_at(p.order, turn.tile)) && next.step() == turn.step &&
                 next.waits() == (before + 1 != at) && next.stages_before() == between && next.hands_over() == is_followed;

    if (next.waits()) {
      program.push_back({Operation::sync, static_cast<std::uint32_t>(group)});
      ring.advance(next.stages_before());
    }
    position += between;
    multiply_stages(program, ring, position, turn.stages);
    if (next.hands_over()) program.push_back({Operation::arrive, static_cast<std::uint32_t>(1 - group)});
    position += turn.stages;
    if (turn.stages > 0) program.push_back({Operation::release, (ring.stage + kStages - 1) % kStages, 0, position - 1});
    next.advance(p, tiles);
  }
  for (; at < turns.size(); ++at) is_in_step = is_in_step && turns[at].group != group;
  return program;
}

// The same of a warpgroup that shares all tiles, in the order of the tiles.
template <int kStages>
Program sharing_program(const Block& block, const std::vector<Turn>& steps, int group) {
  Program program;
  const auto& [p, tiles] = block;
  if (tiles.first >= tiles.count) return program;
  RingPosition<kStages> ring;
  std::uint64_t position = 0;
  std::size_t at = 0;
  hopper::AllSteps<kStages> next(p, tiles, group);
  const auto hand_over = [&] { program.push_back({Operation::arrive, static_cast<std::uint32_t>(1 - group)}); };
  if (next.hands_over_first()) hand_over();
  while (next.exists() && at < steps.size()) {
    if (next.waits()) program.push_back({Operation::sync, static_cast<std::uint32_t>(group)});
    const std::uint32_t stages = steps[at++].stages;
    multiply_stages(program, ring, position, stages);
    next.advance(p, tiles);
    if (next.hands_over()) hand_over();
    position += stages;
    if (stages > 0) program.push_back({Operation::release, (ring.stage + kStages - 1) % kStages, 0, position - 1});
  }
  return program;
}

// An mbarrier: a wait for a parity passes while the phase that is open has the other one.
struct Barrier {
  int arrivals, pending;
  std::uint32_t phase = 0;
  explicit Barrier(int arrivals) : arrivals(arrivals), pending(arrivals) {}
  void arrive() {
    if (--pending == 0) pending = arrivals, ++phase;
  }
  bool passes(std::uint32_t parity) const { return (phase & 1) != parity; }
};

// A named barrier of all eight warps: four arrive, four wait.
struct NamedBarrier {
  int arrived = 0;
  std::uint32_t generation = 0;
  int from[2] = {0, 0};  // warps of each warpgroup
};

constexpr int kWarps = 4;  // of a warpgroup

// Whether all programs end, every multiplication with the stage that it is meant for. `readers`: warpgroups that read a stage.
template <int kStages>
bool plays(const Program& producer, const Program (&consumer)[2], int readers = 1) {
  std::vector<Barrier> full(kStages, Barrier(1)), empty(kStages, Barrier(readers * kWarps));
  std::vector<std::int64_t> content(kStages, -1);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> on_the_way;  // stage, position
  NamedBarrier named[2];
  struct Warp {
    const Program* program;
    int group;
    std::size_t next = 0;
    bool is_counted = false;  // at a named barrier
    std::uint32_t generation = 0;
  };
  std::vector<Warp> warps = {{&producer, -1}};
  for (int i = 0; i < 2 * kWarps; ++i) warps.push_back({&consumer[i / kWarps], i / kWarps});
  bool is_right = true;
  const auto count = [&](NamedBarrier& barrier, int group) {
    is_right = is_right && ++barrier.from[group] <= kWarps;
    if (++barrier.arrived == 2 * kWarps) barrier.arrived = barrier.from[0] = barrier.from[1] = 0, ++barrier.generation;
  };
  const auto try_step = [&](Warp& warp) {
    if (warp.next == warp.program->size()) return false;
    const Operation& operation = (*warp.program)[warp.next];
    switch (operation.kind) {
      case Operation::arrive: count(named[operation.stage], warp.group); break;
      case Operation::sync: {
        NamedBarrier& barrier = named[operation.stage];
        const bool was_counted = warp.is_counted;
        if (!was_counted) {
          warp.is_counted = true;
          warp.generation = barrier.generation;
          count(barrier, warp.group);
        }
        if (barrier.generation == warp.generation) return !was_counted;
        warp.is_counted = false;
        break;
      }
      case Operation::wait_full:
        if (!full[operation.stage].passes(operation.parity)) return false;
        is_right = is_right && content[operation.stage] == static_cast<std::int64_t>(operation.position);
        break;
      case Operation::release:
        is_right = is_right && content[operation.stage] == static_cast<std::int64_t>(operation.position);
        empty[operation.stage].arrive();
        break;
      case Operation::wait_empty:
        if (!empty[operation.stage].passes(operation.parity)) return false;
        break;
      case Operation::load:
        content[operation.stage] = -1;
        on_the_way.push_back({operation.stage, operation.position});
        break;
    }
    ++warp.next;
    return true;
  };
  const auto land = [&] {  // loads arrive in any order
    if (on_the_way.empty()) return false;
    std::swap(on_the_way[random_int(std::size_t(0), on_the_way.size() - 1)], on_the_way.back());
    const auto [stage, position] = on_the_way.back();
    on_the_way.pop_back();
    content[stage] = static_cast<std::int64_t>(position);
    full[stage].arrive();
    return true;
  };
  // Some warps are slow for a whole game.
  std::vector<int> patience(warps.size() + 1);
  for (int& x : patience) x = random_int(0, 2) == 0 ? random_int(1, 30) : 1;
  for (;;) {
    bool moved = false;
    for (int tries = 0; tries < 20; ++tries) {
      const int who = random_int(0, static_cast<int>(warps.size()));
      if (random_int(1, patience[who]) == 1) moved |= who == static_cast<int>(warps.size()) ? land() : try_step(warps[who]);
    }
    if (moved) continue;
    for (Warp& warp : warps) moved |= try_step(warp);
    moved |= land();
    if (!moved) break;
  }
  return is_right && std::all_of(warps.begin(), warps.end(), [](const Warp& w) { return w.next == w.program->size(); });
}

template <int kStages>
void check_turns(int games) {
  for (int i = 0; i < games; ++i) {
    const Block block = random_block();
    const std::vector<Turn> turns = order_of(block);
    bool is_in_step = true;
    const Program consumer[2] = {consumer_program<kStages>(block, turns, 0, is_in_step),
                                 consumer_program<kStages>(block, turns, 1, is_in_step)};
    report("turns in step with the ring", is_in_step, std::to_string(i));
    report("turns played through", plays<kStages>(producer_program<kStages>(turns), consumer), std::to_string(i));
  }
}

// Warpgroups that share all tiles, and multiply one after the other where the ring holds a K loop.
template <int kStages>
void check_sharing(int games) {
  for (int i = 0; i < games; ++i) {
    const Block block = random_block();
    const auto& [p, tiles] = block;
    std::vector<Turn> steps;
    for (std::uint32_t index = tiles.first; index < tiles.count; index += tiles.stride) {
      const std::uint32_t unit = tile_at(p.order, index).unit;
      for (int s = p.unit_begin[unit]; s < p.unit_begin[unit + 1]; ++s) steps.push_back({index, s, 0, stages_of(p, index, s)});
    }
    const Program consumer[2] = {sharing_program<kStages>(block, steps, 0), sharing_program<kStages>(block, steps, 1)};
    report("shared tiles played through", plays<kStages>(producer_program<kStages>(steps), consumer, 2), std::to_string(i));
  }
}

// Warpgroups that share all tiles walk every step of every tile.
void check_all_steps(int cases) {
  for (int i = 0; i < cases; ++i) {
    const Block block = random_block();
    const auto& [p, tiles] = block;
    bool is_right = true;
    std::uint32_t index = tiles.first;
    if (tiles.first < tiles.count) {
      hopper::AllSteps<0> next(p, tiles, 0);
      for (; index < tiles.count; index += tiles.stride) {
        const Tile tile = tile_at(p.order, index);
        for (int step = p.unit_begin[tile.unit]; step < p.unit_begin[tile.unit + 1]; ++step) {
          is_right = is_right && next.exists() && is_same(next.tile(), tile) && next.step() == step;
          next.advance(p, tiles);
        }
      }
      is_right = is_right && !next.exists();
    }
    report("all steps", is_right, std::to_string(i));
  }
}

// A game in which a warpgroup does not wait for its turn must fail: else the check sees nothing.
void check_the_check() {
  bool fails = false;
  for (int i = 0; i < 300 && !fails; ++i) {
    const Block block = random_block();
    const std::vector<Turn> turns = order_of(block);
    bool is_in_step = true;
    Program consumer[2] = {consumer_program<3>(block, turns, 0, is_in_step), consumer_program<3>(block, turns, 1, is_in_step)};
    for (Program& program : consumer) {
      program.erase(std::remove_if(program.begin(), program.end(),
                                   [](const Operation& o) { return o.kind == Operation::sync || o.kind == Operation::arrive; }),
                    program.end());
    }
    fails = !plays<3>(producer_program<3>(turns), consumer);
  }
  report("warpgroups without turns go wrong", fails);
}

}  // namespace

int main() {
  check_orders();
  check_all_steps(5000);
  check_the_check();
  check_turns<3>(4000);
  check_turns<hopper::Config<128, 128, true>::kStages>(4000);
  check_sharing<3>(4000);
  check_sharing<hopper::Config<128, 256, true>::kStages>(4000);
  return finish();
}
