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

// Operands of eight bits are multiplied as they are.
bool is_of_bytes(const Options& options) { return options.plan != nullptr && options.plan->scheme == Scheme::integer; }

Key key_of(const IntegerSum& integers, const Options& options, int device) {
  const IntegerProduct& p = integers.product;
  Key key{device,
          device_generation(),
          options.has_stages,
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
          p.c.column_stride,
          offset_of(p.a.data),
          offset_of(p.b.data),
          offset_of(p.c.data),
          integers.bits(),
          integers.has_factors(),
          integers.modulus,
          options.overflows != nullptr,
          number_of(options.alphabet),
          number_of(options.family),
          options.has_limit ? options.workspace_limit : 0,
          number_of(options.plan.get())};
  for (const Axis& axis : integers.axes) key.insert(key.end(), {axis.extent, axis.a, axis.b, axis.c});
  return key;
}

// To integers of 64 bits.
bool is_copied(const OperandView& x, const Options& options) { return entry_bytes(x.type) != kWord && !is_of_bytes(options); }

// As it lies: entries of a line side by side.
IntegerLines lines_of(const OperandView& x) {
  const bool runs_along_k = x.inner_stride == entry_bytes(x.type);
  return {x.data, x.type, runs_along_k ? x.outer : x.inner, runs_along_k ? x.inner : x.outer,
          runs_along_k ? x.outer_stride : x.inner_stride};
}

// The operand that scale and encode read: itself, or its copy (null: none is made).
DeviceOperand operand_at(const OperandView& x, char* copy) {
  DeviceOperand operand{
      x.data,         x.type, narrow<std::int32_t>(x.outer, "m, n"), narrow<std::int32_t>(x.inner, "k"), x.outer_stride,
      x.inner_stride, {}};
  if (copy == nullptr) return operand;
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
  const auto copied = [&](const OperandView& x, std::int64_t place) {
    return is_copied(x, options) ? operand_at(x, workspace + place) : operand_at(x, nullptr);
  };
  product.a = copied(p.a, places.a);
  product.b = copied(p.b, places.b);
  DeviceResult& c = product.result;
  c.data = integers.has_factors() ? workspace + places.product : p.c.data;
  c.type = p.c.type;
  c.rows = product.a.outer;
  c.columns = product.b.outer;
  c.row_stride = integers.has_factors() ? p.c.columns * entry : p.c.row_stride;
  c.column_stride = integers.has_factors() ? entry : p.c.column_stride;
  for (const Axis& axis : integers.axes) product.axes.push_back({axis.extent, axis.a, axis.b, axis.c, 0, 0});
  product.second.data = reinterpret_cast<char*>(options.overflows);
  return product;
}

IntegerPlaces places_of(const IntegerSum& integers, const Options& options) {
  const IntegerProduct& p = integers.product;
  IntegerPlaces places;
  PlaceCount count;
  count.add(places.a, is_copied(p.a, options), size_of({p.a.outer, p.a.inner, kWord}));
  count.add(places.b, is_copied(p.b, options), size_of({p.b.outer, p.b.inner, kWord}));
  count.add(places.product, integers.has_factors(), size_of({p.c.rows, p.c.columns, entry_bytes(p.c.type)}));
  places.stages = count.bytes;
  return places;
}

cuda::Promise promise_of(const IntegerSum& integers, const Options& options) {
  cuda::Promise promise;
  if (is_of_bytes(options)) return promise;  // the product is exact
  promise.is_whole = true;
  promise.modulus = static_cast<std::uint64_t>(integers.modulus);
  if (options.overflows != nullptr) promise.second = Second::overflows;
  return promise;
}

// Range: with options.plan that one.
void check_plan(const Plan& plan, const IntegerSum& integers, const Options& options) {
  if (is_of_bytes(options)) return;
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
                                        const std::shared_ptr<const Plan>& plan, Kernel kernel, const Gpu& gpu,
                                        const Shaping& how) {
  check_plan(*plan, integers, options);
  auto problem = std::make_shared<IntegerProblem>();
  problem->plan = find_cuda_plan(plan, integers.product.a.inner, kernel, promise_of(integers, options));
  problem->places = places_of(integers, options);
  auto* const nowhere = reinterpret_cast<char*>(std::uintptr_t(kPlaceAlignment));
  const CudaProduct product = product_at(integers, options, problem->places, nowhere);
  problem->layout = lay_out_behind(problem->places.stages, options,
                                   [&](std::int64_t left) { return lay_out_stages(*problem->plan, product, gpu, left, how); });
  problem->places.bytes = problem->places.stages + problem->layout.bytes;
  return problem;
}

std::shared_ptr<const IntegerProblem> find_problem(const IntegerSum& integers, const Options& options, cudaStream_t stream) {
  const Device device = current_device();
  return kept_or_made<IntegerProblem>(key_of(integers, options, device.index), [&] {
    const Options own = is_of_bytes(options) ? options : integer_plan_options(options, integers.bits());
    const Chosen chosen = choose(own, 53, integers.product.a.inner, false, device, stream);
    Shaping how = shaping_on(device.index, options, may_go_direct(options));
    const auto laid_out = [&] { return lay_out(integers, options, chosen.plan, chosen.kernel, device.gpu, how); };
    std::shared_ptr<IntegerProblem> made = laid_out();
    if (made->layout.is_direct && !how.forced.direct) {
      const Trust trust = trust_without_planes(device, stream);
      how.direct = Direct::never;
      if (trust != Trust::passed) made = laid_out();
      made->is_settled = trust != Trust::unknown;
    }
    made->fallback = chosen.fallback;
    made->steps = steps_on(device, *made->plan, stream);
    made->chosen = chosen.plan;
    return made;
  });
}

void launch(const IntegerProblem& problem, const IntegerSum& integers, const Options& options, char* workspace,
            const Launching& how) {
  const cudaStream_t stream = how.stream;
  const IntegerPlaces& places = problem.places;
  if (how.ways != nullptr) how.ways->emplace_back(way_name(problem.layout));
  const IntegerProduct& p = integers.product;
  if (is_copied(p.a, options)) launch_widen(lines_of(p.a), workspace + places.a, stream);
  if (is_copied(p.b, options)) launch_widen(lines_of(p.b), workspace + places.b, stream);
  clear_overflows(options, stream);
  if (how.found != nullptr) {
    how.found->plan = problem.chosen;
    how.found->fallback = problem.fallback;
    how.found->workspace = places.bytes;
    how.found->kernel = kernel_text(*problem.plan, problem.layout);
  }
  const CudaProduct product = product_at(integers, options, places, workspace);
  for (std::int64_t turn = 0; turn < problem.layout.turns.count; ++turn) {
    const Turn own = turn_at(product, problem.layout.turns, turn);
    launch_matmul(*problem.plan, problem.layout, own, workspace + places.stages, problem.steps, how.options());
    if (how.found != nullptr) how.found->add(*problem.plan, problem.layout, own, workspace + places.stages, stream);
  }
  if (integers.has_factors()) combine(integers, product.result.data, stream);
}

void launch_nothing(const IntegerSum& integers, const Options& options, cudaStream_t stream) {
  current_device();  // whose absence is told as for what is multiplied
  clear_overflows(options, stream);
  if (integers.product.is_there()) combine(integers, nullptr, stream);
}

}  // namespace ozfp4::product
