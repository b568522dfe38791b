#include "product/gpu/integers.hpp"

#include <stdexcept>
#include <string>

#include "arith/narrow.hpp"
#include "arith/scale_wide.hpp"
#include "cuda/integers/combine.hpp"
#include "cuda/integers/widen.hpp"
#include "cuda/layout/size_of.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "product/gpu/choice.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/plans.hpp"
#include "product/gpu/steps.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

constexpr std::int64_t kWord = 8;

Key key_of(const IntegerSum& integers, const Options& options, int device) {
  const IntegerProduct& p = integers.product;
  return {device,
          static_cast<std::int64_t>(p.a.type),
          static_cast<std::int64_t>(p.b.type),
          static_cast<std::int64_t>(p.c.type),
          p.a.outer,
          p.b.outer,
          p.a.inner,
          p.a.outer_stride,
          p.a.inner_stride,
          p.b.outer_stride,
          p.b.inner_stride,
          p.c.row_stride,
          offset_of(p.a.data),
          offset_of(p.b.data),
          offset_of(p.c.data),
          integers.has_factors(),
          integers.modulus,
          options.overflows != nullptr,
          number_of(options.alphabet),
          number_of(options.family),
          options.has_limit ? options.workspace_limit : 0,
          number_of(options.plan.get())};
}

bool is_word(ElementType type) { return entry_bytes(type) == kWord; }

// As it lies: entries of a line side by side.
IntegerLines lines_of(const OperandView& x) {
  const bool runs_along_k = x.inner_stride == entry_bytes(x.type);
  return {x.data, x.type, runs_along_k ? x.outer : x.inner, runs_along_k ? x.inner : x.outer,
          runs_along_k ? x.outer_stride : x.inner_stride};
}

// What scale and encode read: the operand itself, or its copy.
DeviceOperand operand_at(const OperandView& x, char* copy) {
  DeviceOperand operand{
      x.data,         x.type, narrow<std::int32_t>(x.outer, "m, n"), narrow<std::int32_t>(x.inner, "k"), x.outer_stride,
      x.inner_stride, {}};
  if (is_word(x.type)) return operand;
  const bool runs_along_k = x.inner_stride == entry_bytes(x.type);
  operand.data = copy;
  operand.type = ElementType::int64;
  operand.outer_stride = runs_along_k ? x.inner * kWord : kWord;
  operand.inner_stride = runs_along_k ? kWord : x.outer * kWord;
  return operand;
}

CudaProduct product_at(const IntegerSum& integers, const Options& options, const IntegerPlaces& places, char* workspace) {
  const IntegerProduct& p = integers.product;
  const std::int64_t entry = entry_bytes(p.c.type);
  CudaProduct product;
  product.a = operand_at(p.a, workspace + places.a);
  product.b = operand_at(p.b, workspace + places.b);
  DeviceResult& c = product.result;
  c.data = integers.has_factors() ? workspace + places.product : p.c.data;
  c.type = p.c.type;
  c.rows = product.a.outer;
  c.columns = product.b.outer;
  c.row_stride = integers.has_factors() ? p.c.columns * entry : p.c.row_stride;
  c.column_stride = entry;
  product.second.data = reinterpret_cast<char*>(options.overflows);
  return product;
}

IntegerPlaces places_of(const IntegerSum& integers) {
  const IntegerProduct& p = integers.product;
  IntegerPlaces places;
  PlaceCount count;
  count.add(places.a, !is_word(p.a.type), size_of({p.a.outer, p.a.inner, kWord}));
  count.add(places.b, !is_word(p.b.type), size_of({p.b.outer, p.b.inner, kWord}));
  count.add(places.product, integers.has_factors(), size_of({p.c.rows, p.c.columns, entry_bytes(p.c.type)}));
  places.stages = count.bytes;
  return places;
}

cuda::Promise promise_of(const IntegerSum& integers, const Options& options) {
  cuda::Promise promise;
  promise.is_whole = true;
  promise.modulus = static_cast<std::uint64_t>(integers.modulus);
  if (options.overflows != nullptr) promise.second = Second::overflows;
  return promise;
}

