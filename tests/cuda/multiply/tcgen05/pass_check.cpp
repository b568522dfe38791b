// All that the tcgen05 kernels compute outside CUTLASS, against the contract of multiply/contract.hpp. These are the fold of the
// epilogue over its whole domain, how a schedule is cut into passes, and the walk over K blocks. The schedules of all plans of
// scheme II, up to long K, must be accepted.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "cuda/multiply/schedule.hpp"
#include "cuda/multiply/tcgen05/collective/walk.cuh"
#include "cuda/multiply/tcgen05/pass.hpp"
#include "cuda/multiply/units.hpp"
#include "cuda/multiply/walk/steps.cuh"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

bool check(bool holds, const char* what, long long a = 0, long long b = 0) {
  return report(what, holds, holds ? "" : std::to_string(a) + ", " + std::to_string(b));
}

// ---- The fold --------------------------------------------------------------------------------------------------------

constexpr std::int32_t kFloatLimit = 1 << 24;

// Every FP32 accumulator, every modulus. One check per modulus.
void check_all_accumulators() {
  for (std::uint32_t m = 2; m <= 256; ++m) {
    tcgen05::PassFold f;
    f.constants = make_fold(m, kFloatLimit);
    auto expected = static_cast<std::uint32_t>(floor_mod(-kFloatLimit, m));
    std::int64_t wrong = 0;
    for (std::int32_t x = -kFloatLimit; x <= kFloatLimit; ++x) {
      const std::int32_t acc = tcgen05::accumulated_integer(static_cast<float>(x));
      wrong += acc != x || tcgen05::fold_sum(acc, 255, f) != expected;
      expected = expected + 1 == m ? 0 : expected + 1;
    }
    check(wrong == 0, "fold of an accumulator", m, wrong);
  }
}

// Every previous residue with every multiplier (or weight) of every modulus, at the ends of the accumulators' ranges. One
// check per modulus and accumulator.
void check_all_multipliers() {
  struct Range {
    std::int32_t low, high;
    std::uint32_t bound;
  };
  const Range ranges[] = {{-kFloatLimit, kFloatLimit, 1u << 24},
                          {-(1 << 29), 1 << 29, 1u << 29},
                          {0, static_cast<std::int32_t>((std::uint32_t(1) << 31) - (1 << 16)), 0}};
  for (const Range& range : ranges) {
    for (std::uint32_t m = 2; m <= 256; ++m) {
      tcgen05::PassFold f;
      f.constants = make_fold(m, range.bound);
      for (const std::int32_t acc : {range.low, range.low + 1, 0, 1, range.high - 1, range.high}) {
        std::int64_t wrong = 0;
        for (std::uint32_t previous = 0; previous < m; ++previous) {
          for (std::uint32_t factor = 0; factor < m; ++factor) {
            f.multiplier = factor;
            f.weight = 1;
            const std::int64_t sum = acc + std::int64_t(previous) * factor;
            wrong += tcgen05::fold_sum(acc, previous, f) != floor_mod(sum, m);
            f.weight = m - 1 - factor;
            wrong += tcgen05::fold_weighted_sum(acc, previous, f) != floor_mod(sum * f.weight, m);
          }
        }
        check(wrong == 0, "fold with a multiplier and a weight", m, acc);
      }
    }
  }
}

// ---- Passes ----------------------------------------------------------------------------------------------------------

// A product of one row and one column per matrix: what the kernels do with tiles they do with every entry.
struct Case {
  int k, batches, splits;
  Schedule schedule;
  std::vector<std::vector<int>> a, b;  // [plane * batches + batch][k]
  alignas(128) std::uint8_t memory[128];

  // Without a step.
  Case(Element element, int of_k, int planes, int of_batches, int of_splits) : k(of_k), batches(of_batches), splits(of_splits) {
    schedule.element = element;
    schedule.product_bound = element == Element::u8 ? 255 * 255 : 144;
    schedule.planes = planes;
    schedule.unit_begin = {0};
  }

