#include "product/gpu/integers.hpp"

#include <stdexcept>
#include <string>

#include "arith/narrow.hpp"
#include "arith/scale_entry.hpp"
#include "cuda/elementwise/matrices.hpp"
#include "cuda/places.hpp"
#include "cuda/runtime/device.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/numbering.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

constexpr std::int64_t kWord = 8;

// Operands of eight bits are multiplied as they are.
bool is_of_bytes(const Options& options) { return options.plan != nullptr && options.plan->scheme == Scheme::integer; }

// Whether the product is not yet the result.
bool is_apart(const IntegerSum& integers) { return integers.has_factors() || integers.is_truth; }

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
          is_apart(integers),
          integers.is_truth,
          integers.modulus,
          options.overflows != nullptr,
          number_of(options.alphabet),
          number_of(options.family),
          options.has_limit ? options.workspace_limit : 0,
          options.limits_copies,
          number_of(options.plan.get())};
  for (const Axis& axis : integers.axes) key.insert(key.end(), {axis.extent, axis.a, axis.b, axis.c});
  return key;
}

// To integers of 64 bits.
bool is_copied(const IntegerSum& integers, const OperandView& x, const Options& options) {
  return !is_of_bytes(options) && (entry_bytes(x.type) != kWord || integers.is_reduced(x));
}

// As it lies: entries side by side where they are so.
bool runs_along_k(const OperandView& x) { return x.inner_stride == entry_bytes(x.type) || x.outer_stride != entry_bytes(x.type); }

void copy(const IntegerSum& integers, const OperandView& x, std::ptrdiff_t Axis::* own, char* to, cudaStream_t stream) {
  IntegerLines lines{x.data, x.type, x.outer, x.inner, x.outer_stride, x.inner_stride};
  if (!runs_along_k(x)) lines = {x.data, x.type, x.inner, x.outer, x.inner_stride, x.outer_stride};
  if (integers.is_reduced(x)) lines.modulus = integers.modulus;
  Numbering(integers.axes, own).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    lines.data = x.data + offset.*own;
    lines.matrices = along.extent;
    lines.matrix_stride = along.*own;
    launch_widen(lines, to + first * x.outer * x.inner * kWord, stream);
  });
}

// The operand that scale and encode read: itself, or its copy (null: none is made).
DeviceOperand operand_at(const OperandView& x, char* copy) {
  DeviceOperand operand{
      x.data,         x.type, narrow<std::int32_t>(x.outer, "m, n"), narrow<std::int32_t>(x.inner, "k"), x.outer_stride,
      x.inner_stride, {}};
  if (copy == nullptr) return operand;
  operand.data = copy;
  operand.type = ElementType::int64;
  operand.outer_stride = runs_along_k(x) ? x.inner * kWord : kWord;
  operand.inner_stride = runs_along_k(x) ? kWord : x.outer * kWord;
  return operand;
}

// The product before the sum, rows and matrices one behind the other.
ResultView product_in(const IntegerSum& integers, char* data) {
  const ResultView& c = integers.product.c;
  const std::int64_t entry = entry_bytes(integers.product_type());
  return {data, integers.product_type(), c.rows, c.columns, c.columns * entry, entry};
}

std::int64_t bytes_of(const OperandView& x) { return size_of({x.outer, x.inner, kWord}); }
std::int64_t bytes_of(const ResultView& x) { return size_of({x.rows, x.columns, entry_bytes(x.type)}); }

CudaProduct product_at(const IntegerSum& integers, const Options& options, const IntegerPlaces& places, char* workspace) {
  const IntegerProduct& p = integers.product;
  CudaProduct product;
  const bool copies_a = is_copied(integers, p.a, options), copies_b = is_copied(integers, p.b, options);
  product.a = operand_at(p.a, copies_a ? workspace + places.a : nullptr);
  product.b = operand_at(p.b, copies_b ? workspace + places.b : nullptr);
  const ResultView to = is_apart(integers) ? product_in(integers, workspace + places.product) : p.c;
  product.result.data = to.data;
  product.result.type = to.type;
  product.result.rows = product.a.outer;
  product.result.columns = product.b.outer;
  product.result.row_stride = to.row_stride;
  product.result.column_stride = to.column_stride;
  const Numbering a(integers.axes, &Axis::a), b(integers.axes, &Axis::b), c(integers.axes, &Axis::c);
  for (std::size_t i = 0; i < integers.axes.size(); ++i) {
    const Axis& axis = integers.axes[i];
    product.axes.push_back({axis.extent, copies_a ? a.step(i) * bytes_of(p.a) : axis.a,
                            copies_b ? b.step(i) * bytes_of(p.b) : axis.b, is_apart(integers) ? c.step(i) * bytes_of(to) : axis.c,
                            0, 0});
  }
  product.second.data = reinterpret_cast<char*>(options.overflows);
  return product;
}

