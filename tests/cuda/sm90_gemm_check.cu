// Stand-alone check of the Hopper multiply kernel against a loop on the CPU: equality, every tile shape, every action.
//
//   nvcc -std=c++17 -O3 -DNDEBUG -gencode arch=compute_90a,code=sm_90a -I csrc
//        tests/cuda/sm90_gemm_check.cu csrc/multiply/sm90_gemm.cu csrc/multiply/gemm_problem.cpp -o sm90_gemm_check
//
// Outputs are poisoned first: what the kernel has no business writing must still be poison afterwards. Prints
// "N passed, N failed" and exits with 1 on a failure. An argument restricts the run to cases whose name contains it.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "multiply/cuda_gemm.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
#define REQUIRE(call) require((call), #call)

constexpr std::uint8_t kPoison = 0xA5;
constexpr int kChunk = 32768;  // K range of one step

std::int64_t round_up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

std::mt19937_64 generator(20240611);
int random_int(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator); }

struct Schedule {
  std::vector<GemmStep> steps;
  std::vector<int> unit_begin{0};
  int out_planes = 0;
  void end_unit() { unit_begin.push_back(static_cast<int>(steps.size())); }
  int units() const { return static_cast<int>(unit_begin.size()) - 1; }
};

enum class Kind { residues, horner, karatsuba, digits, words };
const char* kind_name(Kind kind) {
  constexpr const char* names[] = {"residues", "horner", "karatsuba", "digits", "words"};
  return names[static_cast<int>(kind)];
}

// A term over all of K, cut into ranges with a fold between them.
void append_term(Schedule& schedule, int a_plane, int b_plane, int k, Action action, std::uint32_t modulus,
                 std::int32_t multiplier, int out_plane, std::uint32_t bound) {
  int begin = 0;
  for (; k - begin > kChunk; begin += kChunk) {
    schedule.steps.push_back(make_step(a_plane, b_plane, begin, begin + kChunk, Action::fold, modulus, 1, 0, bound));
  }
  schedule.steps.push_back(make_step(a_plane, b_plane, begin, k, action, modulus, multiplier, out_plane, bound));
}

// `units` moduli, or digit groups of limbs x limbs, or weighted words.
Schedule make_schedule(Kind kind, bool is_signed, int k, int units, int& planes) {
  Schedule schedule;
  constexpr int int8_moduli[] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197};
  constexpr int fp4_moduli[] = {169, 113, 112, 7, 8, 101, 53, 13};
  const int product = is_signed ? 144 : 255 * 255;
  const std::int64_t range = std::min(k, kChunk);
  // Signed: two products, plus a start value below 256 * 256. Unsigned accumulators need no bound.
  const std::uint32_t bound = is_signed ? static_cast<std::uint32_t>(2 * product * range + (1 << 16)) : 0;
  switch (kind) {
    case Kind::residues:
      planes = units;
      for (int u = 0; u < units; ++u) {
        const std::uint32_t m = is_signed ? fp4_moduli[u % 8] : int8_moduli[u % 15];
        append_term(schedule, u, u, k, Action::store_residue, m, 1, u, bound);
        schedule.end_unit();
      }
      schedule.out_planes = units;
      break;
    case Kind::horner:  // ((a1 b1) 13 + (a0 b1 + a1 b0)) 13 + a0 b0
      planes = 2 * units;
      for (int u = 0; u < units; ++u) {
        const int low = 2 * u, high = 2 * u + 1;
        const std::uint32_t m = fp4_moduli[u % 8];
        append_term(schedule, high, high, k, Action::fold, m, 13, 0, bound);
        append_term(schedule, low, high, k, k > kChunk || !is_signed ? Action::fold : Action::carry_on, m, 1, 0, bound);
        append_term(schedule, high, low, k, Action::fold, m, 13, 0, bound);
        append_term(schedule, low, low, k, Action::store_residue, m, 1, u, bound);
        schedule.end_unit();
      }
      schedule.out_planes = units;
      break;
    case Kind::karatsuba:  // ((a0 b0) w0 + a1 b1) w1 + a2 b2, times w2
      planes = 3 * units;
      for (int u = 0; u < units; ++u) {
        const std::uint32_t m = fp4_moduli[u % 8];
        for (int t = 0; t < 3; ++t) {
          const int multiplier = random_int(2, std::max(2, static_cast<int>(m) - 1));
          append_term(schedule, 3 * u + t, 3 * u + 2 - t, k, t < 2 ? Action::fold : Action::store_residue, m, multiplier, u,
                      bound);
        }
        schedule.end_unit();
      }
      schedule.out_planes = units;
      break;
    case Kind::digits: {  // one unit: sum over i + j = g, base 13, ascending
      planes = units;
      const std::uint32_t group_bound = is_signed ? static_cast<std::uint32_t>(product * range * units + (1 << 24)) : 0;
      for (int g = 0; g <= 2 * units - 2; ++g) {
        for (int i = std::max(0, g - units + 1); i <= std::min(g, units - 1); ++i) {
          const bool is_last = i == std::min(g, units - 1);
          schedule.steps.push_back(make_step(i, g - i, 0, k, is_last ? Action::store_digit : Action::carry_on, 13, 1,
                                             schedule.out_planes, group_bound));
          schedule.out_planes += is_last;
        }
      }
      for (int extra = 0; extra < 8; ++extra) {
        schedule.steps.push_back(make_step(0, 0, 0, 0, Action::store_digit, 13, 1, schedule.out_planes++, group_bound));
      }
      schedule.steps.push_back(make_step(0, 0, 0, 0, Action::store_residue, 256, 1, schedule.out_planes++, group_bound));
      schedule.end_unit();
      break;
    }
    case Kind::words:
      planes = 3;
      for (int u = 0; u < units; ++u) {
        for (int t = 0; t < 3; ++t) {
          schedule.steps.push_back(
              make_step(t, (t + u) % 3, 0, k, t < 2 ? Action::multiply : Action::store_int32, 0, 2 * random_int(-40, 40) + 1, u));
        }
        schedule.end_unit();
      }
      schedule.out_planes = units;
      break;
  }
  return schedule;
}

