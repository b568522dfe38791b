#include "product/gpu/integers.hpp"

#include <stdexcept>
#include <string>

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
  const Product& p = integers.product;
  Key key;
  add(key, 1, device, device_generation(), options.has_stages, p.type_a.part, p.type_b.part, p.type.part, p.m, p.n, p.k);
  add(key, p.a.row_stride, p.a.column_stride, p.b.column_stride, p.b.row_stride, p.c.row_stride, p.c.column_stride,
      offset_of(p.a.data), offset_of(p.b.data), offset_of(p.c.data));
  add(key, integers.bits(), is_apart(integers), integers.is_truth, integers.modulus, options.overflows != nullptr,
      number_of(options.alphabet), number_of(options.family), options.has_limit, options.workspace_limit, options.limits_copies,
      number_of(options.plan.get()));
  for (const Axis& axis : p.axes) add(key, axis.extent, axis.a, axis.b, axis.c);
  return key;
}

// To integers of 64 bits; the product before the sum, rows and matrices one behind the other.
Copies copies_of(const IntegerSum& integers, const Options& options) {
  const Product& p = integers.product;
  const auto is_copied = [&](ElementType type) {
    return !is_of_bytes(options) && (entry_bytes(type) != kWord || integers.is_reduced(type));
  };
  Copies copies;
  if (is_copied(p.type_a.part)) copies.left = {&Axis::a, size_of({p.m, p.k, kWord})};
  if (is_copied(p.type_b.part)) copies.right = {&Axis::b, size_of({p.n, p.k, kWord})};
  if (is_apart(integers)) copies.result = {&Axis::c, size_of({p.m, p.n, entry_bytes(integers.product_type())})};
  return copies;
}

// As it lies: entries side by side where they are so.
bool runs_along_k(const OperandView& x) { return x.inner_stride == entry_bytes(x.type) || x.outer_stride != entry_bytes(x.type); }

void widen(const IntegerSum& integers, const OperandView& x, const Copy& copy, char* workspace, cudaStream_t stream) {
  if (!copy.exists()) return;
  IntegerLines lines{x.data, x.type, x.outer, x.inner, x.outer_stride, x.inner_stride};
  if (!runs_along_k(x)) lines = {x.data, x.type, x.inner, x.outer, x.inner_stride, x.outer_stride};
  if (integers.is_reduced(x.type)) lines.modulus = integers.modulus;
  Numbering(integers.product.axes, copy.own).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    lines.data = x.data + offset.*copy.own;
    lines.matrices = along.extent;
    lines.matrix_stride = along.*copy.own;
    launch_widen(lines, workspace + copy.place + first * copy.bytes, stream);
  });
}

// The operand that scale and encode read: itself, or its copy.
OperandView encoded_of(const OperandView& x, const Copy& copy, char* workspace) {
  if (!copy.exists()) return x;
  const bool has_lines = runs_along_k(x);
  return {workspace + copy.place,
          ElementType::int64,
          x.outer,
          x.inner,
          has_lines ? x.inner * kWord : kWord,
          has_lines ? kWord : x.outer * kWord};
}

// The product before the sum.
ResultView product_in(const IntegerSum& integers, char* data) {
  const std::int64_t entry = entry_bytes(integers.product_type());
  return view_of(integers.product, {data, integers.product.n * entry, entry}, integers.product_type());
}

CudaProduct product_at(const IntegerSum& integers, const Options& options, const DeviceProblem& problem, char* workspace) {
  const Product& p = integers.product;
  const Copies& copies = problem.copies;
  CudaProduct product;
  product.a = operand_of(encoded_of(left_view(p), copies.left, workspace));
  product.b = operand_of(encoded_of(right_view(p), copies.right, workspace));
  product.result =
      result_of(copies.result.exists() ? product_in(integers, workspace + copies.result.place) : view_of(p, p.c, p.type.part));
  product.axes = problem.steps_through(p.axes, &Axis::upper);
  for (StackAxis& axis : product.axes) axis.addend_stride = 0;  // it is added by a separate launch
  product.second.data = reinterpret_cast<char*>(options.overflows);
  return product;
}

