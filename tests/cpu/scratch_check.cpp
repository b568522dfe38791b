// Multiply stays within its scratch: where the number of threads changes after the query, and at the ends of blocks.
#include <algorithm>
#include <string>
#include <vector>

#include "check.hpp"
#include "cpu/bytes/packed.hpp"
#include "cpu/multiply/multiply.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/threads.hpp"

namespace {

using namespace ozfp4;

// The thread sanitizer looks at every byte that the portable kernel reads.
#if defined(__SANITIZE_THREAD__)
constexpr std::int64_t kInners = 40;
#else
constexpr std::int64_t kInners = 1000;
#endif

std::vector<std::int8_t> random_entries(std::int64_t n) {
  std::vector<std::int8_t> entries(static_cast<std::size_t>(n));
  for (auto& x : entries) x = static_cast<std::int8_t>(random_int(-100, 100));
  return entries;
}

Buffer packed(const PackedShape& shape, std::int64_t planes) {
  Buffer made = allocate_buffer(planes * shape.plane_bytes());
  pack_planes(shape, planes, random_entries(planes * shape.outers * shape.inners).data(), shape.inners, made.get());
  return made;
}

// Scratch for `asked` threads, and a product by `taken`.
void check_threads(const MultiplyShape& shape, int asked, int taken) {
  PlanRequest request;
  request.scheme = Scheme::two;
  request.alphabet = Alphabet::int8;
  request.k = shape.inners;
  const Plan plan = make_plan(request);
  const Buffer a = packed({Side::left, shape.rows, shape.inners}, plan.planes_a);
  const Buffer b = packed({Side::right, shape.columns, shape.inners}, plan.planes_b);
  const std::size_t entries = plan.groups.size() * static_cast<std::size_t>(shape.rows * shape.columns);
  std::vector<std::uint8_t> expected(entries), found(entries, kPoison);
  const ByteKernel& kernel = *byte_kernels().front();
  const auto multiply = [&](std::vector<std::uint8_t>& out, const MultiplyScratch& scratch) {
    cpu_multiply(plan, &kernel, plan.count(), shape, a.get(), b.get(), false, out.data(), scratch);
  };

  set_thread_count(asked);
  const std::int64_t bytes = multiply_scratch(plan, &kernel, shape);
  constexpr std::int64_t beyond = 64 << 20;
  std::vector<char> memory(static_cast<std::size_t>(bytes + beyond), static_cast<char>(kPoison));
  const MultiplyScratch scratch{memory.data(), bytes};
  multiply(expected, scratch);
  set_thread_count(taken);
  for (int i = 0; i < 5; ++i) multiply(found, scratch);  // helpers may come late
  const bool is_within =
      std::all_of(memory.begin() + bytes, memory.end(), [](char x) { return x == static_cast<char>(kPoison); });
  const std::string name = std::to_string(asked) + " threads, then " + std::to_string(taken);
  report("stays within its scratch", is_within, name);
  report("the same residues", found == expected, name);
  // The least there may be.
  alignas(64) std::int32_t one_tile[kPanelLines * sums_pitch(kPanelLines)];
  std::fill(found.begin(), found.end(), kPoison);
  multiply(found, {one_tile, sizeof one_tile});
  report("in one tile", found == expected, name);
}

// The same of planes in floating point: the residues are those of one thread.
void check_floats(const MultiplyShape& shape, int asked, int taken) {
  PlanRequest request;
  request.scheme = Scheme::two;
  request.alphabet = Alphabet::fp64;
  request.k = shape.inners;
  const Plan plan = make_plan(request);
  const auto plane_of = [&](std::int64_t lines) {
    std::vector<double> entries(static_cast<std::size_t>(plan.planes_a * lines * shape.inners));
    for (double& x : entries) x = static_cast<double>(random_int(-1000, 1000));
    return entries;
  };
  const std::vector<double> a = plane_of(shape.rows), b = plane_of(shape.columns);
  const std::size_t entries = plan.groups.size() * static_cast<std::size_t>(shape.rows * shape.columns);
  std::vector<std::int32_t> expected(entries), found(entries, -1);
  const auto multiply = [&](std::vector<std::int32_t>& out, void* scratch, std::int64_t bytes) {
    cpu_multiply(plan, nullptr, plan.count(), shape, a.data(), b.data(), false, out.data(), {scratch, bytes});
  };
  set_thread_count(1);
  const std::int64_t least = multiply_scratch(plan, nullptr, shape);
  multiply(expected, allocate_buffer(least).get(), least);
  set_thread_count(asked);
  const std::int64_t bytes = multiply_scratch(plan, nullptr, shape);
  constexpr std::int64_t beyond = 8 << 20;
  const Buffer memory = allocate_buffer(bytes + beyond);
  std::fill_n(memory.get() + bytes, beyond, static_cast<char>(kPoison));
  set_thread_count(taken);
  for (int i = 0; i < 5; ++i) multiply(found, memory.get(), bytes);
  const bool is_within =
      std::all_of(memory.get() + bytes, memory.get() + bytes + beyond, [](char x) { return x == static_cast<char>(kPoison); });
  const std::string name = "FP64, " + std::to_string(asked) + " threads, then " + std::to_string(taken);
  report("stays within its scratch", is_within, name);
  report("the same residues", found == expected, name);
}

// With the bytes that multiply_scratch gives one thread, tiles are as large as with any number of bytes. One thread reports
// after each of them.
void check_tiles(const Alphabet& alphabet, const ByteKernel* kernel, const MultiplyShape& shape) {
  PlanRequest request;
  request.alphabet = alphabet;
  request.k = shape.inners;
  const Plan plan = make_plan(request);
  set_thread_count(1);
  const std::int64_t bytes = multiply_scratch(plan, kernel, shape);
  const std::int64_t entries = (shape.rows + 32) * (shape.inners + 64) * 8 + (shape.columns + 32) * (shape.inners + 64) * 8;
  const Buffer planes = allocate_buffer(plan.planes_a * entries), memory = allocate_buffer(8 * bytes);
  std::fill_n(planes.get(), plan.planes_a * entries, '\0');
  std::vector<std::int32_t> output(plan.groups.size() * static_cast<std::size_t>(shape.rows * shape.columns));
  const auto count_tiles = [&](std::int64_t room) {
    int tiles = 0;
    cpu_multiply(plan, kernel, plan.count(), shape, planes.get(), planes.get(), false, output.data(), {memory.get(), room},
                 [&](double) { ++tiles; });
    return tiles;
  };
  const int tiles = count_tiles(bytes), widest = count_tiles(8 * bytes);
  report("its scratch serves the largest tiles", tiles == widest,
         std::string(alphabet.name) + ": " + std::to_string(tiles) + " for " + std::to_string(widest));
}

// The rests of a matrix at the end of its blocks find room where blocks do.
void check_rests(const Alphabet& alphabet, const ByteKernel* kernel) {
  PlanRequest request;
  request.alphabet = alphabet;
  request.k = 40;
  const Plan plan = make_plan(request);
  set_thread_count(3);
  const std::int64_t bytes = multiply_scratch(plan, kernel, {270, 300, 40});
  constexpr std::int64_t beyond = 8 << 20, plane_bytes = 320 * 64 * 8;
  const Buffer planes = allocate_buffer(plan.planes_a * plane_bytes), memory = allocate_buffer(bytes + beyond);
  std::fill_n(planes.get(), plan.planes_a * plane_bytes, '\0');
  std::fill_n(memory.get() + bytes, beyond, static_cast<char>(kPoison));
  std::vector<std::int32_t> output(plan.groups.size() * 270 * 300);
  for (const std::int64_t rows : {1, 17, 129, 269}) {
    for (const std::int64_t columns : {1, 40, 257, 299}) {
      for (const std::int64_t inners : {1, 40}) {
        cpu_multiply(plan, kernel, plan.count(), {rows, columns, inners}, planes.get(), planes.get(), false, output.data(),
                     {memory.get(), bytes});
      }
    }
  }
  report("rests stay within the scratch of blocks",
         std::all_of(memory.get() + bytes, memory.get() + bytes + beyond, [](char x) { return x == static_cast<char>(kPoison); }),
         alphabet.name);
}

}  // namespace

int main() {
  check_tiles(Alphabet::fp64, nullptr, {1100, 300, 8});
  check_tiles(Alphabet::int8, nullptr, {600, 600, 8});
  check_tiles(Alphabet::int8, byte_kernels().front(), {270, 300, 40});
  check_rests(Alphabet::fp64, nullptr);
  check_rests(Alphabet::int8, nullptr);
  check_rests(Alphabet::int8, byte_kernels().front());
  check_threads({300, 290, kInners}, 1, 64);
  check_threads({300, 290, kInners}, 64, 1);
  check_threads({300, 290, kInners}, 3, 1000);
  check_threads({20, 700, 130}, 1, 7);
  check_threads({1, 1, 70}, 1, 2);
  check_floats({300, 290, kInners}, 1, 64);
  check_floats({300, 290, kInners}, 64, 1);
  check_floats({20, 700, 130}, 3, 7);
  return finish();
}