struct Case {
  std::string name;
  Kind kind = Kind::residues;
  bool is_signed = false;
  int m = 1, n = 1, k = 1, units = 1;
  BatchMap batch;
  int a_batches = 1, b_batches = 1;
  int units_used = -1;  // -1: no pointer
  bool uses_device_steps = false;
  bool extremes = false;  // all limbs at the largest magnitude
  TileChoice choice;
};

int batch_count(const BatchMap& batch) {
  int count = 1;
  for (int d = 0; d < batch.rank; ++d) count *= batch.extent[d];
  return count;
}

// One entry through the whole schedule; calls store(out_plane, value).
template <class Store>
void compute_entry(const Schedule& schedule, int units, bool is_signed, const std::function<const std::uint8_t*(int)>& a_row,
                   const std::function<const std::uint8_t*(int)>& b_row, int k_first, int k_last, const Store& store) {
  for (int u = 0; u < units; ++u) {
    std::int64_t acc = 0;
    for (int s = schedule.unit_begin[u]; s < schedule.unit_begin[u + 1]; ++s) {
      const GemmStep& step = schedule.steps[s];
      const std::uint8_t* a = a_row(step.a_plane);
      const std::uint8_t* b = b_row(step.b_plane);
      std::int64_t sum = 0;
      for (int k = std::max(step.k_begin, k_first); k < std::min(step.k_end, k_last); ++k) {
        sum += is_signed ? static_cast<std::int8_t>(a[k]) * static_cast<std::int8_t>(b[k]) : a[k] * b[k];
      }
      acc += sum;
      const std::int64_t m = step.modulus;
      const std::int64_t residue = m > 0 ? ((acc % m) + m) % m : 0;
      switch (step.action) {
        case Action::carry_on: break;
        case Action::fold: acc = residue * step.multiplier; break;
        case Action::store_residue: store(step.out_plane, residue * step.multiplier % m); break;
        case Action::store_digit:
          store(step.out_plane, residue);
          acc = (acc - residue) / m;
          break;
        case Action::multiply:
          acc = static_cast<std::int32_t>(static_cast<std::uint32_t>(acc) * static_cast<std::uint32_t>(step.multiplier));
          break;
        case Action::store_int32:
          store(step.out_plane,
                static_cast<std::int32_t>(static_cast<std::uint32_t>(acc) * static_cast<std::uint32_t>(step.multiplier)));
          break;
      }
    }
  }
}