  void add_step(const GemmStep& step) { schedule.steps.push_back(step); }
  void end_unit() { schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size())); }

  GemmProblem problem() {
    GemmProblem p;
    p.m = p.n = 1;
    p.k = k;
    p.attach(schedule);
    const std::int64_t pitch = (row_bytes(schedule.element, k) + 15) / 16 * 16;
    p.a = p.b = {memory, schedule.planes, batches, pitch, pitch, pitch * batches};
    p.batch.rank = 1;
    p.batch.extent[0] = batches;
    p.batch.a_stride[0] = p.batch.b_stride[0] = 1;
    p.out = memory;
    p.out_pitch = p.out_matrix_stride = 16;
    return p;
  }
};

constexpr int kLimbs[] = {0, 1, 2, 3, 4, 6, 8, 12, -1, -2, -3, -4, -6, -8, -12};

int random_limb(Element element) {
  if (element == Element::u8) return random_int(0, 9) < 3 ? 255 : random_int(0, 255);
  return random_int(0, 9) < 3 ? 12 : kLimbs[random_int(0, 14)];
}

// Units of up to four terms, folded or carried on in between, each term's K range cut at random places.
Case random_case() {
  const Element element = random_int(0, 1) == 0 ? Element::e2m1 : Element::u8;
  const int block = block_entries(element);
  const int k = random_int(0, 2) == 0 ? random_int(1, 8 * block) : block * random_int(1, 8);
  const int planes = random_int(1, 5), batches = random_int(1, 3);
  Case c(element, k, planes, batches, random_int(1, 4));
  for (int i = 0; i < planes * batches; ++i) {
    for (auto* operand : {&c.a, &c.b}) {
      operand->emplace_back(k);
      for (int& x : operand->back()) x = random_limb(element);
    }
  }
  // Bounds as a schedule has them: products that carried on, and the start value that the last fold left.
  c.schedule.units_per_modulus = random_int(1, 2);
  const int units = c.schedule.units_per_modulus * random_int(1, 4);
  c.schedule.out_planes = units + random_int(0, 2);
  std::vector<int> plane;  // where a unit stores
  for (int p = 0; p < c.schedule.out_planes; ++p) plane.insert(plane.begin() + random_int(std::size_t(0), plane.size()), p);
  for (int u = 0; u < units; ++u) {
    const bool has_one_modulus = random_int(0, 1) == 0;
    const int terms = random_int(1, 4);
    int m = random_int(2, 256);
    std::uint32_t held = 0;
    for (int t = 0; t < terms; ++t) {
      const int a_plane = random_int(0, planes - 1), b_plane = random_int(0, planes - 1);
      for (int begin = 0; begin < k;) {
        const int end = random_int(0, 1) == 0 ? k : std::min(k, begin + block * random_int(1, 4));
        held += static_cast<std::uint32_t>(end - begin) * c.schedule.product_bound;
        const bool is_last = t + 1 == terms && end == k;
        const Action action = is_last ? Action::store_residue : random_int(0, 1) == 0 ? Action::carry_on : Action::fold;
        if (!has_one_modulus) m = random_int(2, 256);
        const int multiplier = random_int(is_signed(element) ? -(m - 1) : 0, m - 1);
        const std::uint32_t bound = is_signed(element) ? std::max<std::uint32_t>(held, m * m) : 0;
        c.add_step(
            make_step(a_plane, b_plane, begin, end, action, action == Action::carry_on ? 0 : m, multiplier, plane[u], bound));
        if (action == Action::fold) held = static_cast<std::uint32_t>((m - 1) * std::abs(multiplier));
        begin = end;
      }
    }
    c.end_unit();
  }
  return c;
}

std::int64_t dot(const Case& c, int a_plane, int b_plane, int batch, int begin, int end) {
  const auto& a = c.a[a_plane * c.batches + batch];
  const auto& b = c.b[b_plane * c.batches + batch];
  std::int64_t sum = 0;
  for (int i = begin; i < std::min(end, c.k); ++i) sum += a[i] * b[i];
  return sum;
}

// The blocks [first, first + count) as the tensor cores see them: whole blocks, zeros beyond K.
std::int64_t block_sum(const Case& c, int a_plane, int b_plane, int batch, std::int64_t first, int count) {
  const std::int64_t block = block_entries(c.schedule.element);
  if (first * block >= c.k) return 0;
  return dot(c, a_plane, b_plane, batch, static_cast<int>(first * block), static_cast<int>((first + count) * block));
}

