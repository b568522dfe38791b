#include "product/gpu/problem.hpp"

#include "arith/narrow.hpp"
#include "cuda/complex/expand.hpp"
#include "cuda/complex/turn.hpp"
#include "cuda/layout/size_of.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "product/choose.hpp"
#include "product/gpu/choice.hpp"
#include "product/gpu/plans.hpp"
#include "product/gpu/steps.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

bool is_update(const BatchedProduct& p) { return p.beta != 0.0 || (p.alpha != 0.0 && p.k > 0 && p.alpha != 1.0); }

// What is on the device of an operand: lines along K, as it lies or in its copy. `base` is null where only the layout is asked
// for.
DeviceOperand operand_at(const char* data, ElementType type, std::int64_t outer, std::int64_t inner, std::int64_t outer_stride,
                         std::int64_t inner_stride) {
  return {data, type, narrow<std::int32_t>(outer, "m, n"), narrow<std::int32_t>(inner, "k"), outer_stride, inner_stride, {}};
}

// Distinct matrices of an operand that lie so many bytes apart.
std::int64_t matrices_of(const BatchedProduct& p, std::ptrdiff_t step) { return step == 0 ? 1 : p.count; }

// From matrix to matrix.
StackAxis axis_of(const BatchedProduct& p, const DeviceProblem& problem) {
  const std::int64_t line = inner_of(p) * p.type.part_bytes();
  StackAxis axis{p.count, 0, 0, p.c_step, p.bound_step, problem.copies_addend ? p.m * p.n * p.type.bytes() : p.c_step};
  if (!problem.reads) return axis;
  axis.a_stride = problem.copies_left && p.a_step != 0 ? p.m * 2 * line : p.a_step;
  axis.b_stride = problem.copies_right && p.b_step != 0 ? p.n * 2 * line : p.b_step;
  return axis;
}

// Of a factor that is real or imaginary: what is multiplied by i is a matrix.
double value_of(std::complex<double> factor) { return factor.imag() != 0 ? factor.imag() : factor.real(); }

// The real product that is multiplied, its copies at `workspace`.
CudaProduct real_product(const BatchedProduct& p, const DeviceProblem& problem, const PreparedSides& sides, char* workspace) {
  const ElementType type = p.type.part;
  const std::int64_t width = p.type.is_complex ? 2 : 1, entry = p.type.part_bytes();
  CudaProduct product;
  const std::int64_t columns = width * p.n, inner = inner_of(p);
  if (!problem.reads) {
    product.a = operand_at(workspace + problem.places.zero, type, p.m, inner, 0, 0);
    product.b = operand_at(workspace + problem.places.zero, type, columns, inner, 0, 0);
  } else {
    // Of its expansion the even lines are the operand itself, the odd ones i times it.
    const std::int64_t line = inner * entry, odd = p.alpha.imag() != 0 && !problem.turns_right ? line : 0;
    product.a = problem.copies_left
                    ? operand_at(workspace + problem.places.left + odd, type, p.m, inner, 2 * line, entry)
                    : operand_at(p.a.data, type, p.m, inner, p.a.row_stride, p.type.is_complex ? entry : p.a.column_stride);
    product.b = problem.copies_right ? operand_at(workspace + problem.places.right, type, columns, inner, line, entry)
                                     : operand_at(p.b.data, type, columns, inner, p.b.column_stride, p.b.row_stride);
    if (sides.left != nullptr) product.a = sides.left->view, product.stored_a = sides.left->stored;
    if (sides.right != nullptr) product.b = sides.right->view, product.stored_b = sides.right->stored;
  }
  DeviceResult& c = product.result;
  c.data = p.c;
  c.type = type;
  c.rows = narrow<std::int32_t>(p.m, "m");
  c.columns = narrow<std::int32_t>(columns, "n");
  c.row_stride = p.c_stride;
  c.column_stride = entry;
  if (p.bound != nullptr) {
    product.second = c;
    product.second.data = reinterpret_cast<char*>(p.bound);
    product.second.type = ElementType::float64;
    product.second.row_stride = p.bound_stride;
    product.second.column_stride = 8;
  }
  if (p.count > 1) product.axes.push_back(axis_of(p, problem));
  if (is_update(p)) {
    product.update.is_asked = true;
    const std::complex<double> alpha = problem.reads ? p.alpha : 1.0;
    product.update.factors = Update::of(value_of(alpha), value_of(p.beta));
    if (p.beta != 0.0) product.update.c = c;
    if (problem.copies_addend) {
      product.update.c.data = workspace + problem.places.addend;
      product.update.c.row_stride = columns * entry;
    }
  }
  return product;
}