std::vector<std::uint8_t> random_planes(std::int64_t bytes, bool is_signed, bool extremes) {
  constexpr int alphabet[] = {0, 1, 2, 3, 4, 6, 8, 12, -1, -2, -3, -4, -6, -8, -12, 12};
  std::vector<std::uint8_t> planes(bytes);
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < bytes; ++i) {
    if (i % 8 == 0) bits = generator();
    const int byte = static_cast<int>(bits >> (8 * (i % 8))) & 255;
    planes[i] = static_cast<std::uint8_t>(extremes    ? (is_signed ? (byte < 250 ? 12 : -12) : 255)
                                          : is_signed ? alphabet[byte % 16]
                                                      : byte);
  }
  return planes;
}

bool run_case(const Case& test, cudaStream_t stream) {
  int planes = 0;
  const Schedule schedule = make_schedule(test.kind, test.is_signed, test.k, test.units, planes);
  const bool words = test.kind == Kind::words;
  const int batches = batch_count(test.batch), entry = words ? 4 : 1;

  // Rows are longer than K and the bytes beyond K are noise: they must not count.
  const std::int64_t pitch = round_up(test.k, 16) + 16 * random_int(0, 2);
  GemmProblem problem;
  problem.m = test.m;
  problem.n = test.n;
  problem.k = test.k;
  problem.element = test.is_signed ? Element::s8 : Element::u8;
  problem.product_bound = test.is_signed ? 144 : 255 * 255;
  problem.batch = test.batch;
  const auto describe = [&](PlaneArray& operand, int rows, int count) {
    operand.planes = planes;
    operand.batches = count;
    operand.pitch = pitch;
    operand.batch_stride = rows * pitch;
    operand.plane_stride = count * operand.batch_stride;
  };
  describe(problem.a, test.m, test.a_batches);
  describe(problem.b, test.n, test.b_batches);
  const std::int64_t a_bytes = planes * problem.a.plane_stride, b_bytes = planes * problem.b.plane_stride;
  const std::vector<std::uint8_t> a = random_planes(a_bytes, test.is_signed, test.extremes);
  const std::vector<std::uint8_t> b = random_planes(b_bytes, test.is_signed, test.extremes);

  problem.out_planes = schedule.out_planes;
  problem.out_pitch = round_up(test.n, words ? 2 : 16) + (words ? 2 : 16) * random_int(0, 1);
  problem.out_matrix_stride = test.m * problem.out_pitch + (words ? 2 : 16) * random_int(0, 1);
  const std::int64_t matrices = std::int64_t(schedule.out_planes) * test.choice.splits * batches;
  const std::int64_t out_bytes = matrices * problem.out_matrix_stride * entry;

  std::uint8_t *device_a, *device_b, *device_out;
  int* device_units = nullptr;
  GemmStep* device_steps = nullptr;
  REQUIRE(cudaMalloc(&device_a, a_bytes));
  REQUIRE(cudaMalloc(&device_b, b_bytes));
  REQUIRE(cudaMalloc(&device_out, out_bytes));
  REQUIRE(cudaMemcpy(device_a, a.data(), a_bytes, cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy(device_b, b.data(), b_bytes, cudaMemcpyHostToDevice));
  REQUIRE(cudaMemset(device_out, kPoison, out_bytes));
  if (test.units_used >= 0) {
    REQUIRE(cudaMalloc(&device_units, sizeof(int)));
    REQUIRE(cudaMemcpy(device_units, &test.units_used, sizeof(int), cudaMemcpyHostToDevice));
  }
  if (test.uses_device_steps) {
    const std::size_t bytes = schedule.steps.size() * sizeof(GemmStep);
    REQUIRE(cudaMalloc(&device_steps, bytes));
    REQUIRE(cudaMemcpy(device_steps, schedule.steps.data(), bytes, cudaMemcpyHostToDevice));
  }
  problem.a.data = device_a;
  problem.b.data = device_b;
  problem.out = device_out;
  problem.steps = schedule.steps.data();
  problem.unit_begin = schedule.unit_begin.data();
  problem.unit_count = schedule.units();
  problem.device_steps = device_steps;
  problem.units_used = device_units;

  bool passed = true;
  if (const char* error = find_problem_error(problem, test.choice)) {
    std::printf("%s: refused: %s\n", test.name.c_str(), error);
    passed = false;
  }
  std::vector<std::uint8_t> out(out_bytes);
  if (passed) {
    REQUIRE(cudaDeviceSynchronize());
    if (const cudaError_t error = launch_gemm(problem, test.choice, stream)) {
      std::printf("%s: not launched: %s\n", test.name.c_str(), cudaGetErrorString(error));
      passed = false;
    }
    require(cudaStreamSynchronize(stream), test.name.c_str());
    REQUIRE(cudaMemcpy(out.data(), device_out, out_bytes, cudaMemcpyDeviceToHost));
  }
  REQUIRE(cudaFree(device_a));
  REQUIRE(cudaFree(device_b));
  REQUIRE(cudaFree(device_out));
  REQUIRE(cudaFree(device_units));
  REQUIRE(cudaFree(device_steps));
  if (!passed) return false;

  // All entries when that is cheap, else a sample that includes the corners and the edges of tiles.
  const int units = test.units_used >= 0 ? std::min(test.units_used, schedule.units()) : schedule.units();
  const double work = static_cast<double>(test.m) * test.n * test.k * schedule.steps.size() * batches;
  const double fraction = std::min(1.0, 3e7 / work);
  std::vector<std::int64_t> entries;
  for (std::int64_t e = 0; e < std::int64_t(test.m) * test.n; ++e) {
    const int i = static_cast<int>(e / test.n), j = static_cast<int>(e % test.n);
    const bool corner = (i == 0 || i == test.m - 1) && (j == 0 || j == test.n - 1);
    if (corner || fraction >= 1 || generator() % (1 << 20) < fraction * (1 << 20)) entries.push_back(e);
  }
  const int blocks_per_split = static_cast<int>(round_up(round_up(test.k, 128) / 128, test.choice.splits) / test.choice.splits);
  std::atomic<std::int64_t> wrong{0};
  std::atomic<std::size_t> next{0};
  const auto check_entries = [&] {
    for (;;) {
      const std::size_t first = next.fetch_add(64);
      if (first >= entries.size()) return;
      for (std::size_t e = first; e < std::min(first + 64, entries.size()); ++e) {
        const int i = static_cast<int>(entries[e] / test.n), j = static_cast<int>(entries[e] % test.n);
        for (int matrix = 0; matrix < test.choice.splits * batches; ++matrix) {
          const int split = matrix / batches;
          int rest = matrix % batches, a_matrix = 0, b_matrix = 0;
          for (int d = test.batch.rank - 1; d >= 0; --d) {
            a_matrix += rest % test.batch.extent[d] * test.batch.a_stride[d];
            b_matrix += rest % test.batch.extent[d] * test.batch.b_stride[d];
            rest /= test.batch.extent[d];
          }
          const auto a_row = [&](int plane) {
            return a.data() + plane * problem.a.plane_stride + a_matrix * problem.a.batch_stride + i * pitch;
          };
          const auto b_row = [&](int plane) {
            return b.data() + plane * problem.b.plane_stride + b_matrix * problem.b.batch_stride + j * pitch;
          };
          compute_entry(schedule, units, test.is_signed, a_row, b_row, split * blocks_per_split * 128,
                        (split + 1) * blocks_per_split * 128, [&](int out_plane, std::int64_t expected) {
                          const std::int64_t at =
                              (std::int64_t(out_plane) * test.choice.splits * batches + matrix) * problem.out_matrix_stride +
                              i * problem.out_pitch + j;
                          std::int64_t found = out[at * entry];
                          if (words) {
                            std::int32_t word;
                            std::memcpy(&word, out.data() + at * entry, 4);
                            found = word;
                          }
                          if (found != expected && wrong.fetch_add(1) < 3) {
                            std::printf("%s: plane %d matrix %d row %d column %d: %lld, expected %lld\n", test.name.c_str(),
                                        out_plane, matrix, i, j, static_cast<long long>(found), static_cast<long long>(expected));
                          }
                        });
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::min(16u, std::thread::hardware_concurrency())); ++t)
    threads.emplace_back(check_entries);
  for (std::thread& thread : threads) thread.join();

  // Poison: padding (of a byte row only what lies beyond the next multiple of 16), and all of the planes of units that
  // were not asked for.
  const std::int64_t written_columns = words ? test.n : round_up(test.n, 16);
  std::vector<bool> used(schedule.out_planes, false);
  for (int s = 0; s < schedule.unit_begin[units]; ++s) used[schedule.steps[s].out_plane] = true;
  std::int64_t trespasses = 0;
  for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
    const bool is_used = used[matrix / (test.choice.splits * batches)];
    for (std::int64_t x = 0; x < problem.out_matrix_stride * entry; ++x) {
      const std::int64_t row = x / (problem.out_pitch * entry), column = x % (problem.out_pitch * entry) / entry;
      const bool is_inside = is_used && row < test.m && column < written_columns;
      if (!is_inside && out[matrix * problem.out_matrix_stride * entry + x] != kPoison) ++trespasses;
    }
  }
  if (trespasses != 0) std::printf("%s: %lld bytes written outside\n", test.name.c_str(), static_cast<long long>(trespasses));
  return wrong == 0 && trespasses == 0;
}

// ---- Cases -----------------------------------------------------------------------------------------------------------

TileChoice random_choice(TileShape shape) {
  TileChoice choice;
  choice.shape = shape;
  choice.band = random_int(1, 5);
  choice.max_blocks = random_int(0, 1) == 0 ? 0 : random_int(1, 12);  // few blocks: many tiles each
  choice.keep_together = random_int(0, 1) == 0;
  choice.overlap_previous = random_int(0, 1) == 0;
  return choice;
}

void name_case(Case& test) {
  const TileGeometry& tile = tile_geometry(test.choice.shape);
  char text[256];
  std::snprintf(text, sizeof text, "%s %s %dx%dx%d units %d batches %d splits %d used %d tile %s band %d blocks %d%s%s",
                kind_name(test.kind), test.is_signed ? "s8" : "u8", test.m, test.n, test.k, test.units, batch_count(test.batch),
                test.choice.splits, test.units_used, tile.name, test.choice.band, test.choice.max_blocks,
                test.choice.keep_together ? " together" : "", test.choice.overlap_previous ? " overlapping" : "");
  test.name = text;
}

std::vector<Case> make_cases() {
  std::vector<Case> cases;
  const auto add = [&](Case test) {
    name_case(test);
    cases.push_back(test);
  };

  for (int shape = 0; shape < kTileShapes; ++shape) {
    for (const bool is_signed : {false, true}) {
      for (const Kind kind : {Kind::residues, Kind::horner, Kind::karatsuba, Kind::digits, Kind::words}) {
        if (kind == Kind::digits && !is_signed) continue;
        for (int repeat = 0; repeat < 3; ++repeat) {
          Case test;
          test.kind = kind;
          test.is_signed = is_signed;
          test.m = random_int(1, 300);
          test.n = random_int(1, 300);
          test.k = repeat == 0 ? random_int(1, 200) : random_int(1, 1500);
          test.units = random_int(1, 4);
          test.choice = random_choice(static_cast<TileShape>(shape));
          if (repeat == 1) {  // batches, broadcasting
            test.m = random_int(1, 150);
            test.n = random_int(1, 150);
            test.batch.rank = 3;
            const int extent[3] = {2, random_int(1, 3), 2}, a_stride[3] = {extent[1], 1, 0}, b_stride[3] = {0, 2, 1};
            for (int d = 0; d < 3; ++d) {
              test.batch.extent[d] = extent[d];
              test.batch.a_stride[d] = a_stride[d];
              test.batch.b_stride[d] = b_stride[d];
            }
            test.a_batches = 2 * extent[1];
            test.b_batches = 2 * extent[1];
          }
          if (repeat == 2) {
            test.choice.splits = random_int(1, 4);
            if (kind != Kind::digits) test.units_used = random_int(0, test.units + 1);
          }
          test.uses_device_steps = random_int(0, 3) == 0;
          add(test);
        }
      }
      // The smallest, and exact multiples of the tile.
      Case one;
      one.is_signed = is_signed;
      one.choice = random_choice(static_cast<TileShape>(shape));
      add(one);
      Case exact = one;
      exact.m = 512;
      exact.n = 512;
      exact.k = 1024;
      exact.units = 3;
      add(exact);
      // K beyond the exact range of one accumulator, at the largest magnitudes.
      Case deep = one;
      deep.m = 70;
      deep.n = 65;
      deep.k = 66000 + random_int(0, 300);
      deep.units = 2;
      deep.extremes = true;
      add(deep);
      deep.kind = Kind::horner;
      deep.units = 1;
      deep.choice.splits = 3;
      add(deep);
    }
  }

  // Many tiles, long chains, the choice that the cost model makes.
  for (const bool is_signed : {false, true}) {
    Case large;
    large.is_signed = is_signed;
    large.kind = is_signed ? Kind::horner : Kind::residues;
    large.m = 1500;
    large.n = 1300;
    large.k = 2100;
    large.units = 8;
    GemmShape shape;
    shape.m = large.m;
    shape.n = large.n;
    shape.k = large.k;
    shape.units = large.units;
    shape.steps = is_signed ? 4 * large.units : large.units;
    large.choice = choose_tile(shape, 132);
    add(large);
    large.choice.keep_together = true;
    add(large);
  }
  Case scheme_one;  // 225 products
  scheme_one.kind = Kind::digits;
  scheme_one.is_signed = true;
  scheme_one.m = 260;
  scheme_one.n = 300;
  scheme_one.k = 500;
  scheme_one.units = 15;
  add(scheme_one);
  Case extreme;
  extreme.m = 200;
  extreme.n = 300;
  extreme.k = 32768;
  extreme.units = 15;
  extreme.extremes = true;
  add(extreme);
  return cases;
}

// fold_to_byte against the remainder, for every modulus: all values of its inner sum and the ends of the 32-bit range.
__global__ void check_fold(byte_fold constants, std::uint32_t modulus, unsigned long long* wrong) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, negated = 0u - modulus;
  for (std::uint32_t i = thread; i < (1u << 20); i += gridDim.x * blockDim.x) {
    for (const std::uint32_t x : {i, ~i, i * 4099u, (1u << 31) + i, (1u << 31) - i}) {
      const std::uint32_t word = fold_to_byte(x, constants, negated), residue = x % modulus;
      const bool right = word - byte_fold_excess(constants, modulus) == residue && (word & 255) == (residue & 255);
      if (!right) atomicAdd(wrong, 1ull);
    }
  }
}

bool folds_are_right() {
  unsigned long long wrong = 0, *device_wrong;
  REQUIRE(cudaMalloc(&device_wrong, sizeof wrong));
  REQUIRE(cudaMemset(device_wrong, 0, sizeof wrong));
  for (std::uint32_t modulus = 2; modulus <= 256; ++modulus) {
    if (!is_byte_foldable(modulus)) ++wrong;
    check_fold<<<128, 256>>>(make_byte_fold(modulus), modulus, device_wrong);
  }
  unsigned long long found = 0;
  REQUIRE(cudaMemcpy(&found, device_wrong, sizeof found, cudaMemcpyDeviceToHost));
  REQUIRE(cudaFree(device_wrong));
  if (wrong + found != 0) std::printf("%llu wrong folds\n", wrong + found);
  return wrong + found == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* filter = argc > 1 ? argv[1] : "";
  cudaStream_t stream;
  REQUIRE(cudaStreamCreate(&stream));
  int passed = 0, failed = 0;
  ++(folds_are_right() ? passed : failed);
  for (const Case& test : make_cases()) {
    if (test.name.find(filter) == std::string::npos) continue;
    if (run_case(test, stream)) {
      ++passed;
    } else {
      ++failed;
      std::printf("FAILED %s\n", test.name.c_str());
    }
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