// The bytes that the passes store, matrix by matrix. `tile_blocks`: K blocks that the main loop takes at a time.
template <int kBlockEntries>
std::vector<std::uint8_t> by_passes(Case& c, const int* moduli_used, int tile_blocks) {
  GemmProblem problem = c.problem();
  problem.moduli_used = moduli_used;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(c.schedule.out_planes * c.splits * c.batches), 0xA5);
  for (int index = 0; index < tcgen05::count_passes(problem); ++index) {
    tcgen05::Pass pass;
    tcgen05::PassFolds folds;
    tcgen05::make_pass(problem, c.splits, index, &pass, &folds);
    check(pass.matrix_count == pass.plane_count * c.splits * c.batches, "matrices of a pass", pass.matrix_count);
    const int per_launch = random_int(1, pass.matrix_count);
    for (int i = 0; i < pass.matrix_count; ++i) {
      pass.first_matrix = i / per_launch * per_launch;
      const int number = tcgen05::matrix_number(pass, i - pass.first_matrix);
      const tcgen05::OutputMatrix matrix = tcgen05::output_matrix(pass, number);
      const int batch = static_cast<int>(matrix.tile.matrix) - matrix.split * c.batches;
      const int needed = tcgen05::count_blocks<kBlockEntries>(pass, matrix, count_units(pass));
      const int count = (needed + tile_blocks - 1) / tile_blocks * tile_blocks;
      std::int64_t acc = 0;
      int loaded = 0;
      const int prologue = std::min(count, 3 * tile_blocks);
      for (const auto& [begin, blocks] : {std::pair{0, prologue}, std::pair{prologue, count - prologue}}) {
        tcgen05::RangeWalk<kBlockEntries> walk(pass, matrix, begin, blocks);
        for (tcgen05::LoadRange range; walk.next(&range);) {
          loaded += range.count;
          acc += block_sum(c, range.a_plane, range.b_plane, batch, range.first, range.count);
        }
      }
      check(loaded == count, "blocks loaded", loaded, count);
      const tcgen05::PassFold& fold = folds.fold[divide(static_cast<std::uint32_t>(number), folds.matrices)];
      check(fold.weight != 1 || tcgen05::fold_weighted_sum(static_cast<int>(acc), out[number], fold) ==
                                    tcgen05::fold_sum(static_cast<int>(acc), out[number], fold),
            "a weight of 1");
      out[number] = static_cast<std::uint8_t>(tcgen05::fold_weighted_sum(static_cast<int>(acc), out[number], fold));
    }
  }
  return out;
}

void check_passes(int cases) {
  int most = 0;
  for (int i = 0; i < cases; ++i) {
    Case c = random_case();
    const GemmProblem problem = c.problem();
    TileChoice choice;
    choice.splits = c.splits;
    const char* error = find_problem_error(problem, choice);
    if (error == nullptr) error = tcgen05::find_pass_error(problem, choice);
    if (!check(error == nullptr, error == nullptr ? "" : error, i)) continue;
    most = std::max(most, tcgen05::count_passes(problem));
    const int all = c.schedule.unit_count(), per_modulus = c.schedule.units_per_modulus;
    const int moduli = random_int(-1, all / per_modulus + 1);
    const int* const moduli_used = random_int(0, 1) == 0 ? &moduli : nullptr;
    const int units = moduli_used == nullptr ? all : std::min(all, std::max(0, moduli) * per_modulus);
    const int block = block_entries(c.schedule.element), length = ((c.k + block - 1) / block + c.splits - 1) / c.splits * block;
    const auto out = block == 256 ? by_passes<256>(c, moduli_used, i % 2 == 0 ? 1 : tcgen05::kTileEntries96 / block)
                                  : by_passes<128>(c, moduli_used, 1);
    const int matrices = c.splits * c.batches;
    for (int matrix = 0; matrix < matrices; ++matrix) {
      const int first = matrix / c.batches * length, last = first + length;
      const auto sum = [&](const GemmStep& step) {
        const int begin = std::max(step.k_begin, first), end = std::min(step.k_end, last);
        return dot(c, step.a_plane, step.b_plane, matrix % c.batches, begin, end);
      };
      run_units(c.schedule.view(), units, sum, [&](int plane, std::int64_t expected) {
        const std::uint8_t found = out[static_cast<std::size_t>(plane * matrices + matrix)];
        check(found == expected, "residue", found, expected);
      });
    }
  }
  std::printf("%d random problems, up to %d passes\n", cases, most);
}

