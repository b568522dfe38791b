// Products of integers on a GPU before anything is launched: each is laid out so that the stages take it,
// whatever types, addresses, strides and factors are.
#include <algorithm>
#include <string>

#include "check.hpp"
#include "cuda/multiply/registry.hpp"
#include "plan/choice.hpp"
#include "product/choose.hpp"
#include "product/gpu/integers.hpp"

using namespace ozfp4;
using namespace ozfp4::product;

namespace {

constexpr ElementType kTypes[] = {ElementType::int8,  ElementType::int16,  ElementType::int32,  ElementType::int64,
                                  ElementType::uint8, ElementType::uint16, ElementType::uint32, ElementType::uint64};

std::string text_of(const IntegerSum& sum) {
  const Product& p = sum.product;
  std::string text;
  for (const std::int64_t x :
       {p.m, p.n, p.k, std::int64_t(p.type_a.bytes()), std::int64_t(p.type_b.bytes()), std::int64_t(p.type.bytes()),
        p.a.row_stride, p.a.column_stride, p.b.column_stride, p.b.row_stride, sum.alpha, sum.beta, sum.modulus}) {
    text += std::to_string(x) + " ";
  }
  return text;
}

char* nowhere(ElementType type) { return reinterpret_cast<char*>(std::uintptr_t(4096 + random_int(0, 4) * entry_bytes(type))); }

std::shared_ptr<DeviceProblem> laid_out(const IntegerSum& integers, const Options& options, const cuda::Gpu& gpu) {
  const std::shared_ptr<const Plan> plan =
      plan_for(integer_plan_options(options, integers.bits()), 53, integers.product.k, false, {{&Alphabet::int8, 1.0}});
  return lay_out(integers, options, plan, cuda::Kernel::mma_copy, gpu, cuda::WithoutPlanes::where_it_pays);
}

// Lines along K or across, with gaps between them.
Operand random_operand(ElementType type, std::int64_t rows, std::int64_t columns) {
  const bool has_rows = random_int(0, 1) == 0;
  const std::int64_t entry = entry_bytes(type), line = ((has_rows ? columns : rows) + random_int(0, 5)) * entry;
  return {nowhere(type), rows, columns, has_rows ? line : entry, has_rows ? entry : line, false};
}

struct Types {
  ElementType a, b, c;
};

IntegerSum of_extents(std::int64_t m, std::int64_t n, std::int64_t k, const Types& types) {
  const std::int64_t entry = entry_bytes(types.c);
  const ResultMatrix c{nowhere(types.c), static_cast<std::ptrdiff_t>((n + random_int(0, 5)) * entry), entry};
  const EntryType a{types.a, false}, b{types.b, false};
  IntegerSum sum{{{types.c, false}, m, n, k, random_operand(types.a, m, k), random_operand(types.b, k, n), a, b, c}};
  sum.product.addend = c;
  sum.product.addend_part = types.c;
  return sum;
}

// Without factors; some modulo a number.
IntegerSum random_sum() {
  const auto extent = [] { return std::int64_t(random_int(0, 3) == 0 ? random_int(1, 2000) : random_int(1, 80)); };
  const auto type = [] { return kTypes[random_int(0, 7)]; };
  const std::int64_t m = extent(), n = extent(), k = random_int(0, 3) == 0 ? random_int(1, 100000) : extent();
  const bool is_modular = random_int(0, 3) == 0;
  IntegerSum sum = of_extents(m, n, k, {type(), type(), is_modular ? ElementType::int64 : type()});
  if (is_modular) sum.modulus = random_int(std::int64_t(2), INT64_MAX);
  return sum;
}

std::int64_t direct = 0, staged = 0;  // products that were laid out so

void check_one() {
  const cuda::Gpu gpu{90, random_int(20, 150), 100 * 1024};
  IntegerSum sum = random_sum();
  std::int64_t count = 0;
  Options options;
  options.accuracy = Accuracy::scaled;
  if (sum.modulus == 0 && random_int(0, 3) == 0) options.overflows = &count;
  if (sum.modulus == 0 && options.overflows == nullptr) sum.alpha = random_int(1, 2), sum.beta = random_int(-1, 1);
  try {
    const auto problem = laid_out(sum, options, gpu);
    ++(problem->layout.is_without_planes() ? direct : staged);
    const DevicePlaces& places = problem->places;
    const Copies& copies = problem->copies;
    const Product& p = sum.product;
    const auto words = [&](const EntryType& type, std::int64_t lines) {
      return type.bytes() == 8 && !sum.is_reduced(type.part) ? 0 : lines * p.k * 8;
    };
    const std::int64_t apart = sum.has_factors() ? p.m * p.n * p.type.bytes() : 0;
    report("the places " + text_of(sum), copies.left.place == 0 && copies.right.place >= words(p.type_a, p.m) &&
                                             copies.result.place - copies.right.place >= words(p.type_b, p.n) &&
                                             places.stages - copies.result.place >= apart && places.stages % 256 == 0 &&
                                             places.stages < places.bytes);
  } catch (const std::exception& error) {
    report(text_of(sum), false, error.what());
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
      Options options;
      options.accuracy = Accuracy::scaled;
      options.plan = own;
      options.overflows = has_overflows ? &count : nullptr;
      IntegerSum sum = random_sum();
      const Product& p = sum.product;
      sum = of_extents(p.m, p.n, 300, {p.type_a.part, p.type_b.part, ElementType::int64});
      const std::string name = "a plan of " + std::to_string(bits) + " bits" + (has_overflows ? " with overflows" : "");
      try {
        laid_out(sum, options, gpu);
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
  for (int i = 0; i < 1800; ++i) check_one();
  check_plans();
  report("small products need no planes", direct > 0 && staged > 0, std::to_string(direct) + " of " + std::to_string(staged));
  return finish();
}
