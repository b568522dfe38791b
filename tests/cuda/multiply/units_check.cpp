// Schedules of several units a modulus, walked as a block walks them.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/launch.hpp"
#include "cuda/multiply/schedule.hpp"
#include "cuda/multiply/units.hpp"
#include "cuda/multiply/walk/steps.cuh"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

// Products of complex numbers: every modulus has a unit for the real part and one for the imaginary part, each of which stores
// to a plane anywhere. Walked as a block walks it, with a count of moduli from the device.
void check_units(int cases) {
  for (int i = 0; i < cases; ++i) {
    const int moduli = random_int(1, 5), k = random_int(1, 600), splits = random_int(1, 3), used = random_int(-1, moduli + 1);
    std::vector<std::vector<int>> a(2 * moduli, std::vector<int>(k)), b = a;
    for (auto* operand : {&a, &b}) {
      for (auto& plane : *operand) std::generate(plane.begin(), plane.end(), [] { return random_int(-12, 12); });
    }
    Schedule schedule;
    schedule.element = Element::s8;
    schedule.product_bound = 144;
    schedule.planes = 2 * moduli;
    schedule.out_planes = 2 * moduli + random_int(0, 2);
    schedule.units_per_modulus = 2;
    schedule.unit_begin.push_back(0);
    std::vector<int> modulus, plane;
    for (int p = 0; p < schedule.out_planes; ++p) plane.insert(plane.begin() + random_int(std::size_t(0), plane.size()), p);
    for (int g = 0; g < moduli; ++g) {
      const int re = 2 * g, im = 2 * g + 1, m = random_int(2, 256);
      const std::uint32_t bound = 2 * 144 * 600 + 256;
      modulus.push_back(m);
      schedule.steps.push_back(make_step(re, re, 0, k, Action::fold, m, -1, 0, bound));
      schedule.steps.push_back(make_step(im, im, 0, k, Action::store_residue, m, -1, plane[re], bound));
      schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
      schedule.steps.push_back(make_step(re, im, 0, k, Action::carry_on));
      schedule.steps.push_back(make_step(im, re, 0, k, Action::store_residue, m, 1, plane[im], bound));
      schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
    }
    const char* error = find_schedule_error(schedule.view(), k, splits, schedule.planes, schedule.planes);
    report("two units a modulus", error == nullptr, error == nullptr ? "" : error);

    MultiplyParams p = {};
    p.order = make_tile_order(1, 1, static_cast<std::uint32_t>(splits), 1);
    p.batches = make_divisor(1);
    p.blocks_per_split = ((k + 127) / 128 + splits - 1) / splits;
    p.unit_count = schedule.unit_count();
    p.units_per_modulus = schedule.units_per_modulus;
    p.moduli_used = &used;
    std::copy(schedule.unit_begin.begin(), schedule.unit_begin.end(), p.unit_begin);
    std::copy(schedule.steps.begin(), schedule.steps.end(), p.steps);
    std::vector<std::int64_t> out(static_cast<std::size_t>(schedule.out_planes * splits), -1);
    const TileLoop tiles = {0, 1, count_units(p) * p.order.per_unit.constants.modulus};
    bool exists = tiles.first < tiles.count;
    std::int64_t acc = 0;
    for (Cursor next(p, tiles); exists; exists = next.advance(p, tiles)) {
      const GemmStep step = read_step(p, next.step);
      const int split = divide(next.tile.matrix, p.batches);
      const BlockRange range = block_range(step.k_begin, step.k_end, split, p.blocks_per_split);
      for (int x = 128 * range.first; x < std::min(k, 128 * (range.first + range.count)); ++x) {
        acc += std::int64_t(a[step.a_plane][x]) * b[step.b_plane][x];
      }
      if (step.action == Action::carry_on) continue;
      acc = static_cast<std::int64_t>(floor_mod(acc, step.modulus)) * step.multiplier;
      if (step.action != Action::store_residue) continue;
      out[step.out_plane * splits + split] = static_cast<std::int64_t>(floor_mod(acc, step.modulus));
      acc = 0;
    }
    bool is_right = true;
    for (int g = 0; g < moduli; ++g) {
      std::int64_t part[2] = {0, 0}, sum[2] = {0, 0};
      for (int x = 0; x < k; ++x) {
        part[0] += a[2 * g][x] * b[2 * g][x] - a[2 * g + 1][x] * b[2 * g + 1][x];
        part[1] += a[2 * g][x] * b[2 * g + 1][x] + a[2 * g + 1][x] * b[2 * g][x];
      }
      for (int which = 0; which < 2; ++which) {
        for (int split = 0; split < splits; ++split) {
          const std::int64_t found = out[plane[2 * g + which] * splits + split];
          sum[which] += found;
          is_right = is_right && (found >= 0) == (g < used);
        }
        is_right = is_right && (g >= used || floor_mod(sum[which] - part[which], modulus[g]) == 0);
      }
    }
    report("units of the moduli in use, planes anywhere", is_right, std::to_string(i));
  }
}

}  // namespace

int main() {
  check_units(2000);
  return finish();
}