// ---- Plans -----------------------------------------------------------------------------------------------------------

void check_plans() {
  alignas(128) static std::uint8_t memory[128];
  int most = 0, count = 0;
  for (const PlanWay& way : kPlanWays) {
    if (way.scheme != Scheme::two || way.element == Element::s8) continue;  // which no tcgen05 kernel multiplies
    for (const int bits : {2, 24, 53}) {
      for (const int k : {1, 255, 256, 16384, 116480, 116736, 600000, 3000000, kLongestExtent}) {
        Plan plan;
        try {
          plan = make_plan({Scheme::two, way.alphabet, way.family, bits, k});
        } catch (const std::exception&) {
          continue;  // K beyond the plan's limit
        }
        const Schedule schedule = make_schedule(plan, way.element, k);
        for (const int splits : {1, 4}) {
          GemmProblem p;
          p.m = p.n = 1;
          p.k = k;
          p.attach(schedule);
          const std::int64_t pitch = (row_bytes(way.element, k) + 127) / 128 * 128;
          p.a = p.b = {memory, schedule.planes, 1, pitch, pitch, pitch};
          p.out = memory;
          p.out_pitch = p.out_matrix_stride = 16;
          p.device_steps = schedule.steps.data();
          TileChoice choice;
          choice.splits = splits;
          const char* error = find_problem_error(p, choice);
          if (error == nullptr) error = tcgen05::find_pass_error(p, choice);
          check(error == nullptr, error == nullptr ? "" : error, k, bits);
          most = std::max(most, tcgen05::count_passes(p));
          ++count;
        }
      }
    }
  }
  std::printf("%d schedules of plans, up to %d passes\n", count, most);
}

// ---- Refusals --------------------------------------------------------------------------------------------------------

template <class Change>
void check_refusal(const char* part, const Change& change) {
  Case c(Element::e2m1, 300, 2, 2, 1);
  c.schedule.out_planes = 2;
  for (int u = 0; u < 2; ++u) {
    c.add_step(make_step(u, u, 0, 300, Action::fold, 13, 3, 0, 144 * 300));
    c.add_step(make_step(u, u, 0, 300, Action::store_residue, 13, 1, u, 144 * 300 + 36));
    c.end_unit();
  }
  GemmProblem problem = c.problem();
  TileChoice choice;
  check(tcgen05::find_pass_error(problem, choice) == nullptr, "the problem before the change");
  change(problem, c.schedule.steps);
  const char* error = tcgen05::find_pass_error(problem, choice);
  check(error != nullptr && std::strstr(error, part) != nullptr, part);
}

