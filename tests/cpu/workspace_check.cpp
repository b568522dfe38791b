// A product takes no more workspace than it reports, nor than its limit: aligned memory is what buffers are made of, and here it
// is counted.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "cpu/integers/matmul.hpp"
#include "cpu/matmul.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/threads.hpp"

namespace {

std::int64_t live = 0, peak = 0;

}  // namespace

// The size precedes the block by one alignment.
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  auto* memory = static_cast<char*>(std::aligned_alloc(step, (bytes + 2 * step - 1) / step * step));
  if (memory == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(memory) = bytes;
  live += static_cast<std::int64_t>(bytes);
  peak = std::max(peak, live);
  return memory + step;
}
void operator delete(void* block, std::align_val_t alignment) noexcept {
  if (block == nullptr) return;
  char* memory = static_cast<char*>(block) - static_cast<std::size_t>(alignment);
  live -= static_cast<std::int64_t>(*reinterpret_cast<std::size_t*>(memory));
  std::free(memory);
}

namespace {

using namespace ozfp4;

// Bytes that `product` takes at most, with nothing kept from an earlier one.
template <class Product>
std::int64_t measured(Product product) {
  release_kept_buffers();
  peak = live;
  const std::int64_t before = live;
  product();
  return peak - before;
}

template <class T>
OperandView view_of(const std::vector<T>& x, ElementType type, std::int64_t outer, std::int64_t inner) {
  return {reinterpret_cast<const char*>(x.data()), type, outer, inner, inner * static_cast<std::ptrdiff_t>(sizeof(T)),
          static_cast<std::ptrdiff_t>(sizeof(T))};
}

struct Shape {
  std::int64_t m, n, k;
};

void check_plan(const PlanRequest& request, const Shape& shape, std::int64_t limit) {
  const Plan plan = make_plan(request);
  std::vector<double> a(static_cast<std::size_t>(shape.m * shape.k)), b(static_cast<std::size_t>(shape.n * shape.k));
  std::vector<double> c(static_cast<std::size_t>(shape.m * shape.n));
  for (auto* x : {&a, &b}) {
    for (double& entry : *x) entry = static_cast<double>(random_int(-1000, 1000));
  }
  const ResultView result{reinterpret_cast<char*>(c.data()), ElementType::float64, shape.m, shape.n, shape.n * 8, 8};
  MatmulOutcome outcome;
  const std::int64_t bytes = measured([&] {
    outcome = cpu_matmul(plan, view_of(a, ElementType::float64, shape.m, shape.k),
                         view_of(b, ElementType::float64, shape.n, shape.k), {Target{result}}, {limit, {}, {}});
  });
  // A prefix of the moduli takes less; a product in one block takes the stated size, empty buffers aside, which have one byte.
  const bool whole = outcome.by_planes.products == plan.products();
  const bool holds = bytes <= outcome.workspace + 1 && outcome.workspace <= limit && (!whole || bytes >= outcome.workspace);
  report("workspace", holds,
         "scheme " + std::to_string(static_cast<int>(request.scheme)) + " alphabet " + request.alphabet.name + " " +
             request.family + ": measured " + std::to_string(bytes) + ", reported " + std::to_string(outcome.workspace) +
             ", limit " + std::to_string(limit));
}

// In words and by limbs, where every entry needs its magnitude, and has a certificate by it; by planes where there is no room.
void check_words(Way way, const Shape& shape, std::int64_t limit) {
  constexpr std::int64_t of_thread = 1 << 17;  // scratch that a thread takes for itself, whatever the limit
  const Plan plan = make_plan({Scheme::two, Alphabet::fp64, "least", accuracy_bits(Accuracy::standard, 53), shape.k});
  std::vector<double> a(static_cast<std::size_t>(shape.m * shape.k)), b(static_cast<std::size_t>(shape.n * shape.k));
  std::vector<double> c(static_cast<std::size_t>(shape.m * shape.n));
  for (auto* x : {&a, &b}) {
    std::int64_t i = 0;
    for (double& entry : *x) entry = i++ % shape.k == 0 ? 0x1p50 : 0.1 + static_cast<double>(random_int(0, 1000));
  }
  const ResultView result{reinterpret_cast<char*>(c.data()), ElementType::float64, shape.m, shape.n, shape.n * 8, 8};
  MatmulOptions options;
  options.workspace_limit = limit, options.promise.accuracy = Accuracy::standard, options.way = way;
  MatmulOutcome outcome;
  const std::int64_t bytes = measured([&] {
    outcome = cpu_matmul(plan, view_of(a, ElementType::float64, shape.m, shape.k),
                         view_of(b, ElementType::float64, shape.n, shape.k), {Target{result}}, options);
  });
  const bool are_by_magnitude = outcome.entries.magnitude == shape.m * shape.n;
  report("workspace in words", are_by_magnitude && bytes <= outcome.workspace + of_thread && outcome.workspace <= limit,
         "way " + std::to_string(static_cast<int>(way)) + ": measured " + std::to_string(bytes) + ", reported " +
             std::to_string(outcome.workspace) + ", limit " + std::to_string(limit) +
             (outcome.is_without_planes() ? "" : ", by planes"));
}

void check_int8(int products, const Shape& shape, std::int64_t limit) {
  const Plan plan = make_int8_matmul_plan(products);
  std::vector<std::int8_t> a(static_cast<std::size_t>(shape.m * shape.k), 3), b(static_cast<std::size_t>(shape.n * shape.k), -5);
  std::vector<std::int32_t> c(static_cast<std::size_t>(shape.m * shape.n));
  const std::int64_t bytes = measured([&] {
    const ResultView result{reinterpret_cast<char*>(c.data()), ElementType::int32, shape.m, shape.n, 4 * shape.n, 4};
    cpu_integer_matmul(plan, view_of(a, ElementType::int8, shape.m, shape.k), view_of(b, ElementType::int8, shape.n, shape.k),
                       {result}, limit, {});
  });
  report("int8 workspace", bytes <= limit,
         std::to_string(products) + " products: measured " + std::to_string(bytes) + ", limit " + std::to_string(limit));
}

}  // namespace

int main() {
  parallel_for(2, 1, [](std::int64_t, std::int64_t) {});  // threads outlast a product and are no part of its workspace
  const Shape shapes[] = {{70, 50, 300}, {5, 90, 1100}, {130, 3, 40}};
  for (const Shape& shape : shapes) {
    for (const std::int64_t limit : {std::int64_t(20000), std::int64_t(300000), std::int64_t(1) << 30}) {
      for (const Scheme scheme : {Scheme::one, Scheme::two}) {
        for (const Alphabet* alphabet : alphabets()) {
          check_plan({scheme, *alphabet, "least", 53, shape.k}, shape, limit);
        }
      }
      for (const char* family : {"paper", "paper-karatsuba"}) {
        check_plan({Scheme::two, Alphabet::fp4, family, 53, shape.k}, shape, limit);
      }
      for (const int products : {6, 9}) check_int8(products, shape, limit);
    }
  }
  set_thread_count(1);
  const Shape shape{500, 600, 40};
  for (const Way way : {Way::words, Way::limbs}) {
    for (const std::int64_t limit : {11'400'000, 18 << 20, 1 << 30}) check_words(way, shape, limit);
  }
  return finish();
}
