// What ozfp4_cuda_?gemm makes of its arguments before anything is launched: every product is laid out so that the stages take it,
// in a workspace that is as large as the query says, whatever pointers, leading dimensions, strides and factors are.
#include <algorithm>
#include <set>
#include <string>

#include "c_api/checked/status.hpp"
#include "c_api/cuda/call.hpp"
#include "c_api/cuda/entry.hpp"
#include "check.hpp"
#include "cuda/multiply/registry.hpp"
#include "plan/choice.hpp"
#include "plan/workspace_error.hpp"
#include "product/gpu/plans.hpp"
#include "product/gpu/problem.hpp"
#include "product/gpu/sum.hpp"

using namespace ozfp4;
using namespace ozfp4::c_api;

namespace {

constexpr EntryType kTypes[] = {
    {ElementType::float64, false}, {ElementType::float32, false}, {ElementType::float64, true}, {ElementType::float32, true}};

std::string text_of(const GemmCall& call) {
  return std::to_string(call.type.bytes()) + (call.type.is_complex ? " complex " : " real ") + std::to_string(call.order) + " " +
         std::to_string(call.transa) + " " + std::to_string(call.transb) + " " + std::to_string(call.m) + " x " +
         std::to_string(call.n) + " x " + std::to_string(call.k) + " ld " + std::to_string(call.a.leading) + " " +
         std::to_string(call.b.leading) + " batch " + std::to_string(call.batch) + " strides " + std::to_string(call.a.stride) +
         " " + std::to_string(call.b.stride) + " " + std::to_string(call.stride_c);
}

std::shared_ptr<DeviceProblem> laid_out(const BatchedProduct& product, const Options& options, const cuda::Gpu& gpu) {
  PlanRequest request;
  request.alphabet = Alphabet::int8;
  request.bits =
      options.accuracy == Accuracy::scaled ? product.type.precision() : accuracy_bits(options.accuracy, product.type.precision());
  request.k = inner_of(product);
  const bool is_complex = product.type.is_complex, may_be_direct = !is_complex && product.type.part == ElementType::float64;
  return lay_out(product, options, find_plan(request, is_complex), cuda::Kernel::mma_copy, gpu,
                 may_be_direct ? cuda::Direct::where_it_pays : cuda::Direct::never);
}

std::shared_ptr<DeviceProblem> laid_out(const GemmCall& call, const CallOptions& options, const cuda::Gpu& gpu) {
  return laid_out(check_device_gemm(call, options), options, gpu);
}

DeviceSum laid_out_sum(const BatchedProduct& product, const CallOptions& options, const cuda::Gpu& gpu) {
  return lay_out_sum(product, options,
                     [&](const BatchedProduct& own, const Options& asked) { return laid_out(own, asked, gpu); });
}

std::int64_t least_leading(int order, int transpose, std::int64_t rows, std::int64_t columns) {
  return std::max<std::int64_t>((order == OZFP4_ROW_MAJOR) == (transpose == OZFP4_NO_TRANS) ? columns : rows, 1);
}

GemmCall random_call(const EntryType& type) {
  const auto transpose = [] { return random_int(int(OZFP4_NO_TRANS), int(OZFP4_CONJ_TRANS)); };
  const auto extent = [] { return std::int64_t(random_int(0, 3) == 0 ? random_int(1, 2000) : random_int(1, 80)); };
  GemmCall call{};
  call.type = type;
  call.order = random_int(int(OZFP4_ROW_MAJOR), int(OZFP4_COL_MAJOR));
  call.transa = transpose();
  call.transb = transpose();
  call.m = extent();
  call.n = extent();
  call.k = random_int(0, 3) == 0 ? random_int(1, 300000) : extent();  // long lines are cut
  call.batch = random_int(0, 2) == 0 ? random_int(2, 20) : 1;
  if (call.batch > 1) call.k = std::min<std::int64_t>(call.k, 3000);
  call.a.leading = least_leading(call.order, call.transa, call.m, call.k);
  call.b.leading = least_leading(call.order, call.transb, call.k, call.n);
  call.ldc = least_leading(call.order, OZFP4_NO_TRANS, call.m, call.n);
  call.a.stride = random_int(0, 2) == 0 ? 0 : 1;  // what counts of them
  call.b.stride = random_int(0, 2) == 0 ? 0 : 1;
  call.stride_c = 1;
  call.a.data = call.b.data = call.c = reinterpret_cast<char*>(std::uintptr_t(4096));
  return call;
}

// The same with whatever a program may pass.
GemmCall varied(GemmCall call, bool has_bounds) {
  const auto place = [&] { return reinterpret_cast<char*>(std::uintptr_t(4096 + random_int(0, 4) * call.type.bytes())); };
  call.a.leading += random_int(0, 5);
  call.b.leading += random_int(0, 5);
  call.ldc += random_int(0, 5);
  call.a.data = place();
  call.b.data = place();
  call.c = place();
  const bool has_rows = call.order == OZFP4_ROW_MAJOR, is_plain = random_int(0, 1) == 0;
  const auto stride = [&](std::int64_t given, std::int64_t tall) {
    return given == 0 ? 0 : is_plain ? tall : std::int64_t(random_int(1, 100)) * (random_int(0, 3) == 0 ? -1 : 1);
  };
  call.a.stride = stride(call.a.stride, has_rows ? call.m * call.a.leading : call.k * call.a.leading);
  call.b.stride = stride(call.b.stride, has_rows ? call.k * call.b.leading : call.n * call.b.leading);
  call.stride_c = is_plain ? (has_rows ? call.m : call.n) * call.ldc : std::int64_t(random_int(1, 100));
  const double factors[] = {0.0, 1.0, -0.5};
  const std::complex<double> turns[] = {1.0, {0.0, 1.0}, {1.0, 2.0}};
  for (std::complex<double>* factor : {&call.alpha, &call.beta}) {
    *factor = factors[random_int(0, 2)];
    if (call.type.is_complex) *factor *= turns[random_int(0, has_bounds ? 1 : 2)];
  }
  return call;
}

// One that this build holds code for.
cuda::Gpu random_gpu() {
  const int* first = cuda::held_capabilities();
  int count = 0;
  while (first[count] != 0) ++count;
  return {first[random_int(0, count - 1)], random_int(20, 150), 100 * 1024};
}

void check_places(const GemmCall& own, bool is_kept, const DeviceProblem& problem) {
  const DevicePlaces& places = problem.places;
  report("the places " + text_of(own), places.left <= places.right && places.right <= places.addend &&
                                           places.addend <= places.stages && places.stages % 256 == 0 &&
                                           places.stages < places.bytes);
  report("copies " + text_of(own), problem.copies_right == (own.type.is_complex && own.alpha != 0.0) &&
                                       (!problem.copies_left || own.type.is_complex) &&
                                       problem.copies_addend == (!is_kept && own.beta.imag() != 0));
}

// A B is kept where a factor has both parts, and what it lost where that counts; i C is not copied then.
void check_sum(const GemmCall& own, const BatchedProduct& product, Accuracy accuracy, const DeviceSum& sum) {
  const bool is_kept = has_both_parts(product), has_rest = is_kept && own.alpha != 0.0 && accuracy == Accuracy::correct;
  const std::int64_t held = own.m * own.n * own.batch * own.type.bytes();
  const SumPlaces& places = sum.places;
  report("the sum " + text_of(own), (sum.product == nullptr) == (is_kept && own.alpha == 0.0) &&
                                        (sum.rest != nullptr) == has_rest && places.stages % 256 == 0 && places.rest % 256 == 0);
  if (!is_kept || !sum.product) return;
  report("what is kept " + text_of(own),
         places.product == 0 && places.rest >= held && places.stages >= places.rest + (has_rest ? held : 0) &&
             places.bytes >= places.stages + sum.product->places.bytes && sum.product->plan->promise.updates == false);
}

void check_one(const EntryType& type) {
  const cuda::Gpu gpu = random_gpu();
  const GemmCall call = random_call(type);
  CallOptions options;
  const Accuracy accuracies[] = {Accuracy::scaled, Accuracy::standard, Accuracy::correct};
  options.accuracy = accuracies[random_int(0, 2)];
  double nowhere = 0;
  if (random_int(0, 3) == 0) options.bound = &nowhere;
  try {
    std::int64_t most = 0;
    for (const BatchedProduct& own : widest(call, options)) {
      most = std::max(most, laid_out_sum(own, options, gpu).places.bytes);
    }
    for (int i = 0; i < 6; ++i) {
      const GemmCall own = varied(call, options.bound != nullptr);
      const BatchedProduct product = check_device_gemm(own, options);
      const DeviceSum sum = laid_out_sum(product, options, gpu);
      report("the workspace " + text_of(own), sum.places.bytes <= most,
             std::to_string(sum.places.bytes) + " of " + std::to_string(most));
      check_sum(own, product, options.accuracy, sum);
      if (sum.product) check_places(own, has_both_parts(product), *sum.product);
    }
  } catch (const std::exception& error) {
    report(text_of(call), false, error.what());
  }
}

// An operand that lies as it is multiplied is not copied.
void check_copies() {
  const cuda::Gpu gpu = random_gpu();
  for (const int transpose : {OZFP4_NO_TRANS, OZFP4_TRANS, OZFP4_CONJ_TRANS}) {
    GemmCall call{};
    call.type = {ElementType::float64, true};
    call.order = OZFP4_ROW_MAJOR;
    call.transa = transpose;
    call.transb = OZFP4_NO_TRANS;
    call.m = call.n = call.k = 64;
    call.a = call.b = {reinterpret_cast<char*>(std::uintptr_t(4096)), 64, 0, false};
    call.c = reinterpret_cast<char*>(std::uintptr_t(4096));
    call.ldc = 64;
    call.batch = 1;
    call.alpha = 1.0;
    report("a copy of A", laid_out(call, {}, gpu)->copies_left == (transpose != OZFP4_NO_TRANS));
    call.alpha = {0.0, 1.0};
    report("a copy of i A", laid_out(call, {}, gpu)->copies_left);
  }
  GemmCall call = random_call(kTypes[2]);
  call.alpha = 1.0;
  CallOptions options;
  options.has_limit = true;
  options.workspace_limit = 1000;
  try {
    laid_out(call, options, gpu);
    report("a limit below the copies", false);
  } catch (const std::exception& error) {
    report("a limit below the copies", std::string(error.what()).find("workspace_limit") != std::string::npos, error.what());
  }
  call.alpha = {1.0, 1.0};
  options.workspace_limit = call.m * call.n * call.batch * call.type.bytes();
  try {
    laid_out_sum(check_device_gemm(call, options), options, gpu);
    report("a limit below A B", false);
  } catch (const std::exception& error) {
    report("a limit below A B", std::string(error.what()).find("the product before the sum takes") != std::string::npos,
           error.what());
  }
}

// Products of one key are laid out alike, wherever their operands lie; and complex ones that are copied have one.
void check_keys(const EntryType& type) {
  const cuda::Gpu gpu = random_gpu();
  int alike = 0;
  for (int i = 0; i < 20; ++i) {
    const GemmCall call = varied(random_call(type), true);
    const auto own = check_device_gemm(call, {});
    const Key key = key_of(own, {}, {}, 0);
    const auto laid = laid_out(own, {}, gpu);
    for (int j = 0; j < 10; ++j) {
      GemmCall other = j % 2 == 0 ? call : varied(call, true);
      for (GivenMatrix* given : {&other.a, &other.b}) {
        given->data = reinterpret_cast<char*>(std::uintptr_t(4096 + random_int(0, 3) * call.type.bytes()));
      }
      other.alpha = call.alpha, other.beta = call.beta;
      other.c = call.c, other.ldc = call.ldc, other.stride_c = call.stride_c;
      const auto product = check_device_gemm(other, {});
      if (key_of(product, {}, {}, 0) != key) continue;
      const auto found = laid_out(product, {}, gpu);
      ++alike;
      report("one key " + text_of(other),
             found->plan == laid->plan && found->places.bytes == laid->places.bytes && found->places.left == laid->places.left &&
                 found->places.right == laid->places.right && found->places.addend == laid->places.addend &&
                 found->places.stages == laid->places.stages && found->layout.bytes == laid->layout.bytes &&
                 found->layout.turns.count == laid->layout.turns.count && found->layout.is_direct == laid->layout.is_direct &&
                 found->copies_left == laid->copies_left && found->copies_right == laid->copies_right &&
                 found->copies_addend == laid->copies_addend && found->reads == laid->reads);
    }
  }
  report("keys alike", alike > 0, std::to_string(alike));
}

// What a query says where a limit is enough for some calls, for none, and where something else is wrong.
void check_most() {
  const auto refused = [](const auto& error) { return [&error](int) -> std::int64_t { throw error; }; };
  const Refusal small(Fault::workspace, "workspace_limit: too few", true), wrong(Fault::unsupported, "a", false);
  const WorkspaceError large(5, 10);
  const std::vector<int> calls{1, 2, 3, 4};
  report("the most", most_within_limit(calls, [](int own) { return std::int64_t(10 * (own % 4)); }) == 30);
  report("of those within the limit",
         most_within_limit(calls, [&](int own) {
           return own == 3 ? refused(small)(own) : own == 1 ? refused(large)(own) : std::int64_t(own == 2 ? 20 : 0);
         }) == 20);
  const auto text_of = [&](const auto& bytes_of) -> std::string {
    try {
      most_within_limit(calls, bytes_of);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  report("of none", text_of([&](int own) { return own == 1 ? refused(large)(own) : refused(small)(own); }) == large.what());
  report("another refusal", text_of([&](int own) { return own == 2 ? refused(wrong)(own) : std::int64_t(1); }) == wrong.what());
  const std::runtime_error lost("the device is lost");
  try {
    most_within_limit(calls, refused(lost));
    report("an error of the device", false);
  } catch (const Refusal& refusal) {
    report("an error of the device", refusal.fault() == Fault::device_error && refusal.what() == std::string(lost.what()));
  }
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
                               own.is_whole == promise.is_whole && own.modulus == promise.modulus);
    report("the same again", find_cuda_plan(of, k, kernel, promise) == made);
    report("no other's", found.insert(made.get()).second);
  };
  cuda::Promise fp64, rounded, updated, single, bounded, whole, modulo;
  fp64.accuracy = updated.accuracy = single.accuracy = bounded.accuracy = Accuracy::standard;
  rounded.accuracy = Accuracy::correct;
  updated.updates = whole.is_whole = modulo.is_whole = true;
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

// Of how many problems a query says the most: one for each that is laid out otherwise.
void check_problems_of_a_query() {
  const int expected[] = {10, 10, 9, 12};
  for (int i = 0; i < 4; ++i) {
    GemmCall call{};
    call.type = kTypes[i];
    call.order = OZFP4_COL_MAJOR;
    call.transa = call.transb = OZFP4_NO_TRANS;
    call.m = call.n = call.k = 64;
    call.batch = 1;
    place_anywhere(call);
    std::set<Key> keys;
    const cuda::Gpu gpu = random_gpu();
    for (const BatchedProduct& own : widest(call, {})) {
      lay_out_sum(own, {}, [&](const BatchedProduct& each, const Options& asked) {
        keys.insert(key_of(each, asked, {}, 0));
        return laid_out(each, asked, gpu);
      });
    }
    report("problems of a query", static_cast<int>(keys.size()) == expected[i], std::to_string(keys.size()));
  }
}

}  // namespace

int main() {
  for (int i = 0; i < 60; ++i) {
    for (const EntryType& type : kTypes) check_one(type);
  }
  for (const EntryType& type : kTypes) check_keys(type);
  check_most();
  check_plans();
  check_problems_of_a_query();
  check_copies();
  return finish();
}
