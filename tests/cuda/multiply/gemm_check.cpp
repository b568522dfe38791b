// The multiply kernels against a loop on the CPU: equality, every kernel that runs here, every tile shape, every action. Sizes
// are around the edges of tiles and of K blocks, K up to the limits of INT32 and FP32 accumulators.
//
//   gemm_check host                  whether all problems are accepted
//   gemm_check gpu [part of a name]
//
// Outputs are poisoned first: what the kernel has no business writing must still be poison afterwards. Bytes beyond K are noise.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "arith/fold.hpp"
#include "arith/limbs/e2m1.hpp"
#include "arith/multiples.hpp"
#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda/launch.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/units.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

// The next unit begins behind the last step.
void end_unit(Schedule& schedule) { schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size())); }

enum class Kind { residues, horner, karatsuba, pairs, digits, words };
const char* kind_name(Kind kind) {
  constexpr const char* names[] = {"residues", "horner", "karatsuba", "pairs", "digits", "words"};
  return names[static_cast<int>(kind)];
}

// A term over all of K, cut into ranges with a fold between them.
void append_term(Schedule& schedule, int chunk, int a_plane, int b_plane, int k, Action action, std::uint32_t modulus,
                 std::int32_t multiplier, int out_plane, std::uint32_t bound) {
  int begin = 0;
  for (; k - begin > chunk; begin += chunk) {
    schedule.steps.push_back(make_step(a_plane, b_plane, begin, begin + chunk, Action::fold, modulus, 1, 0, bound));
  }
  schedule.steps.push_back(make_step(a_plane, b_plane, begin, k, action, modulus, multiplier, out_plane, bound));
}

// The longest K range of one step: INT32 holds 2 * 32768 * 255 * 255 + 2^16; FP32 holds 144 * 116480 + 168 * 168.
int longest_range(Element element) { return element == Element::e2m1 ? 57344 : 32768; }

// `units` moduli, or digit groups of limbs x limbs, or weighted words.
Schedule make_schedule(Kind kind, Element element, int k, int units) {
  Schedule schedule;
  schedule.element = element;
  schedule.product_bound = is_signed(element) ? 144 : 255 * 255;
  schedule.unit_begin = {0};
  int& planes = schedule.planes;
  constexpr int int8_moduli[] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197};
  constexpr int fp4_moduli[] = {169, 113, 112, 7, 8, 101, 53, 13};
  const bool has_sign = is_signed(element), is_float = element == Element::e2m1;
  const int chunk = kind == Kind::residues && is_float ? 116480 : longest_range(element);
  const auto product = static_cast<int>(schedule.product_bound);
  const std::int64_t range = std::min(k, chunk);
  // Signed: two products, plus a start value below 256 * 256. Unsigned accumulators need no bound.
  const std::uint32_t bound = has_sign ? static_cast<std::uint32_t>(2 * product * range + (1 << 16)) : 0;
  switch (kind) {
    case Kind::residues:
      planes = units;
      for (int u = 0; u < units; ++u) {
        const std::uint32_t m = has_sign ? fp4_moduli[u % 8] : int8_moduli[u % 15];
        append_term(schedule, chunk, u, u, k, Action::store_residue, m, 1, u, bound);
        end_unit(schedule);
      }
      schedule.out_planes = units;
      break;
    case Kind::horner:  // ((a1 b1) 13 + (a0 b1 + a1 b0)) 13 + a0 b0
      planes = 2 * units;
      for (int u = 0; u < units; ++u) {
        const int low = 2 * u, high = 2 * u + 1;
        const std::uint32_t m = fp4_moduli[u % 8];
        append_term(schedule, chunk, high, high, k, Action::fold, m, 13, 0, bound);
        append_term(schedule, chunk, low, high, k, k > chunk / 2 || !has_sign ? Action::fold : Action::carry_on, m, 1, 0, bound);
        append_term(schedule, chunk, high, low, k, Action::fold, m, 13, 0, bound);
        append_term(schedule, chunk, low, low, k, Action::store_residue, m, 1, u, bound);
        end_unit(schedule);
      }
      schedule.out_planes = units;
      break;
    case Kind::karatsuba:  // ((a0 b0) w0 + a1 b1) w1 + a2 b2, times w2
      planes = 3 * units;
      for (int u = 0; u < units; ++u) {
        const std::uint32_t m = fp4_moduli[u % 8];
        for (int t = 0; t < 3; ++t) {
          const int multiplier = random_int(2, std::max(2, static_cast<int>(m) - 1));
          append_term(schedule, chunk, 3 * u + t, 3 * u + 2 - t, k, t < 2 ? Action::fold : Action::store_residue, m, multiplier,
                      u, bound);
        }
        end_unit(schedule);
      }
      schedule.out_planes = units;
      break;
    case Kind::pairs:  // two units a modulus, a0 b0 + a1 b1 and a0 b1 + a1 b0, stored from the last plane to the first
      planes = 2 * units;
      schedule.units_per_modulus = 2;
      schedule.out_planes = 2 * units;
      for (int u = 0; u < 2 * units; ++u) {
        const int low = u / 2 * 2, high = low + 1, cross = u % 2;
        const std::uint32_t m = has_sign ? fp4_moduli[u / 2 % 8] : int8_moduli[u / 2 % 15];
        append_term(schedule, chunk, low, cross ? high : low, k, Action::fold, m, 1, 0, bound);
        append_term(schedule, chunk, high, cross ? low : high, k, Action::store_residue, m, 1, 2 * units - 1 - u, bound);
        end_unit(schedule);
      }
      break;
    case Kind::digits: {  // one unit: sum over i + j = g, base 13, ascending
      planes = units;
      const std::uint32_t group_bound =
          has_sign ? static_cast<std::uint32_t>(std::min<std::int64_t>(product * range * units + (1 << 22), 1 << 29)) : 0;
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
      end_unit(schedule);
      break;
    }
    case Kind::words:
      planes = 3;
      for (int u = 0; u < units; ++u) {
        for (int t = 0; t < 3; ++t) {
          // The start of FP32 accumulators is limited, that of integers wraps.
          const int multiplier = is_float && t < 2 ? 1 - 2 * random_int(0, 1) : 2 * random_int(-40, 40) + 1;
          schedule.steps.push_back(
              make_step(t, (t + u) % 3, 0, k, t < 2 ? Action::multiply : Action::store_int32, 0, multiplier, u));
        }
        end_unit(schedule);
      }
      schedule.out_planes = units;
      break;
  }
  return schedule;
}