// Range: with options.plan that one.
void check_plan(const Plan& plan, const IntegerSum& integers, const Options& options) {
  if (plan.scheme != Scheme::two || plan.is_complex) {
    refuse_option(Fault::unsupported, "plan", "integers on a GPU take plans of scheme II and of real products");
  }
  if (plan.bits > kMultipliedBits) {
    refuse_option(Fault::unsupported, "plan",
                  "its bits are " + std::to_string(plan.bits) + "; integers on a GPU take plans of " +
                      std::to_string(kMultipliedBits) + " at most");
  }
  if (options.plan == nullptr) return;  // what is chosen for integers is no longer than they need
  const auto refuse_plan = [](const std::exception& error) { throw Refusal(Fault::unsupported, error.what(), true); };
  try {
    make_integer_plan(plan, static_cast<std::uint64_t>(integers.modulus), options.overflows != nullptr);
  } catch (const std::length_error& error) {
    refuse_plan(error);
  } catch (const std::invalid_argument& error) {
    refuse_plan(error);
  }
}

void clear_overflows(const Options& options, cudaStream_t stream) {
  if (options.overflows == nullptr) return;
  check(cudaMemsetAsync(options.overflows, 0, sizeof *options.overflows, stream), "cudaMemsetAsync");
}

void combine(const IntegerSum& integers, const char* product, cudaStream_t stream) {
  const ResultView& c = integers.product.c;
  launch_combine({c.data, c.type, c.rows, c.columns, c.row_stride, product, static_cast<std::uint64_t>(integers.alpha),
                  static_cast<std::uint64_t>(integers.beta)},
                 stream);
}

}  // namespace

std::shared_ptr<IntegerProblem> lay_out(const IntegerSum& integers, const Options& options,
                                        const std::shared_ptr<const Plan>& plan, Kernel kernel, const Gpu& gpu, Direct direct) {
  check_plan(*plan, integers, options);
  auto problem = std::make_shared<IntegerProblem>();
  problem->plan = find_cuda_plan(plan, integers.product.a.inner, kernel, promise_of(integers, options));
  problem->places = places_of(integers);
  const std::int64_t left = left_behind(problem->places.stages, "copies of integers take", options);
  const CudaProduct product = product_at(integers, options, problem->places, nullptr);
  problem->layout = lay_out_stages(*problem->plan, product, gpu, left, direct);
  problem->places.bytes = problem->places.stages + problem->layout.bytes;
  return problem;
}

std::shared_ptr<const IntegerProblem> find_problem(const IntegerSum& integers, const Options& options, cudaStream_t stream) {
  const Device device = current_device();
  return kept_or_made<IntegerProblem>(key_of(integers, options, device.index), [&] {
    const Options own = integer_plan_options(options, integers.product.bits());
    const Chosen chosen = choose(own, 53, integers.product.a.inner, false, device, stream);
    const auto laid_out = [&](Direct direct) {
      return lay_out(integers, options, chosen.plan, chosen.kernel, device.gpu, direct);
    };
    std::shared_ptr<IntegerProblem> made = laid_out(may_go_direct(options) ? Direct::where_it_pays : Direct::never);
    if (made->layout.is_direct && !is_trusted(device, chosen.kernel, *chosen.plan, stream, true)) made = laid_out(Direct::never);
    made->steps = steps_on(device, *made->plan, stream);
    made->asked = options.plan;
    return made;
  });
}

void launch(const IntegerProblem& problem, const IntegerSum& integers, const Options& options, char* workspace,
            cudaStream_t stream) {
  const IntegerPlaces& places = problem.places;
  const IntegerProduct& p = integers.product;
  if (!is_word(p.a.type)) launch_widen(lines_of(p.a), workspace + places.a, stream);
  if (!is_word(p.b.type)) launch_widen(lines_of(p.b), workspace + places.b, stream);
  clear_overflows(options, stream);
  LaunchOptions further;
  further.stream = stream;
  const CudaProduct product = product_at(integers, options, places, workspace);
  for (std::int64_t turn = 0; turn < problem.layout.turns.count; ++turn) {
    launch_matmul(*problem.plan, problem.layout, turn_at(product, problem.layout.turns, turn), workspace + places.stages,
                  problem.steps, further);
  }
  if (integers.has_factors()) combine(integers, product.result.data, stream);
}

void launch_nothing(const IntegerSum& integers, const Options& options, cudaStream_t stream) {
  current_device();  // whose absence is told as for what is multiplied
  clear_overflows(options, stream);
  if (integers.product.is_there()) combine(integers, nullptr, stream);
}

}  // namespace ozfp4::product
