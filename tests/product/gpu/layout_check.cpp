// Products on a GPU before anything is launched: each is laid out so that the stages take it, whatever
// addresses, strides and factors are.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "cuda/multiply/registry.hpp"
#include "cuda/multiply/schedule.hpp"
#include "plan/choice.hpp"
#include "plan/workspace_error.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/numbering.hpp"
#include "product/gpu/problem.hpp"
#include "product/gpu/products.hpp"
#include "product/gpu/settings.hpp"
#include "product/gpu/sum.hpp"

using namespace ozfp4;
using namespace ozfp4::product;

namespace {

std::shared_ptr<DeviceProblem> laid_out(const Product& product, const Options& options, const cuda::Gpu& gpu) {
  PlanRequest request;
  request.alphabet = Alphabet::int8;
  request.bits =
      options.accuracy == Accuracy::scaled ? product.type.precision() : accuracy_bits(options.accuracy, product.type.precision());
  request.k = inner_of(product);
  const bool may_be_direct = options.accuracy != Accuracy::correct;
  return lay_out(product, options, find_plan(request, is_paired(product)), cuda::Kernel::mma_copy, gpu,
                 may_be_direct ? cuda::WithoutPlanes::where_it_pays : cuda::WithoutPlanes::never);
}

DeviceSum laid_out_sum(const Product& product, const Options& options, const cuda::Gpu& gpu) {
  return lay_out_sum(product, options, [&](const Product& own, const Options& asked) { return laid_out(own, asked, gpu); });
}

// One that this build holds code for.
cuda::Gpu random_gpu() {
  const int* first = cuda::held_capabilities();
  int count = 0;
  while (first[count] != 0) ++count;
  return {first[random_int(0, count - 1)], random_int(20, 150), 100 * 1024};
}

// As it is launched.
Product as_launched(const Product& product) { return merged(product, kLongestExtent / (product.type.is_complex ? 2 : 1)); }

void check_places(const Product& own, const DeviceProblem& problem) {
  const DevicePlaces& places = problem.places;
  const Copies& copies = problem.copies;
  bool are_in_turn = true;
  std::int64_t before = 0;
  for (const Copy* copy : {&copies.left, &copies.right, &copies.addend, &copies.result, &copies.second}) {
    are_in_turn = are_in_turn && before <= copy->place;
    before = copy->place + copy->bytes;
  }
  report("the places " + text_of(own),
         are_in_turn && before <= places.stages && places.stages % 256 == 0 && places.stages < places.bytes);
  const bool needs_addend = own.beta.imag() != 0;
  report("copies " + text_of(own),
         (copies.right.exists() || !is_paired(own) || !own.reads()) && (!copies.left.exists() || own.type_a.is_complex) &&
             (!copies.right.exists() || own.type_b.is_complex) && (copies.addend.exists() || !needs_addend) &&
             (!copies.result.exists() || own.type.is_complex));
}

// A B is kept where a factor has both parts, what it lost where that counts, and its bounds.
void check_sum(const Product& own, Accuracy accuracy, const DeviceSum& sum) {
  const bool is_kept = has_both_parts(own), has_rest = is_kept && own.alpha != 0.0 && accuracy == Accuracy::correct;
  const std::int64_t entries = own.m * own.n * own.count(), held = entries * own.type.bytes();
  const SumPlaces& places = sum.places;
  report("the sum " + text_of(own), (sum.product == nullptr) == (is_kept && own.alpha == 0.0) &&
                                        (sum.rest != nullptr) == has_rest && places.stages % 256 == 0 && places.rest % 256 == 0);
  if (!is_kept || !sum.product) return;
  report("what is kept " + text_of(own),
         places.product == 0 && places.rest >= held && places.lost >= places.rest + (has_rest ? held : 0) &&
             places.stages >= places.lost + (own.bound.exists() ? entries * 16 : 0) &&
             places.bytes >= places.stages + sum.product->places.bytes && sum.product->plan->promise.updates == false &&
             !sum.product->copies.result.exists() && !sum.product->copies.second.exists());
}

void check_one(const EntryType& type) {
  Options options;
  const Accuracy accuracies[] = {Accuracy::scaled, Accuracy::standard, Accuracy::correct};
  const Beside besides[] = {Beside::nothing, Beside::nothing, Beside::bound, Beside::upper};
  const Beside beside = besides[random_int(0, 3)];
  options.accuracy = beside == Beside::upper ? Accuracy::correct : accuracies[random_int(0, 2)];
  const Product own = as_launched(random_product(type, true, false, beside));
  try {
    const DeviceSum sum = laid_out_sum(own, options, random_gpu());
    check_sum(own, options.accuracy, sum);
    if (sum.product && !has_both_parts(own)) check_places(own, *sum.product);
  } catch (const std::exception& error) {
    report(text_of(own), false, error.what());
  }
}

// Every matrix of a stack has a number, and lines of neighbours lead to all of them.
void check_numbers() {
  const Product own = random_product(kZ);
  for (const auto& [name, step] : {std::make_pair("a", &Axis::a), {"b", &Axis::b}, {"c", &Axis::c}}) {
    const Numbering numbers(own.axes, step);
    std::int64_t count = 1;
    for (const Axis& axis : own.axes) count *= axis.*step == 0 ? 1 : axis.extent;
    std::set<std::int64_t> found;
    numbers.for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
      for (std::int64_t i = 0; i < along.extent; ++i) {
        found.insert(first + i);
        std::int64_t rest = first + i, bytes = 0;  // by the coordinates that lead to the number
        std::vector<std::size_t> order(own.axes.size());
        for (std::size_t axis = 0; axis < order.size(); ++axis) order[axis] = axis;
        std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return numbers.step(x) > numbers.step(y); });
        for (const std::size_t axis : order) {
          if (numbers.step(axis) == 0) continue;
          bytes += rest / numbers.step(axis) * own.axes[axis].*step;
          rest %= numbers.step(axis);
        }
        report("where a matrix lies", rest == 0 && bytes == offset.*step + i * along.*step, name);
      }
    });
    report("numbers of a stack",
           numbers.count() == count && std::int64_t(found.size()) == count && *found.begin() == 0 && *found.rbegin() == count - 1,
           name);
  }
}