IntegerPlaces places_of(const IntegerSum& integers, const Options& options) {
  const IntegerProduct& p = integers.product;
  IntegerPlaces places;
  PlaceCount count;
  const auto all = [&](std::ptrdiff_t Axis::* own, std::int64_t bytes) {
    return size_of({Numbering(integers.axes, own).count(), bytes});
  };
  places.a = count.take(is_copied(integers, p.a, options) ? all(&Axis::a, bytes_of(p.a)) : 0);
  places.b = count.take(is_copied(integers, p.b, options) ? all(&Axis::b, bytes_of(p.b)) : 0);
  places.product = count.take(is_apart(integers) ? all(&Axis::c, bytes_of(product_in(integers, nullptr))) : 0);
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

// Precondition: with options.plan that one.
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

// `product`: null: zeros.
void combine(const IntegerSum& integers, char* product, cudaStream_t stream) {
  const ResultView &c = integers.product.c, x = product_in(integers, product);
  const auto added = integers.addend.data != nullptr ? &Axis::addend : &Axis::c;
  Numbering(integers.axes, &Axis::c).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    const auto matrices = [](const ResultView& own, std::ptrdiff_t from, std::ptrdiff_t step) {
      return StridedMatrices{own.data + from, own.type, own.row_stride, own.column_stride, step};
    };
    IntegerMatrixSum sum;
    sum.extents = {along.extent, c.rows, c.columns};
    sum.to = matrices(c, offset.c, along.c);
    if (product != nullptr) sum.x = matrices(x, first * bytes_of(x), bytes_of(x));
    if (integers.beta != 0) sum.addend = matrices(integers.added(), offset.*added, along.*added);
    sum.alpha = static_cast<std::uint64_t>(integers.alpha);
    sum.beta = static_cast<std::uint64_t>(integers.beta);
    sum.is_truth = integers.is_truth;
    launch_combine(sum, stream);
  });
}

}  // namespace

std::shared_ptr<IntegerProblem> lay_out(const IntegerSum& integers, const Options& options,
                                        const std::shared_ptr<const Plan>& plan, Kernel kernel, const Gpu& gpu,
                                        const Shaping& how) {
  check_plan(*plan, integers, options);
  auto problem = std::make_shared<IntegerProblem>();
  problem->plan = find_cuda_plan(plan, integers.product.a.inner, kernel, promise_of(integers, options));
  problem->places = places_of(integers, options);
  const CudaProduct product = product_at(integers, options, problem->places, nowhere());
  problem->layout = lay_out_behind(options.limits_copies ? problem->places.stages : 0, options,
                                   [&](std::int64_t left) { return lay_out_stages(*problem->plan, product, gpu, left, how); });
  problem->places.bytes = problem->places.stages + problem->layout.bytes;
  return problem;
}

std::shared_ptr<const IntegerProblem> find_problem(const IntegerSum& integers, const Options& options, cudaStream_t stream) {
  const Device device = current_device();
  return kept_or_made<IntegerProblem>(key_of(integers, options, device.index), [&] {
    const Options own = is_of_bytes(options) ? options : integer_plan_options(options, integers.bits());
    const Chosen chosen = choose(own, 53, integers.product.a.inner, false, device, stream);
    return lay_out_trusted(
        device, chosen, shaping_on(device.index, options, may_go_direct(options)), stream,
        [&](const Shaping& how) { return lay_out(integers, options, chosen.plan, chosen.kernel, device.gpu, how); });
  });
}

void launch(const IntegerProblem& problem, const IntegerSum& integers, const Options& options, char* workspace,
            const Launching& how, bool adds) {
  const cudaStream_t stream = how.stream;
  const IntegerPlaces& places = problem.places;
  const IntegerProduct& p = integers.product;
  if (is_copied(integers, p.a, options)) copy(integers, p.a, &Axis::a, workspace + places.a, stream);
  if (is_copied(integers, p.b, options)) copy(integers, p.b, &Axis::b, workspace + places.b, stream);
  if (!adds) clear_overflows(options, stream);
  if (how.found != nullptr) describe(problem, places.bytes - (options.limits_copies ? 0 : places.stages), *how.found);
  const CudaProduct product = product_at(integers, options, places, workspace);
  launch_turns(problem, product, workspace + places.stages, how, how.options());
  if (is_apart(integers)) combine(integers, product.result.data, stream);
}

void launch_nothing(const IntegerSum& integers, const Options& options, cudaStream_t stream) {
  current_device();  // whose absence is told as for what is multiplied
  clear_overflows(options, stream);
  if (integers.is_there()) combine(integers, nullptr, stream);
}

}  // namespace ozfp4::product