DevicePlaces places_of(const BatchedProduct& p, const DeviceProblem& problem) {
  DevicePlaces places;
  PlaceCount count;
  const std::int64_t line = 2 * p.k * p.type.bytes();
  count.add(places.zero, !problem.reads, kPlaceAlignment);
  count.add(places.left, problem.copies_left, size_of({matrices_of(p, p.a_step), p.m, line}));
  count.add(places.right, problem.copies_right, size_of({matrices_of(p, p.b_step), p.n, line}));
  count.add(places.addend, problem.copies_addend, size_of({p.count, p.m, p.n, p.type.bytes()}));
  places.stages = count.bytes;
  return places;
}

cuda::Promise promise_of(const BatchedProduct& p, const Options& options, const PreparedSides& sides) {
  cuda::Promise promise;
  if (options.accuracy == Accuracy::scaled && p.bound == nullptr && !is_update(p)) return promise;  // one plan for either type
  promise.accuracy = options.accuracy;
  promise.rounding = options.rounding;
  promise.second = p.bound != nullptr ? Second::bound : Second::none;
  promise.precision = p.type.precision();
  promise.updates = is_update(p);
  promise.may_lengthen = options.accuracy == Accuracy::correct && p.type.part == ElementType::float64 && sides.left == nullptr &&
                         sides.right == nullptr;
  return promise;
}

// What is copied before it is multiplied: complex operands as they are expanded, but A where it lies so; i C.
struct Copies {
  bool left, right, addend;
};
Copies copies_of(const BatchedProduct& p, const PreparedSides& sides) {
  const bool has_pairs = p.reads() && p.type.is_complex;
  const bool is_turned = p.a.is_conjugated || p.alpha.imag() != 0 || p.a.column_stride != p.type.bytes();
  return {has_pairs && sides.left == nullptr && is_turned, has_pairs && sides.right == nullptr, p.beta.imag() != 0};
}

// Whether a product may be made without planes: nobody asked for what only the stages have. Of other types than real ones of 64
// bits these kernels are not tried.
bool may_be_direct(const BatchedProduct& p, const Options& options) {
  return !p.type.is_complex && p.type.part == ElementType::float64 && options.plan == nullptr && options.alphabet == nullptr &&
         options.scheme == Scheme::two && options.accuracy != Accuracy::correct;
}

}  // namespace

std::int64_t inner_of(const BatchedProduct& p) {
  const std::int64_t width = p.type.is_complex ? 2 : 1;
  return p.alpha != 0.0 && p.k > 0 ? width * p.k : width;
}

std::shared_ptr<DeviceProblem> lay_out(const BatchedProduct& p, const Options& options, const std::shared_ptr<const Plan>& plan,
                                       Kernel kernel, const Gpu& gpu, Direct direct, const PreparedSides& sides) {
  auto problem = std::make_shared<DeviceProblem>();
  problem->reads = p.reads();
  const Copies copies = copies_of(p, sides);
  problem->copies_left = copies.left, problem->copies_right = copies.right, problem->copies_addend = copies.addend;
  // i times the operand that was passed first, where it is not prepared.
  problem->turns_right = problem->copies_right && p.alpha.imag() != 0 && (p.is_exchanged || sides.left != nullptr);
  problem->plan = find_cuda_plan(plan, inner_of(p), kernel, promise_of(p, options, sides));
  problem->places = places_of(p, *problem);
  const std::int64_t left = left_behind(problem->places.stages, "copies of complex matrices take", options);
  auto* const nowhere = reinterpret_cast<char*>(std::uintptr_t(kPlaceAlignment));
  CudaProduct product = real_product(p, *problem, sides, nowhere);
  if (problem->plan->plan.is_complex) product = with_parts(product);
  problem->layout = lay_out_stages(*problem->plan, product, gpu, left, direct);
  problem->places.bytes = problem->places.stages + problem->layout.bytes;
  return problem;
}

Key key_of(const BatchedProduct& p, const Options& options, const PreparedSides& sides, int device) {
  const Copies copies = copies_of(p, sides);
  Key key{device,
          static_cast<std::int64_t>(p.type.part),
          p.type.is_complex,
          p.type.is_complex && p.is_exchanged,
          p.m,
          p.n,
          p.k,
          p.count,
          p.c_step,
          p.c_stride,
          offset_of(p.c),
          p.alpha == 0.0,
          p.alpha.imag() != 0,
          p.beta != 0.0,
          p.beta.imag() != 0,
          is_update(p),
          p.bound != nullptr,
          p.bound_stride,
          p.bound_step,
          offset_of(p.bound),
          static_cast<std::int64_t>(options.accuracy),
          static_cast<std::int64_t>(options.rounding),
          static_cast<std::int64_t>(options.scheme),
          options.has_scheme,
          options.has_family,
          number_of(options.alphabet),
          number_of(options.family),
          options.bits,
          options.has_limit ? options.workspace_limit : 0,
          number_of(options.plan.get())};
  // Where an operand lies does not count of one that is copied, nor of one that nobody reads.
  const auto add = [&](const Operand& x, std::int64_t step, bool is_copied) {
    const bool counts = p.reads() && !is_copied;
    key.insert(key.end(), {counts      ? step
                           : step != 0 ? 1
                                       : 0,
                           counts ? x.row_stride : 0, counts ? x.column_stride : 0, counts ? offset_of(x.data) : 0});
  };
  add(p.a, p.a_step, copies.left);
  add(p.b, p.b_step, copies.right);
  for (const DevicePrepared* side : {sides.left, sides.right}) {
    key.push_back(side == nullptr ? 0 : number_of(side->plan.get()));
    if (side == nullptr) continue;
    key.insert(key.end(), {static_cast<std::int64_t>(side->kernel), side->stored.lines, side->stored.matrices,
                           side->view.outer_stride, side->view.inner_stride, offset_of(side->view.data)});
  }
  return key;
}