// An operand that lies as it is multiplied is not copied.
void check_copies() {
  const cuda::Gpu gpu = random_gpu();
  constexpr std::int64_t n = 64, entry = 16;
  Product p{};
  p.type = p.type_a = p.type_b = kZ;
  p.m = p.n = p.k = n;
  p.a = p.b = {nowhere(entry), n, n, n * entry, entry, false};
  p.c = {nowhere(entry), n * entry, entry};
  for (const bool is_transposed : {false, true}) {
    for (const bool is_conjugated : {false, true}) {
      if (is_transposed) p.a = transposed(p.b);
      p.a.is_conjugated = is_conjugated;
      p.alpha = 1.0;
      report("a copy of A", laid_out(p, {}, gpu)->copies.left.exists() == (is_transposed || is_conjugated));
      p.alpha = {0.0, 1.0};
      report("a copy of i A", laid_out(p, {}, gpu)->copies.left.exists());
    }
  }
  p.alpha = 1.0;
  p.a = transposed(p.b);
  for (const bool is_apart : {false, true}) {
    p.c.column_stride = is_apart ? 2 * entry : entry;
    p.type_b = kD;
    const auto matrices = laid_out(p, {}, gpu);
    report("parts as matrices",
           !matrices->copies.left.exists() && !matrices->copies.right.exists() && !matrices->copies.result.exists());
    p.type_a = kD, p.type_b = kZ;
    const auto columns = laid_out(p, {}, gpu);
    report("parts as columns", !columns->copies.left.exists() && columns->copies.right.exists() == p.b.is_conjugated &&
                                   columns->copies.result.exists() == is_apart);
    p.type_a = kZ;
  }
  p.c.column_stride = entry;
  Options options;
  options.has_limit = true;
  options.workspace_limit = 1000;
  try {
    laid_out(p, options, gpu);
    report("a limit below the copies", false);
  } catch (const std::exception& error) {
    report("a limit below the copies", std::string(error.what()).find("workspace_limit") != std::string::npos, error.what());
  }
  p.alpha = {1.0, 1.0};
  options.workspace_limit = n * n * entry;
  try {
    laid_out_sum(p, options, gpu);
    report("a limit below A B", false);
  } catch (const WorkspaceError& error) {
    report("a limit below A B", error.limit() == options.workspace_limit && error.least() > error.limit(), error.what());
  }
}