struct Case {
  std::string name;
  Kind kind = Kind::residues;
  Kernel kernel = Kernel::mma_copy;
  Element element = Element::u8;
  int m = 1, n = 1, k = 1, units = 1;
  BatchMap batch;
  int a_batches = 1, b_batches = 1;
  int moduli_used = -1;  // -1: no pointer
  bool uses_device_steps = false;
  bool extremes = false;  // all limbs at the largest magnitude
  TileChoice choice;
};

int batch_count(const BatchMap& batch) {
  int count = 1;
  for (int d = 0; d < batch.rank; ++d) count *= batch.extent[d];
  return count;
}

// One byte an entry, also for what is packed later.
std::vector<std::uint8_t> random_planes(std::int64_t bytes, bool has_sign, bool extremes) {
  constexpr int alphabet[] = {0, 1, 2, 3, 4, 6, 8, 12, -1, -2, -3, -4, -6, -8, -12, 12};
  std::vector<std::uint8_t> planes(bytes);
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < bytes; ++i) {
    if (i % 8 == 0) bits = generator();
    const int byte = static_cast<int>(bits >> (8 * (i % 8))) & 255;
    planes[i] = static_cast<std::uint8_t>(extremes   ? (has_sign ? (byte < 250 ? 12 : -12) : 255)
                                          : has_sign ? alphabet[byte % 16]
                                                     : byte);
  }
  return planes;
}

// The codes of [rows][pitch] limbs in [rows][pitch / 2] bytes; zeros are 0 or, now and then, minus zero. The unused half
// of a row's last byte is a zero; bytes beyond stay noise.
std::vector<std::uint8_t> pack(const std::vector<std::uint8_t>& limbs, std::int64_t pitch, int k) {
  std::vector<std::uint8_t> packed(limbs.size() / 2);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(2 * i) % pitch;
    const int even = static_cast<std::int8_t>(limbs[2 * i]),
              odd = column + 1 == k ? 0 : static_cast<std::int8_t>(limbs[2 * i + 1]);
    packed[i] = static_cast<std::uint8_t>(e2m1_encode(even) | e2m1_encode(odd) << 4 | (even == 0 && i % 3 == 0 ? 0x08 : 0) |
                                          (odd == 0 && i % 5 == 0 ? 0x80 : 0));
  }
  return packed;
}

