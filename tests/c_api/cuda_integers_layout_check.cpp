// What ozfp4_cuda_igemm and its like make of their arguments before anything is launched: every product is laid out so that the
// stages take it, in a workspace that is as large as the query says, whatever pointers, leading dimensions and factors are.
#include <algorithm>
#include <string>

#include "c_api/checked/status.hpp"
#include "c_api/cuda/integers_call.hpp"
#include "check.hpp"
#include "cuda/multiply/registry.hpp"
#include "plan/choice.hpp"
#include "product/choose.hpp"
#include "product/gpu/integers.hpp"

using namespace ozfp4;
using namespace ozfp4::c_api;

namespace {

constexpr ElementType kTypes[] = {ElementType::int8,  ElementType::int16,  ElementType::int32,  ElementType::int64,
                                  ElementType::uint8, ElementType::uint16, ElementType::uint32, ElementType::uint64};

std::string text_of(const IntegerCall& call) {
  std::string text;
  for (const std::int64_t x :
       {std::int64_t(call.order), std::int64_t(call.transa), std::int64_t(call.transb), call.m, call.n, call.k,
        std::int64_t(entry_bytes(call.a.type)), std::int64_t(entry_bytes(call.b.type)), std::int64_t(entry_bytes(call.c.type)),
        call.a.leading, call.b.leading, call.alpha, call.beta, call.modulus}) {
    text += std::to_string(x) + " ";
  }
  return text;
}

char* nowhere(ElementType type, std::int64_t entries) {
  return reinterpret_cast<char*>(std::uintptr_t(4096 + entries * entry_bytes(type)));
}

std::shared_ptr<IntegerProblem> laid_out(const IntegerSum& integers, const CallOptions& options, const cuda::Gpu& gpu) {
  const std::shared_ptr<const Plan> plan = plan_for(integer_plan_options(options, integers.product.bits()), 53,
                                                    integers.product.a.inner, false, {{&Alphabet::int8, 1.0}});
  return lay_out(integers, options, plan, cuda::Kernel::mma_copy, gpu, cuda::Direct::where_it_pays);
}

IntegerCall random_call() {
  const auto transpose = [] { return random_int(int(OZFP4_NO_TRANS), int(OZFP4_CONJ_TRANS)); };
  const auto extent = [] { return std::int64_t(random_int(0, 3) == 0 ? random_int(1, 2000) : random_int(1, 80)); };
  const auto given = [] { return GivenIntegers{kTypes[random_int(0, 7)], nullptr, 0}; };
  IntegerCall call{random_int(int(OZFP4_ROW_MAJOR), int(OZFP4_COL_MAJOR)),
                   transpose(),
                   transpose(),
                   extent(),
                   extent(),
                   random_int(0, 3) == 0 ? random_int(1, 100000) : extent(),
                   1,
                   0,
                   given(),
                   given(),
                   given(),
                   0};
  if (random_int(0, 3) != 0) return call;
  call.modulus = random_int(std::int64_t(2), INT64_MAX);
  call.c.type = ElementType::int64;
  return call;
}

// The same with whatever a program may pass.
IntegerCall varied(IntegerCall call, bool has_factors) {
  const auto place = [](GivenIntegers& given, std::int64_t line) {
    given.data = nowhere(given.type, random_int(0, 4));
    given.leading = line + random_int(0, 5);
  };
  const bool has_rows = call.order == OZFP4_ROW_MAJOR;
  place(call.a, has_rows == (call.transa == OZFP4_NO_TRANS) ? call.k : call.m);
  place(call.b, has_rows == (call.transb == OZFP4_NO_TRANS) ? call.n : call.k);
  place(call.c, has_rows ? call.n : call.m);
  if (has_factors) call.alpha = random_int(1, 2), call.beta = random_int(-1, 1);
  return call;
}

std::int64_t direct = 0, staged = 0;  // products that were laid out so

void check_one() {
  const cuda::Gpu gpu{90, random_int(20, 150), 100 * 1024};
  const IntegerCall call = random_call();
  std::int64_t count = 0;
  CallOptions options;
  options.accuracy = Accuracy::scaled;
  const bool has_factors = call.modulus == 0;
  if (has_factors && random_int(0, 3) == 0) options.overflows = &count;
  try {
    std::int64_t most = 0;
    for (const IntegerSum& own : widest(call, has_factors, options)) {
      most = std::max(most, laid_out(own, options, gpu)->places.bytes);
    }
    for (int i = 0; i < 6; ++i) {
      const IntegerCall own = varied(call, has_factors && options.overflows == nullptr);
      const IntegerSum integers = check_device_integers(own, options);
      const auto problem = laid_out(integers, options, gpu);
      ++(problem->layout.is_direct ? direct : staged);
      const IntegerPlaces& places = problem->places;
      report("the workspace " + text_of(own), places.bytes <= most, std::to_string(places.bytes) + " of " + std::to_string(most));
      const IntegerProduct& p = integers.product;
      const auto words = [](const OperandView& x) { return entry_bytes(x.type) == 8 ? 0 : x.outer * x.inner * 8; };
      const std::int64_t apart = integers.has_factors() ? p.c.rows * p.c.columns * entry_bytes(p.c.type) : 0;
      report("the places " + text_of(own),
             places.a == 0 && places.b - places.a >= words(p.a) && places.product - places.b >= words(p.b) &&
                 places.stages - places.product >= apart && places.stages % 256 == 0 && places.stages < places.bytes);
    }
  } catch (const std::exception& error) {
    report(text_of(call), false, error.what());
  }
}

// A plan of the options that has too many bits is refused by that name; the bits that it names are enough.
void check_plans() {
  const cuda::Gpu gpu{90, 132, 100 * 1024};
  std::int64_t count = 0;
  int served = 0, refused = 0;
  for (int bits = 66; bits <= 84; ++bits) {
    for (const bool has_overflows : {false, true}) {
      PlanRequest request;
      request.alphabet = Alphabet::int8;
      request.bits = bits;
      request.k = 300;
      const std::shared_ptr<const Plan> own = find_plan(request, false);
      CallOptions options;
      options.accuracy = Accuracy::scaled;
      options.plan = own;
      options.overflows = has_overflows ? &count : nullptr;
      IntegerCall call = random_call();
      call.k = 300, call.modulus = 0, call.c.type = ElementType::int64;
      const std::string name = "a plan of " + std::to_string(bits) + " bits" + (has_overflows ? " with overflows" : "");
      try {
        place_anywhere(call);
        laid_out(check_device_integers(call, options), options, gpu);
        ++served;
      } catch (const Refusal& refusal) {
        ++refused;
        report(name, std::string(refusal.what()).rfind("plan: ", 0) == 0 && bits > 66, refusal.what());
      } catch (const std::exception& error) {
        report(name, false, error.what());
      }
    }
  }
  report("plans of the options", served > 0 && refused > 2, std::to_string(served) + " and " + std::to_string(refused));
}

}  // namespace

int main() {
  for (int i = 0; i < 300; ++i) check_one();
  check_plans();
  report("small products need no planes", direct > 0 && staged > 0, std::to_string(direct) + " of " + std::to_string(staged));
  return finish();
}
