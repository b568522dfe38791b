#include "product/gpu/integers_trust.hpp"

#include <algorithm>
#include <vector>

#include "plan/choice.hpp"
#include "product/exact_cases.hpp"
#include "product/gpu/aside.hpp"
#include "product/gpu/integers.hpp"
#include "product/gpu/memory.hpp"
#include "product/gpu/once.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

using Words = std::vector<std::int64_t>;

bool is_exact(const Device& device, const Chosen& chosen, const ExactCase& own) {
  const Words a(own.a.begin(), own.a.end()), b(own.b.begin(), own.b.end());
  Words found(own.c.size(), -1);
  const std::size_t word = sizeof(std::int64_t), bytes = found.size() * word;
  const Aside aside;
  const DeviceMemory on_a(a.size() * word), on_b(b.size() * word), on_c(bytes);
  on_a.fill(a.data(), aside);
  on_b.fill(b.data(), aside);
  on_c.fill(found.data(), aside);
  const std::int64_t line = std::int64_t(8) * own.k;
  const OperandView rows{on_a.get(), ElementType::int64, own.m, own.k, line, 8};
  const OperandView columns{on_b.get(), ElementType::int64, own.n, own.k, line, 8};
  const ResultView result{on_c.get(), ElementType::int64, own.m, own.n, std::int64_t(8) * own.n, 8};
  const IntegerSum integers{{rows, columns, result}, 1, 0, 0};
  PlanRequest request;
  request.alphabet = chosen.plan->alphabet;
  request.bits = integers.product.bits();
  request.k = own.k;
  const auto problem = lay_out(integers, {}, find_plan(request, false), chosen.kernel, device.gpu, cuda::Direct::always);
  if (!problem->layout.is_direct) return true;
  const DeviceMemory workspace(static_cast<std::size_t>(problem->places.bytes));
  launch(*problem, integers, {}, workspace.get(), aside.stream());
  on_c.read(found.data(), aside);
  return std::equal(found.begin(), found.end(), own.c.begin(),
                    [](std::int64_t x, double y) { return static_cast<double>(x) == y; });
}

}  // namespace

bool are_integers_trusted(const Device& device, const Chosen& chosen, cudaStream_t stream) {
  static auto* const verdicts = new OncePerDevice<int, bool>;
  return verdicts->find_or_make(device.index, device.index, [&] {
    if (is_captured(stream)) {
      refuse(Fault::unsupported,
             "stream: the first small product of integers tests its kernel, which a CUDA graph cannot capture; run one such "
             "product before");
    }
    const std::vector<ExactCase>& cases = small_exact_cases();
    return std::all_of(cases.begin(), cases.end(), [&](const ExactCase& own) { return is_exact(device, chosen, own); });
  });
}

}  // namespace ozfp4::product
