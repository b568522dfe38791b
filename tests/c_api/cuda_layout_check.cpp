// What ozfp4_cuda_?gemm makes of its arguments before anything is launched: every product is laid out so that the stages take it,
// in a workspace that is as large as the query says, whatever pointers, leading dimensions and factors are.
#include <algorithm>
#include <string>

#include "c_api/cuda/call.hpp"
#include "check.hpp"
#include "cuda/multiply/registry.hpp"
#include "plan/choice.hpp"

using namespace ozfp4;
using namespace ozfp4::c_api;

namespace {

constexpr EntryType kTypes[] = {
    {ElementType::float64, false}, {ElementType::float32, false}, {ElementType::float64, true}, {ElementType::float32, true}};

std::string text_of(const DeviceCall& call) {
  return std::to_string(call.type.bytes()) + (call.type.is_complex ? " complex " : " real ") + std::to_string(call.order) + " " +
         std::to_string(call.transa) + " " + std::to_string(call.transb) + " " + std::to_string(call.m) + " x " +
         std::to_string(call.n) + " x " + std::to_string(call.k) + " ld " + std::to_string(call.lda) + " " +
         std::to_string(call.ldb);
}

std::shared_ptr<DeviceProblem> laid_out(const DeviceCall& call, const Options& options, const cuda::Gpu& gpu) {
  const DeviceProduct product = check(call, options);
  PlanRequest request;
  request.alphabet = Alphabet::int8;
  request.bits = options.accuracy == Accuracy::scaled ? call.type.precision() : accuracy_bits(call.type.precision());
  request.k = inner_of(product);
  const bool may_be_direct = !call.type.is_complex && call.type.part == ElementType::float64;
  return lay_out(product, options, *find_plan(request, call.type.is_complex), cuda::Kernel::mma_copy, gpu,
                 may_be_direct ? cuda::Direct::where_it_pays : cuda::Direct::never);
}

std::int64_t least_leading(int order, int transpose, std::int64_t rows, std::int64_t columns) {
  return std::max<std::int64_t>((order == OZFP4_ROW_MAJOR) == (transpose == OZFP4_NO_TRANS) ? columns : rows, 1);
}

DeviceCall random_call(const EntryType& type) {
  const auto transpose = [] { return random_int(int(OZFP4_NO_TRANS), int(OZFP4_CONJ_TRANS)); };
  const auto extent = [] { return std::int64_t(random_int(0, 3) == 0 ? random_int(1, 2000) : random_int(1, 80)); };
  DeviceCall call{};
  call.type = type;
  call.order = random_int(int(OZFP4_ROW_MAJOR), int(OZFP4_COL_MAJOR));
  call.transa = transpose();
  call.transb = transpose();
  call.m = extent();
  call.n = extent();
  call.k = random_int(0, 3) == 0 ? random_int(1, 300000) : extent();  // long lines are cut
  call.lda = least_leading(call.order, call.transa, call.m, call.k);
  call.ldb = least_leading(call.order, call.transb, call.k, call.n);
  call.ldc = least_leading(call.order, OZFP4_NO_TRANS, call.m, call.n);
  return call;
}

// The same with whatever a program may pass.
DeviceCall varied(DeviceCall call) {
  const auto place = [&] { return reinterpret_cast<char*>(std::uintptr_t(4096 + random_int(0, 4) * call.type.bytes())); };
  call.lda += random_int(0, 5);
  call.ldb += random_int(0, 5);
  call.ldc += random_int(0, 5);
  call.a = place();
  call.b = place();
  call.c = place();
  const double factors[] = {0.0, 1.0, -0.5};
  call.alpha = factors[random_int(0, 2)];
  if (call.type.is_complex && random_int(0, 1) == 1) call.alpha *= std::complex<double>(0, 1);
  call.beta = factors[random_int(0, 2)];
  return call;
}

// One that this build holds code for.
cuda::Gpu random_gpu() {
  const int* first = cuda::held_capabilities();
  int count = 0;
  while (first[count] != 0) ++count;
  return {first[random_int(0, count - 1)], random_int(20, 150), 100 * 1024};
}

void check_one(const EntryType& type) {
  const cuda::Gpu gpu = random_gpu();
  const DeviceCall call = random_call(type);
  Options options;
  const Accuracy accuracies[] = {Accuracy::scaled, Accuracy::fp64, Accuracy::correct};
  options.accuracy = accuracies[random_int(0, 2)];
  double nowhere = 0;
  if (random_int(0, 3) == 0) options.bound = &nowhere;
  try {
    std::int64_t most = 0;
    for (const DeviceCall& own : widest(call)) most = std::max(most, laid_out(own, options, gpu)->places.bytes);
    for (int i = 0; i < 6; ++i) {
      const DeviceCall own = varied(call);
      const auto problem = laid_out(own, options, gpu);
      report("the workspace " + text_of(own), problem->places.bytes <= most,
             std::to_string(problem->places.bytes) + " of " + std::to_string(most));
      const DevicePlaces& places = problem->places;
      report("the places " + text_of(own), places.left <= places.right && places.right <= places.stages &&
                                               places.stages % 256 == 0 && places.stages < places.bytes);
      report("copies " + text_of(own),
             problem->copies_right == (type.is_complex && own.alpha != 0.0) && (!problem->copies_left || type.is_complex));
    }
  } catch (const std::exception& error) {
    report(text_of(call), false, error.what());
  }
}

// An operand that lies as it is multiplied is not copied.
void check_copies() {
  const cuda::Gpu gpu = random_gpu();
  for (const int transpose : {OZFP4_NO_TRANS, OZFP4_TRANS, OZFP4_CONJ_TRANS}) {
    DeviceCall call{};
    call.type = {ElementType::float64, true};
    call.order = OZFP4_ROW_MAJOR;
    call.transa = transpose;
    call.transb = OZFP4_NO_TRANS;
    call.m = call.n = call.k = 64;
    call.lda = call.ldb = call.ldc = 64;
    call.alpha = 1.0;
    report("a copy of A", laid_out(call, {}, gpu)->copies_left == (transpose != OZFP4_NO_TRANS));
    call.alpha = {0.0, 1.0};
    report("a copy of i A", laid_out(call, {}, gpu)->copies_left);
  }
  DeviceCall call = random_call(kTypes[2]);
  call.alpha = 1.0;
  Options options;
  options.has_limit = true;
  options.workspace_limit = 1000;
  try {
    laid_out(call, options, gpu);
    report("a limit below the copies", false);
  } catch (const std::exception& error) {
    report("a limit below the copies", std::string(error.what()).find("workspace_limit") != std::string::npos, error.what());
  }
}

}  // namespace

int main() {
  for (int i = 0; i < 60; ++i) {
    for (const EntryType& type : kTypes) check_one(type);
  }
  check_copies();
  return finish();
}