std::shared_ptr<const DeviceProblem> make_problem(const BatchedProduct& product, const Options& options, const Device& device,
                                                  cudaStream_t stream, const PreparedSides& sides) {
  const DevicePrepared* prepared = sides.any();
  const auto [plan, kernel] =
      prepared != nullptr ? Chosen{prepared->plan, prepared->kernel}
                          : choose(options, product.type.precision(), inner_of(product), product.type.is_complex, device, stream);
  const Direct direct = may_be_direct(product, options) && prepared == nullptr ? Direct::where_it_pays : Direct::never;
  std::shared_ptr<DeviceProblem> made = lay_out(product, options, plan, kernel, device.gpu, direct, sides);
  // Kernels that it does not take are not tried: that loads all of them.
  if (made->layout.is_direct && !is_trusted(device, kernel, *plan, stream, true)) {
    made = lay_out(product, options, plan, kernel, device.gpu, Direct::never);
  }
  made->steps = steps_on(device, *made->plan, stream);
  made->asked = options.plan;
  if (prepared != nullptr) made->asked = prepared->plan;
  return made;
}

std::shared_ptr<const DeviceProblem> find_problem(const BatchedProduct& product, const Options& options, cudaStream_t stream,
                                                  const PreparedSides& sides) {
  check_inner(options, (product.type.is_complex ? 2 : 1) * product.k, product.bound != nullptr);
  const Device device = current_device();
  return kept_or_made<DeviceProblem>(key_of(product, options, sides, device.index),
                                     [&] { return make_problem(product, options, device, stream, sides); });
}

void tell_of_none(const Options& options, cudaStream_t stream) {
  check(cudaMemsetAsync(options.repaired, 0, sizeof *options.repaired, stream), "cudaMemsetAsync");
}

void launch(const DeviceProblem& problem, const BatchedProduct& p, const Options& options, char* workspace, cudaStream_t stream,
            bool adds, const PreparedSides& sides) {
  const DevicePlaces& places = problem.places;
  const int pair = p.type.bytes();
  if (!problem.reads) check(cudaMemsetAsync(workspace + places.zero, 0, kPlaceAlignment, stream), "cudaMemsetAsync");
  if (problem.copies_left) {  // lines of A as columns of its transpose, conjugated: (re, im) then
    launch_expand({p.a.data, p.type.part, matrices_of(p, p.a_step), p.k, p.m, p.a_step / pair, p.a.column_stride / pair,
                   p.a.row_stride / pair, !p.a.is_conjugated},
                  workspace + places.left, stream);
  }
  if (problem.copies_right) {
    launch_expand({p.b.data, p.type.part, matrices_of(p, p.b_step), p.k, p.n, p.b_step / pair, p.b.row_stride / pair,
                   p.b.column_stride / pair, p.b.is_conjugated, problem.turns_right},
                  workspace + places.right, stream);
  }
  if (problem.copies_addend) {
    launch_turn({p.c, p.type.part, p.count, p.m, p.n, p.c_stride, p.c_step}, workspace + places.addend, stream);
  }
  CudaProduct product = real_product(p, problem, sides, workspace);
  if (problem.plan->plan.is_complex) product = with_parts(product);
  LaunchOptions further;
  further.stream = stream;
  further.exchanges_pairs = p.type.is_complex && p.is_exchanged;
  if (options.repaired != nullptr && !problem.plan->promise.certifies()) {  // no kernel tells
    if (!adds) tell_of_none(options, stream);
  } else {
    further.repair.told = reinterpret_cast<long long*>(options.repaired);
  }
  for (std::int64_t turn = 0; turn < problem.layout.turns.count; ++turn) {
    further.repair.adds = adds || turn > 0;
    launch_matmul(*problem.plan, problem.layout, turn_at(product, problem.layout.turns, turn), workspace + places.stages,
                  problem.steps, further);
  }
}

}  // namespace ozfp4::product