cuda::Promise promise_of(const IntegerSum& integers, const Options& options) {
  cuda::Promise promise;
  if (is_of_bytes(options)) return promise;  // the product is exact
  promise.has_integers = true;
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
  const Product& p = integers.product;
  const ResultView x = product_in(integers, product);
  const std::int64_t bytes = size_of({p.m, p.n, entry_bytes(x.type)});
  Numbering(p.axes, &Axis::c).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    const auto matrices = [&](const ResultMatrix& own, ElementType type, std::ptrdiff_t Axis::* step) {
      return StridedMatrices{own.data + offset.*step, type, own.row_stride, own.column_stride, along.*step};
    };
    IntegerMatrixSum sum;
    sum.extents = {along.extent, p.m, p.n};
    sum.to = matrices(p.c, p.type.part, &Axis::c);
    if (product != nullptr) sum.x = {x.data + first * bytes, x.type, x.row_stride, x.column_stride, bytes};
    if (integers.beta != 0) sum.addend = matrices(p.addend, p.addend_part, &Axis::addend);
    sum.alpha = static_cast<std::uint64_t>(integers.alpha);
    sum.beta = static_cast<std::uint64_t>(integers.beta);
    sum.is_truth = integers.is_truth;
    launch_combine(sum, stream);
  });
}

}  // namespace

std::shared_ptr<DeviceProblem> lay_out(const IntegerSum& integers, const Options& options,
                                       const std::shared_ptr<const Plan>& plan, Kernel kernel, const Gpu& gpu,
                                       const Shaping& how) {
  check_plan(*plan, integers, options);
  auto problem = std::make_shared<DeviceProblem>();
  problem->plan = find_cuda_plan(plan, integers.product.k, kernel, promise_of(integers, options));
  problem->copies = copies_of(integers, options);
  problem->place(integers.product.axes);
  const CudaProduct product = product_at(integers, options, *problem, nowhere());
  problem->layout = lay_out_behind(options.limits_copies || !options.has_limit ? problem->places.stages : 0, options,
                                   [&](std::int64_t left) { return lay_out_stages(*problem->plan, product, gpu, left, how); });
  problem->places.bytes = problem->places.stages + problem->layout.bytes;
  return problem;
}

std::shared_ptr<const DeviceProblem> find_problem(const IntegerSum& integers, const Options& options, cudaStream_t stream) {
  const Device device = current_device();
  return kept_or_made<DeviceProblem>(key_of(integers, options, device.index), [&] {
    const Options own = is_of_bytes(options) ? options : integer_plan_options(options, integers.bits());
    const Product& p = integers.product;
    const Chosen chosen = choose(own, 53, {p.k, p.m, p.n, p.count()}, false, device, stream);
    return lay_out_trusted(
        device, chosen, shaping_on(device.index, options, may_go_direct(options)), stream,
        [&](const Shaping& how) { return lay_out(integers, options, chosen.plan, chosen.kernel, device.gpu, how); });
  });
}

void launch(const DeviceProblem& problem, const IntegerSum& integers, const Options& options, char* workspace,
            const Launching& how, bool adds) {
  const cudaStream_t stream = how.stream;
  const DevicePlaces& places = problem.places;
  const Product& p = integers.product;
  widen(integers, left_view(p), problem.copies.left, workspace, stream);
  widen(integers, right_view(p), problem.copies.right, workspace, stream);
  if (!adds) clear_overflows(options, stream);
  if (how.found != nullptr) describe(problem, places.bytes - (options.limits_copies ? 0 : places.stages), *how.found);
  const CudaProduct product = product_at(integers, options, problem, workspace);
  launch_turns(problem, product, workspace + places.stages, how, how.options());
  if (is_apart(integers)) combine(integers, product.result.data, stream);
}

void launch_nothing(const IntegerSum& integers, const Options& options, cudaStream_t stream) {
  current_device();  // its absence is reported as for an operand
  clear_overflows(options, stream);
  if (integers.product.is_there()) combine(integers, nullptr, stream);
}

}  // namespace ozfp4::product