// Without a limit a product takes no more than 8 GiB and a quarter of the device's memory; where the smallest blocks need more,
// it is made all the same.
void check_usual_workspace() {
  struct Shape {
    std::int64_t m, n, k, matrices;
  };
  constexpr Shape shapes[] = {{100, 100, 100, 1},       {8192, 8192, 8192, 1},    {16384, 16384, 16384, 1},
                              {24576, 24576, 24576, 1}, {32768, 32768, 32768, 1}, {400000, 512, 4096, 1},
                              {512, 400000, 4096, 1},   {2000, 3000, 400000, 1},  {1500, 1500, 1500, 300}};
  constexpr std::int64_t memories[] = {143'771'000'000, 34'190'000'000, 25'757'000'000, 12'884'000'000, 8'000'000'000};
  auto* const at = reinterpret_cast<char*>(std::uintptr_t(4096));
  const cuda::Gpu gpu{cuda::held_capabilities()[0], 132, 100 * 1024};
  const auto find = [&](const Product& own, const Options& asked) { return laid_out(own, asked, gpu); };
  for (const auto& [m, n, k, matrices] : shapes) {
    for (const EntryType& type : kTypes) {
      const std::int64_t entry = type.bytes();
      Product p{};
      p.type = p.type_a = p.type_b = type;
      p.m = m, p.n = n, p.k = k;
      p.a = {at, m, k, k * entry, entry, false};
      p.b = {at, k, n, n * entry, entry, false};
      p.c = {at, n * entry, entry};
      if (matrices > 1) p.axes = {{matrices, m * k * entry, k * n * entry, m * n * entry, 0, 0, 0}};
      for (const Accuracy accuracy : {Accuracy::scaled, Accuracy::standard, Accuracy::correct}) {
        Options options;
        options.accuracy = accuracy;
        for (const std::int64_t memory : memories) {
          if (matrices * (m * k + k * n + m * n) * entry > memory) continue;  // such matrices are not there
          options.workspace_limit = usual_workspace_of(memory);
          const DeviceBlocks blocks = lay_out_blocks(p, options, find);
          report("the usual workspace " + text_of(p),
                 blocks.bytes <= std::min(std::int64_t(8) << 30, memory / 4) && blocks.blocks.back().at.row < m,
                 std::to_string(blocks.bytes) + " of " + std::to_string(memory));
          if (m != 16384 || type.is_complex || memory < 20'000'000'000 || accuracy == Accuracy::correct) continue;
          const cuda::CudaLayout& layout = blocks.blocks.front().sum.product->layout;
          report("every line is encoded once", layout.pieces.empty() && (layout.rows == m || layout.columns == n));
        }
        if (m > 100) continue;
        options.workspace_limit = 1000;
        report("the smallest blocks", lay_out_blocks(p, options, find).bytes > 1000);
      }
    }
  }
}

// Blocks of a stack are of all its matrices. Without a limit they do not become narrow ones.
void check_stacks_without_limit() {
  auto* const at = reinterpret_cast<char*>(std::uintptr_t(4096));
  const cuda::Gpu gpu{cuda::held_capabilities()[0], 132, 100 * 1024};
  for (const std::int64_t n : {64, 256}) {
    Product p{};
    p.type = p.type_a = p.type_b = kZ;
    p.m = p.n = p.k = n;
    p.a = p.b = {at, n, n, 16 * n, 16, false};
    p.c = {at, 16 * n, 16};
    p.axes = {{(std::int64_t(1) << 28) / (n * n), 16 * n * n, 16 * n * n, 16 * n * n, 0, 0, 0}};
    Options options;
    options.workspace_limit = usual_workspace_of(143'771'000'000);
    const auto find = [&](const Product& own, const Options& asked) { return laid_out(own, asked, gpu); };
    report("blocks of a stack", lay_out_blocks(p, options, find).blocks.size() == 1, text_of(p));
  }
}

// Products of one key are laid out alike, wherever their operands lie; and complex ones that are copied have one.
void check_keys(const EntryType& type) {
  const cuda::Gpu gpu = random_gpu();
  int alike = 0;
  for (int i = 0; i < 20; ++i) {
    const Product given = random_product(type, false, true), own = as_launched(given);
    const Key key = key_of(own, {}, 0);
    const auto laid = laid_out(own, {}, gpu);
    for (int j = 0; j < 10; ++j) {
      Product other = given;
      if (j % 2 != 0) place_anywhere(other);
      for (Operand* x : {&other.a, &other.b}) x->data = nowhere(type.bytes());
      other.c = given.c, other.addend = given.addend, other.addend_part = given.addend_part;
      for (std::size_t axis = 0; axis < given.axes.size(); ++axis) {
        other.axes[axis].c = given.axes[axis].c, other.axes[axis].addend = given.axes[axis].addend;
      }
      const Product product = as_launched(other);
      if (key_of(product, {}, 0) != key) continue;
      const auto found = laid_out(product, {}, gpu);
      ++alike;
      report("one key " + text_of(other),
             found->plan == laid->plan && found->places.bytes == laid->places.bytes &&
                 found->copies.left.place == laid->copies.left.place && found->copies.right.place == laid->copies.right.place &&
                 found->copies.addend.place == laid->copies.addend.place && found->places.stages == laid->places.stages &&
                 found->layout.bytes == laid->layout.bytes && found->layout.turns.count == laid->layout.turns.count &&
                 found->layout.is_without_planes() == laid->layout.is_without_planes() &&
                 found->copies.left.exists() == laid->copies.left.exists() &&
                 found->copies.right.exists() == laid->copies.right.exists() &&
                 found->copies.addend.exists() == laid->copies.addend.exists() && found->reads == laid->reads);
    }
  }
  report("keys alike", alike > 0, std::to_string(alike));
}

// One of each kind, made once.
void check_plans() {
  PlanRequest request;
  request.alphabet = Alphabet::int8;
  request.bits = accuracy_bits(Accuracy::correct, 53);
  request.k = 4096;
  const std::shared_ptr<const Plan> plan = find_plan(request, false);
  std::set<const cuda::CudaPlan*> found;
  const auto ask = [&](const std::shared_ptr<const Plan>& of, std::int64_t k, cuda::Kernel kernel, const cuda::Promise& promise) {
    const auto made = find_cuda_plan(of, k, kernel, promise);
    const cuda::Promise& own = made->promise;
    const int bits = promise.accuracy == Accuracy::standard ? accuracy_bits(promise.accuracy, promise.precision) : of->bits;
    report("its own plan", made->k == k && made->kernel == kernel && made->bits == bits && own.accuracy == promise.accuracy &&
                               own.rounding == promise.rounding && own.second == promise.second &&
                               own.precision == promise.precision && own.updates == promise.updates &&
                               own.has_integers == promise.has_integers && own.modulus == promise.modulus);
    report("the same again", find_cuda_plan(of, k, kernel, promise) == made);
    report("no other's", found.insert(made.get()).second);
  };
  cuda::Promise fp64, rounded, updated, single, bounded, whole, modulo;
  fp64.accuracy = updated.accuracy = single.accuracy = bounded.accuracy = Accuracy::standard;
  rounded.accuracy = Accuracy::correct;
  updated.updates = whole.has_integers = modulo.has_integers = true;
  single.precision = 24, modulo.modulus = 97;
  bounded.second = cuda::Second::bound;
  for (const std::int64_t k : {64, 4096}) {
    for (const cuda::Promise& promise : {cuda::Promise{}, fp64, rounded, updated, single, bounded, whole, modulo}) {
      ask(plan, k, cuda::Kernel::mma_copy, promise);
    }
    rounded.rounding = k == 64 ? Rounding::up : Rounding::down;
    ask(plan, k, cuda::Kernel::mma_copy, rounded);
    ask(plan, k, cuda::Kernel::hopper, fp64);
    rounded.rounding = Rounding::nearest;
  }
  request.bits = 120;
  ask(find_plan(request, false), 64, cuda::Kernel::mma_copy, {});
}

}  // namespace

int main() {
  for (int i = 0; i < 300; ++i) {
    for (const EntryType& type : kTypes) check_one(type);
  }
  for (const EntryType& type : kTypes) check_keys(type);
  for (int i = 0; i < 100; ++i) check_numbers();
  check_plans();
  check_copies();
  check_usual_workspace();
  check_stacks_without_limit();
  return finish();
}