// Without a GPU, whether the kernels would take the problem.
bool run_case(const Case& test, cudaStream_t stream, bool has_gpu) {
  const Schedule schedule = make_schedule(test.kind, test.element, test.k, test.units);
  const int planes = schedule.planes;
  const bool words = test.kind == Kind::words;
  const int batches = batch_count(test.batch), entry = words ? 4 : 1;

  // Rows are longer than K and the bytes beyond K are noise: they must not count.
  const int packing = entries_per_byte(test.element);
  const bool has_sign = is_signed(test.element);
  const std::int64_t pitch = round_up(test.k, 16 * packing) + 16 * packing * random_int(0, 2);  // in entries
  GemmProblem problem;
  problem.m = test.m;
  problem.n = test.n;
  problem.k = test.k;
  problem.attach(schedule);
  problem.batch = test.batch;
  const auto describe = [&](PlaneArray& operand, int rows, int count) {
    operand.planes = planes;
    operand.batches = count;
    operand.pitch = pitch / packing;
    operand.batch_stride = rows * operand.pitch;
    operand.plane_stride = count * operand.batch_stride;
  };
  describe(problem.a, test.m, test.a_batches);
  describe(problem.b, test.n, test.b_batches);
  const std::int64_t a_bytes = planes * problem.a.plane_stride, b_bytes = planes * problem.b.plane_stride;

  problem.out_pitch = round_up(test.n, words ? 2 : 16) + (words ? 2 : 16) * random_int(0, 1);
  problem.out_matrix_stride = test.m * problem.out_pitch + (words ? 2 : 16) * random_int(0, 1);
  const std::int64_t matrices = std::int64_t(schedule.out_planes) * test.choice.splits * batches;
  const std::int64_t out_bytes = matrices * problem.out_matrix_stride * entry;

  alignas(128) static std::uint8_t place[128];  // of everything, until there is memory
  problem.a.data = problem.b.data = problem.out = place;
  problem.device_steps = test.uses_device_steps ? schedule.steps.data() : nullptr;
  if (const char* error = find_problem_error(problem, test.choice)) {
    std::printf("%s: refused: %s\n", test.name.c_str(), error);
    return false;
  }
  if (!has_gpu) return true;

  std::uint8_t *device_a, *device_b, *device_out;
  int* device_units = nullptr;
  GemmStep* device_steps = nullptr;
  REQUIRE(cudaMalloc(&device_a, a_bytes));
  REQUIRE(cudaMalloc(&device_b, b_bytes));
  REQUIRE(cudaMalloc(&device_out, out_bytes));
  const auto upload = [&](std::uint8_t* target, const std::vector<std::uint8_t>& entries, std::int64_t bytes) {
    const std::vector<std::uint8_t> packed = packing == 2 ? pack(entries, pitch, test.k) : entries;
    REQUIRE(cudaMemcpy(target, packed.data(), bytes, cudaMemcpyHostToDevice));
  };
  const std::vector<std::uint8_t> a = random_planes(a_bytes * packing, has_sign, test.extremes);
  const std::vector<std::uint8_t> b = random_planes(b_bytes * packing, has_sign, test.extremes);
  upload(device_a, a, a_bytes);
  upload(device_b, b, b_bytes);
  REQUIRE(cudaMemset(device_out, kPoison, out_bytes));
  if (test.moduli_used >= 0) {
    REQUIRE(cudaMalloc(&device_units, sizeof(int)));
    REQUIRE(cudaMemcpy(device_units, &test.moduli_used, sizeof(int), cudaMemcpyHostToDevice));
  }
  if (test.uses_device_steps) {
    const std::size_t bytes = schedule.steps.size() * sizeof(GemmStep);
    REQUIRE(cudaMalloc(&device_steps, bytes));
    REQUIRE(cudaMemcpy(device_steps, schedule.steps.data(), bytes, cudaMemcpyHostToDevice));
  }
  problem.a.data = device_a;
  problem.b.data = device_b;
  problem.out = device_out;
  problem.device_steps = device_steps;
  problem.moduli_used = device_units;

  std::vector<std::uint8_t> out(out_bytes);
  REQUIRE(cudaDeviceSynchronize());
  bool is_launched = true;
  try {
    launch_gemm(problem, test.choice, test.kernel, stream);
  } catch (const LaunchError& error) {
    is_launched = false;
    std::printf("%s: %s\n", test.name.c_str(), error.what());
  }
  require(cudaStreamSynchronize(stream), test.name.c_str());
  REQUIRE(cudaMemcpy(out.data(), device_out, out_bytes, cudaMemcpyDeviceToHost));
  for (void* memory : {static_cast<void*>(device_a), static_cast<void*>(device_b), static_cast<void*>(device_out),
                       static_cast<void*>(device_units), static_cast<void*>(device_steps)}) {
    REQUIRE(cudaFree(memory));
  }
  if (!is_launched) return false;

  // All entries when that is cheap, else a sample that includes the corners and the edges of tiles.
  const int units = test.moduli_used >= 0 ? std::min(test.moduli_used * schedule.units_per_modulus, schedule.unit_count())
                                          : schedule.unit_count();
  const double work = static_cast<double>(test.m) * test.n * test.k * schedule.steps.size() * batches;
  const double fraction = std::min(1.0, 1e7 / work);
  std::vector<std::int64_t> entries;
  for (std::int64_t e = 0; e < std::int64_t(test.m) * test.n; ++e) {
    const int i = static_cast<int>(e / test.n), j = static_cast<int>(e % test.n);
    const bool corner = (i == 0 || i == test.m - 1) && (j == 0 || j == test.n - 1);
    if (corner || fraction >= 1 || generator() % (1 << 20) < fraction * (1 << 20)) entries.push_back(e);
  }
  const int blocks_per_split =
      static_cast<int>(round_up(round_up(test.k, 128 * packing) / (128 * packing), test.choice.splits) / test.choice.splits);
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
          const auto row = [&](const std::vector<std::uint8_t>& of, const PlaneArray& operand, int plane, int at, int line) {
            return of.data() + (plane * operand.plane_stride + at * operand.batch_stride) * packing + line * pitch;
          };
          const int k_first = split * blocks_per_split * 128 * packing, k_last = k_first + blocks_per_split * 128 * packing;
          const auto sum_of = [&](const GemmStep& step) {
            const std::uint8_t* x = row(a, problem.a, step.a_plane, a_matrix, i);
            const std::uint8_t* y = row(b, problem.b, step.b_plane, b_matrix, j);
            std::int64_t sum = 0;
            for (int k = std::max(step.k_begin, k_first); k < std::min(step.k_end, k_last); ++k) {
              sum += has_sign ? static_cast<std::int8_t>(x[k]) * static_cast<std::int8_t>(y[k]) : x[k] * y[k];
            }
            return sum;
          };
          run_units(schedule.view(), units, sum_of, [&](int out_plane, std::int64_t expected) {
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
              std::printf("%s: plane %d matrix %d row %d column %d: %lld, expected %lld\n", test.name.c_str(), out_plane, matrix,
                          i, j, static_cast<long long>(found), static_cast<long long>(expected));
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
  constexpr const char* elements[] = {"u8", "s8", "e2m1"};
  char text[256];
  std::snprintf(text, sizeof text, "%s: %s %s %dx%dx%d units %d batches %d splits %d used %d tile %s band %d blocks %d%s%s",
                kernel_name(test.kernel), kind_name(test.kind), elements[static_cast<int>(test.element)], test.m, test.n, test.k,
                test.units, batch_count(test.batch), test.choice.splits, test.moduli_used, tile.name, test.choice.band,
                test.choice.max_blocks, test.uses_device_steps ? " steps" : "", test.extremes ? " extremes" : "");
  test.name = text;
}

// One of the sizes around a multiple of `tile`, or any.
int edge_size(int tile, int most) {
  const int kind = random_int(0, 5);
  if (kind == 0) return random_int(1, most);
  if (kind == 1) return random_int(1, 17);
  return std::max(1, std::min(most, tile * random_int(1, 3) + random_int(-1, 1)));
}

void add_batch(Case& test) {
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

// The arguments that the kernel takes on this GPU.
std::vector<Case> make_cases(Kernel kernel, const Gpu& gpu) {
  std::vector<Case> cases;
  const bool residues_only = stores_residues_only(kernel);
  const auto add = [&](Case test) {
    name_case(test);
    cases.push_back(test);
  };
  for (const Element element : {Element::u8, Element::s8, Element::e2m1}) {
    if (find_kernel_error(kernel, element, gpu) != nullptr) continue;
    for (const TileShape shape : kernel_tiles(kernel)) {
      Case base;
      base.kernel = kernel;
      base.element = element;
      base.choice.shape = shape;
      const TileGeometry& tile = tile_geometry(base.choice.shape);
      const int block = block_entries(element);
      for (const Kind kind : {Kind::residues, Kind::horner, Kind::karatsuba, Kind::pairs, Kind::digits, Kind::words}) {
        if (kind == Kind::digits && element == Element::u8) continue;
        if (residues_only && (kind == Kind::digits || kind == Kind::words)) continue;
        for (int repeat = 0; repeat < 7; ++repeat) {
          Case test = base;
          test.kind = kind;
          test.choice = random_choice(base.choice.shape);
          test.m = edge_size(tile.m, 400);
          test.n = edge_size(tile.n, 520);
          test.k = repeat < 2 ? random_int(1, 200) : edge_size(repeat % 2 == 0 ? block : block / 4, 1500);
          test.units = random_int(1, 4);
          if (repeat == 1 || repeat == 4) {
            test.m = std::min(test.m, 140);
            test.n = std::min(test.n, 270);
            add_batch(test);
          }
          if (repeat == 2 || repeat == 5) {
            test.choice.splits = random_int(1, 4);
            if (kind != Kind::digits) test.moduli_used = random_int(0, test.units + 1);
          }
          test.uses_device_steps = random_int(0, 3) == 0;
          add(test);
        }
      }
      add(base);          // the smallest
      Case exact = base;  // exact multiples of the tile
      exact.m = 512;
      exact.n = 512;
      exact.k = 1024;
      exact.units = 3;
      add(exact);
      // At the largest magnitudes: the most that one accumulator holds, and more.
      Case deep = base;
      deep.m = 70;
      deep.n = 65;
      deep.units = 2;
      deep.extremes = true;
      for (const int k :
           {random_int(1, 116480), element == Element::e2m1 ? 116224 : 33024, 116480, 116480 + random_int(1, 300)}) {
        deep.k = k;
        deep.kind = Kind::residues;
        add(deep);
      }
      deep.kind = Kind::horner;
      deep.k = 66000 + random_int(0, 300);
      deep.units = 1;
      deep.choice.splits = 3;
      add(deep);
    }
    // Many tiles, the choice that the cost model makes.
    Case large;
    large.kernel = kernel;
    large.element = element;
    large.kind = element == Element::u8 ? Kind::residues : Kind::horner;
    large.m = 1500;
    large.n = 1300;
    large.k = 2100;
    large.units = 8;
    GemmShape shape;
    shape.m = large.m;
    shape.n = large.n;
    shape.k = large.k;
    shape.units = large.units;
    shape.steps = element == Element::u8 ? large.units : 4 * large.units;
    large.choice = choose_tile(shape, kernel, element, gpu);
    add(large);
    large.choice.keep_together = true;
    add(large);
    Case extreme;
    extreme.kernel = kernel;
    extreme.choice.shape = kernel_tiles(kernel).front();
    extreme.element = element;
    extreme.m = 200;
    extreme.n = 300;
    extreme.k = 32768;
    extreme.units = 15;
    extreme.extremes = true;
    add(extreme);
    Case scheme_one;  // 169 products, 225 of bytes
    scheme_one.kernel = kernel;
    scheme_one.choice.shape = kernel_tiles(kernel).front();
    scheme_one.element = element;
    scheme_one.kind = Kind::digits;
    scheme_one.m = 260;
    scheme_one.n = 300;
    scheme_one.k = 500;
    scheme_one.units = element == Element::s8 ? 15 : 13;
    if (element != Element::u8 && !residues_only) add(scheme_one);
  }
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  const bool on_gpu = is_for_gpu(argc, argv);
  const char* filter = argc > 2 ? argv[2] : "";
  std::vector<Gpu> gpus;
  cudaStream_t stream = nullptr;
  if (on_gpu) {
    cudaDeviceProp properties;
    REQUIRE(cudaGetDeviceProperties(&properties, 0));
    gpus = {{10 * properties.major + properties.minor, properties.multiProcessorCount}};
    REQUIRE(cudaStreamCreate(&stream));
    std::printf("%s\n", properties.name);
  } else {
    for (const int* capability = held_capabilities(); *capability != 0; ++capability) gpus.push_back({*capability, 132});
  }
  for (const Gpu& gpu : gpus) {
    for (int i = 0; i < kKernelCount; ++i) {
      const auto kernel = static_cast<Kernel>(i);
      const std::int64_t before = passed_checks;
      for (const Case& test : make_cases(kernel, gpu)) {
        if (test.name.find(filter) != std::string::npos) report(test.name, run_case(test, stream, on_gpu));
        std::fflush(stdout);
      }
      if (passed_checks > before) {
        std::printf("%s on %d: %lld passed\n", kernel_name(kernel), gpu.capability,
                    static_cast<long long>(passed_checks - before));
      }
    }
  }
  return finish();
}