// Extents at which something would leave 32 bits.
void check_extents() {
  const Plan plan = make_plan({Scheme::two, Alphabet::int8, "least", 53, INT32_MAX});
  bool is_refused = false;
  try {
    make_schedule(plan, Element::u8, kLongestExtent + 1);
  } catch (const std::length_error&) {
    is_refused = true;
  }
  check(is_refused, "a schedule of too long products");

  struct Extents {
    int m, n, k, batches, out_planes, splits;
    const char* part;  // of the error; null: none
  };
  const Extents all[] = {{1, 1, kLongestExtent, 1, 1, 1, nullptr},
                         {kLongestExtent, 1, 1, 1, 1, 1, nullptr},
                         {kLongestExtent, 127, 1, 127, 1, 1, nullptr},
                         {kLongestExtent, 129, 1, 129, 1, 1, "too many tiles"},
                         {kLongestExtent, kLongestExtent, 1, INT32_MAX, 1, 1024, "too many tiles"},
                         {1, 1, 1, INT32_MAX, 1, 1, nullptr},
                         {1, 1, 1, 1 << 26, 31, 1, nullptr},
                         {1, 1, 1, 1 << 26, 32, 1, "too many output matrices"},
                         {1, 1, 1, 1 << 20, 32, 64, "too many output matrices"}};
  for (const Extents& e : all) {
    Case c(Element::s8, e.k, 1, e.batches, e.splits);
    c.schedule.out_planes = e.out_planes;
    for (std::int64_t begin = 0; begin < e.k; begin += 1 << 20) {
      const int end = static_cast<int>(std::min<std::int64_t>(begin + (1 << 20), e.k));
      c.add_step(make_step(0, 0, static_cast<int>(begin), end, Action::fold, 13, 1, 0, 144 << 20 | 1 << 10));
    }
    c.add_step(make_step(0, 0, 0, 0, Action::store_residue, 13, 1, 0, 1 << 10));
    c.end_unit();
    GemmProblem p = c.problem();
    p.m = e.m;
    p.n = e.n;
    p.a.batch_stride = p.a.plane_stride = p.m * p.a.pitch;
    p.b.batch_stride = p.b.plane_stride = p.n * p.b.pitch;
    p.out_pitch = (std::int64_t(e.n) + 15) / 16 * 16;
    p.out_matrix_stride = p.m * p.out_pitch;
    p.device_steps = c.schedule.steps.data();
    TileChoice choice;
    choice.splits = e.splits;
    const char* error = find_problem_error(p, choice);
    const bool is_right = e.part == nullptr ? error == nullptr : error != nullptr && std::strstr(error, e.part) != nullptr;
    if (!check(is_right, "extents", e.m, e.k)) std::printf("  %s\n", error == nullptr ? "no error" : error);
  }

  // An empty sum loads a block beyond every K, and the indices of its entries are within 32 bits.
  Case c(Element::e2m1, 512, 1, 1, 3);  // the last split is empty
  c.schedule.out_planes = 1;
  c.add_step(make_step(0, 0, 0, 512, Action::store_residue, 13, 1, 0, 144 * 512));
  c.end_unit();
  const GemmProblem problem = c.problem();
  tcgen05::Pass pass;
  tcgen05::PassFolds folds;
  tcgen05::make_pass(problem, c.splits, 0, &pass, &folds);
  tcgen05::RangeWalk<256> walk(pass, tcgen05::output_matrix(pass, 2), 0, 3);
  tcgen05::LoadRange range{};
  check(walk.next(&range) && range.first >= (kLongestExtent + 255) / 256, "a block beyond every K", range.first);
  check((std::int64_t(range.first) + range.count) * 256 <= INT32_MAX, "the end of the blocks beyond K", range.first);
}

void check_refusals() {
  using Steps = std::vector<GemmStep>;
  const char* error = find_kernel_error(Kernel::tcgen05_bytes, Element::s8, {100, 148});
  check(error != nullptr && std::strstr(error, "unsigned bytes") != nullptr, "signed bytes");
  check_refusal("digits", [](GemmProblem&, Steps& steps) { steps[0].action = Action::store_digit; });
  check_refusal("int32", [](GemmProblem&, Steps& steps) { steps[3].action = Action::store_int32; });
  check_refusal("int32", [](GemmProblem&, Steps& steps) { steps[0].action = Action::multiply; });
  check_refusal("output plane", [](GemmProblem&, Steps& steps) { steps[1].out_plane = 1; });
  check_refusal("more planes", [](GemmProblem& p, Steps&) { p.out_planes = kMaxUnits + 1; });
  check_refusal("exactly", [](GemmProblem& p, Steps&) { p.product_bound = (1 << 24) / 300 + 1; });
  check_refusal("too many", [](GemmProblem& p, Steps&) {
    p.a.planes = 1 << 16;
    p.a.batches = 1 << 15;
    p.a.plane_stride = p.a.batches * p.a.batch_stride;
  });
  check_refusal("multiples", [](GemmProblem& p, Steps&) { p.a.plane_stride += 16; });
  check_refusal("256 terms", [](GemmProblem& p, Steps& steps) {
    static int unit_begin[2];
    const GemmStep last = steps.back();
    steps.assign(tcgen05::kMaxPassTerms, make_step(0, 0, 0, 0, Action::carry_on));
    steps.push_back(last);
    unit_begin[1] = static_cast<int>(steps.size());
    p.steps = steps.data();
    p.unit_begin = unit_begin;
    p.unit_count = 1;
  });
}

}  // namespace

int main() {
  check_refusals();
  check_extents();
  check_plans();
  check_passes(20000);
  check_all_multipliers();
  check_all_accumulators();
  return finish();
}
