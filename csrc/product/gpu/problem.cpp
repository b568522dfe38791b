#include "product/gpu/problem.hpp"

#include <limits>

#include "cuda/elementwise/matrices.hpp"
#include "cuda/multiply/registry.hpp"
#include "cuda/places.hpp"
#include "cuda/runtime/device.hpp"
#include "product/choose.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/numbering.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

bool is_update(const Product& p) { return p.beta != 0.0 || (p.reads() && p.alpha != 1.0); }

// Whether real columns of the result are the parts of complex ones, in turn; else the parts of it are two real results.
bool has_part_columns(const Product& p) { return p.type.is_complex && form_of(p) != ComplexForm::matrices; }
bool has_part_matrices(const Product& p) { return p.type.is_complex && form_of(p) == ComplexForm::matrices; }

// The second result: the bound, or the upper end.
const ResultMatrix& second_of(const Product& p) { return p.bound.exists() ? p.bound : p.upper; }
std::ptrdiff_t Axis::* second_step(const Product& p) { return p.bound.exists() ? &Axis::bound : &Axis::upper; }
ElementType second_part(const Product& p) { return p.bound.exists() ? ElementType::float64 : p.type.part; }

Copies copies_of(const Product& p) {
  Copies copies;
  if (!p.type.is_complex) return copies;
  const PreparedSides sides = sides_of(p);
  const bool is_pair = is_paired(p), is_turned = p.reads() && p.alpha.imag() != 0;
  const auto are_apart = [](std::ptrdiff_t stride, std::int64_t count, std::int64_t entry) {
    return count > 1 && stride != entry;
  };
  // i times the operand that was passed first, where it is not prepared.
  const bool may_turn_right = p.is_exchanged ? sides.right == nullptr : sides.left != nullptr;
  copies.turns_right = is_turned && (!p.type_a.is_complex || (is_pair && may_turn_right));
  copies.turns_left = is_turned && !copies.turns_right;
  const bool left_lies_so = !is_pair || !are_apart(p.a.column_stride, p.k, p.type_a.bytes());
  const bool right_lies_so = !is_pair && !are_apart(p.b.column_stride, p.n, p.type_b.bytes());
  // Each line twice: itself, and i times it.
  if (p.reads() && p.type_a.is_complex && sides.left == nullptr && (p.a.is_conjugated || copies.turns_left || !left_lies_so)) {
    copies.left = {&Axis::a, size_of({2 * p.m, p.k, p.type_a.bytes()})};
  }
  if (p.reads() && p.type_b.is_complex && sides.right == nullptr && (p.b.is_conjugated || copies.turns_right || !right_lies_so)) {
    copies.right = {&Axis::b, size_of({2 * p.n, p.k, p.type_b.bytes()})};
  }
  const auto result = [&](bool is_copied, std::ptrdiff_t Axis::* own, ElementType part) {
    return is_copied ? Copy{own, size_of({p.m, p.n, 2 * entry_bytes(part)})} : Copy{};
  };
  const auto is_apart = [&](const ResultMatrix& x, ElementType part) {
    return x.exists() && has_part_columns(p) && are_apart(x.column_stride, p.n, 2 * entry_bytes(part));
  };
  const bool copies_addend = p.beta != 0.0 && (p.beta.imag() != 0 || is_apart(p.addend, p.addend_part));
  copies.addend = result(copies_addend, &Axis::addend, p.addend_part);
  copies.result = result(is_apart(p.c, p.type.part), &Axis::c, p.type.part);
  copies.second = result(is_apart(second_of(p), second_part(p)), second_step(p), second_part(p));
  return copies;
}

struct CopyOf {
  Copy Copies::* copy;
  std::int64_t StackAxis::* stride;
};
constexpr CopyOf kCopies[] = {{&Copies::left, &StackAxis::a_stride},
                              {&Copies::right, &StackAxis::b_stride},
                              {&Copies::addend, &StackAxis::addend_stride},
                              {&Copies::result, &StackAxis::c_stride},
                              {&Copies::second, &StackAxis::second_stride}};

// A matrix of pairs in the workspace, its rows one behind the other.
ResultMatrix dense_pairs(const Product& p, char* data, ElementType part) {
  const std::ptrdiff_t pair = 2 * entry_bytes(part);
  return {data, static_cast<std::ptrdiff_t>(p.n * pair), pair};
}

// ---- The real product ----

// Lines along K.
OperandView left_operand(const Product& p, const DeviceProblem& problem, char* workspace) {
  const std::int64_t half = p.type_a.part_bytes(), line = p.k * p.type_a.bytes(), inner = inner_of(p);
  if (!problem.copies.left.exists()) {
    return {p.a.data, p.type_a.part, p.m, inner, p.a.row_stride, is_paired(p) ? half : p.a.column_stride};
  }
  const char* copy = workspace + problem.copies.left.place + (problem.copies.turns_left ? line : 0);
  return {copy, p.type_a.part, p.m, inner, 2 * line, is_paired(p) ? half : 2 * half};
}

OperandView right_operand(const Product& p, const DeviceProblem& problem, char* workspace) {
  const ElementType part = p.type_b.part;
  const std::int64_t half = entry_bytes(part), inner = inner_of(p);
  const bool is_copied = problem.copies.right.exists();
  const char* copy = workspace + problem.copies.right.place;
  if (is_paired(p)) {
    if (!is_copied) return {nullptr, part, 2 * p.n, inner, 0, half};  // it is prepared, or has no entries
    return {copy, part, 2 * p.n, inner, p.k * p.type_b.bytes(), half};
  }
  if (!p.type_b.is_complex) return {p.b.data, part, p.n, inner, p.b.column_stride, p.b.row_stride};
  if (!is_copied) return {p.b.data, part, 2 * p.n, inner, half, p.b.row_stride};
  const std::int64_t line = p.n * p.type_b.bytes();
  return {copy + (problem.copies.turns_right ? line : 0), part, 2 * p.n, inner, half, 2 * line};
}

// Where the parts of a complex matrix are two real ones, the real part.
DeviceResult result_at(const Product& p, const ResultMatrix& x, ElementType part) {
  if (!has_part_columns(p)) return result_of(view_of(p, x, part));
  return result_of({x.data, part, p.m, 2 * p.n, x.row_stride, entry_bytes(part)});
}

// From matrix to matrix; from real to imaginary parts where these are matrices.
std::vector<StackAxis> axes_of(const Product& p, const DeviceProblem& problem) {
  std::vector<StackAxis> axes = problem.steps_through(p.axes, second_step(p));
  if (has_part_matrices(p)) {
    axes.insert(axes.begin(), {2, problem.reads ? entry_bytes(p.type_a.part) : 0, 0, p.type.part_bytes(),
                               entry_bytes(second_part(p)), entry_bytes(p.addend_part)});
  }
  return axes;
}

// The part of a real or imaginary factor that is not 0: i is multiplied into a matrix.
double value_of(std::complex<double> factor) { return factor.imag() != 0 ? factor.imag() : factor.real(); }

// The real product that is multiplied, its copies at `workspace`, without parts.
CudaProduct real_product(const Product& p, const DeviceProblem& problem, char* workspace) {
  const PreparedSides sides = sides_of(p);
  const auto at = [&](const Copy& copy, const ResultMatrix& x, ElementType part) {
    return result_at(p, copy.exists() ? dense_pairs(p, workspace + copy.place, part) : x, part);
  };
  CudaProduct product;
  product.result = at(problem.copies.result, p.c, p.type.part);
  if (!problem.reads) {
    const char* const zero = workspace + problem.places.zero;
    product.a = operand_of({zero, p.type.part, p.m, inner_of(p), 0, 0});
    product.b = operand_of({zero, p.type.part, product.result.columns, inner_of(p), 0, 0});
  } else {
    product.a = operand_of(left_operand(p, problem, workspace));
    product.b = operand_of(right_operand(p, problem, workspace));
    if (sides.left != nullptr) product.a = sides.left->view, product.stored_a = sides.left->stored;
    if (sides.right != nullptr) product.b = sides.right->view, product.stored_b = sides.right->stored;
  }
  if (second_of(p).exists()) product.second = at(problem.copies.second, second_of(p), second_part(p));
  product.axes = axes_of(p, problem);
  if (is_update(p)) {
    product.update.is_asked = true;
    const std::complex<double> alpha = problem.reads ? p.alpha : 1.0;
    product.update.factors = Update::of(value_of(alpha), value_of(p.beta));
    if (p.beta != 0.0) product.update.c = at(problem.copies.addend, p.addend, p.addend_part);
  }
  return product;
}

cuda::Promise promise_of(const Product& p, const Options& options) {
  cuda::Promise promise;
  const bool has_second = second_of(p).exists();
  if (options.accuracy == Accuracy::scaled && !has_second && !is_update(p)) return promise;  // one plan for either type
  promise.accuracy = options.accuracy;
  promise.rounding = p.upper.exists() ? Rounding::down : options.rounding;
  promise.second = p.bound.exists() ? Second::bound : p.upper.exists() ? Second::upper : Second::none;
  promise.precision = p.type.precision();
  promise.updates = is_update(p);
  const auto is_double = [](const EntryType& type) { return type.part == ElementType::float64; };
  promise.may_lengthen = options.accuracy == Accuracy::correct && is_double(p.type_a) && is_double(p.type_b) &&
                         !p.upper.exists() && sides_of(p).any() == nullptr;
  return promise;
}

// Whether a product may be made without planes: nothing that only the stages have was asked for.
bool may_be_direct(const Product& p, const Options& options) {
  return options.plan == nullptr && options.alphabet == nullptr && options.scheme == Scheme::two &&
         options.accuracy != Accuracy::correct && sides_of(p).any() == nullptr;
}

// ---- Launches of copies ----

void expand_left(const Product& p, const Copy& copy, char* workspace, cudaStream_t stream) {
  const int pair = p.type_a.bytes();
  Numbering(p.axes, &Axis::a).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    // Lines of A as columns of its transpose, conjugated: (re, im) then.
    launch_expand({p.a.data + offset.a, p.type_a.part, along.extent, p.k, p.m, along.a / pair, p.a.column_stride / pair,
                   p.a.row_stride / pair, !p.a.is_conjugated},
                  workspace + copy.place + first * copy.bytes, stream);
  });
}

void expand_right(const Product& p, const Copy& copy, bool is_turned, char* workspace, cudaStream_t stream) {
  const int pair = p.type_b.bytes();
  const std::int64_t row = p.b.row_stride / pair, column = p.b.column_stride / pair;
  Numbering(p.axes, &Axis::b).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    const char* from = p.b.data + offset.b;
    char* own = workspace + copy.place + first * copy.bytes;
    if (is_paired(p)) {
      launch_expand({from, p.type_b.part, along.extent, p.k, p.n, along.b / pair, row, column, p.b.is_conjugated, is_turned}, own,
                    stream);
    } else {  // rows of B, as those of A above
      launch_expand({from, p.type_b.part, along.extent, p.n, p.k, along.b / pair, column, row, !p.b.is_conjugated}, own, stream);
    }
  });
}

// Between where the pairs lie and the workspace.
void copy_pairs(const Product& p, const ResultMatrix& x, const Copy& copy, ElementType part, char* workspace, bool is_written,
                bool is_turned, cudaStream_t stream) {
  if (!copy.exists()) return;
  Numbering(p.axes, copy.own).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    const ResultMatrix dense = dense_pairs(p, workspace + copy.place + first * copy.bytes, part);
    const StridedMatrices there{x.data + offset.*copy.own, part, x.row_stride, x.column_stride, along.*copy.own};
    const StridedMatrices here{dense.data, part, dense.row_stride, dense.column_stride, copy.bytes};
    launch_copy({along.extent, p.m, p.n}, is_written ? here : there, is_written ? there : here, is_turned, stream);
  });
}

// Clears the bounds of an empty sum, which is exact. `zeros`: as many bytes as an entry has.
void clear_bounds(const Product& p, char* zeros, cudaStream_t stream) {
  const ElementType half = p.type.is_complex ? ElementType::float64 : ElementType::float32;
  Numbering(p.axes, &Axis::bound).for_lines([&](std::int64_t, const Axis& along, const Axis& offset) {
    const StridedMatrices bounds{p.bound.data + offset.bound, half, p.bound.row_stride, p.bound.column_stride, along.bound};
    launch_copy({along.extent, p.m, p.n}, {zeros, half, 0, 0, 0}, bounds, false, stream);
  });
}

}  // namespace

bool is_paired(const Product& p) { return p.type_a.is_complex && p.type_b.is_complex; }

CopyBytes copy_bytes(const Product& p) {
  const Copies copies = copies_of(p);
  const PreparedSides sides = sides_of(p);
  const auto in_all = [&](const Copy& copy, std::int64_t bytes) {
    return copy.exists() ? size_of({Numbering(p.axes, copy.own).count(), bytes}) : 0;
  };
  CopyBytes bytes;
  bytes.row = in_all(copies.left, size_of({2, p.k, p.type_a.bytes()}));
  bytes.column = in_all(copies.right, size_of({2, p.k, p.type_b.bytes()}));
  bytes.entry = in_all(copies.addend, 2 * entry_bytes(p.addend_part)) + in_all(copies.result, p.type.bytes()) +
                in_all(copies.second, 2 * entry_bytes(second_part(p)));
  bytes.has_whole_rows = sides.left != nullptr;
  bytes.has_whole_columns = sides.right != nullptr;
  return bytes;
}

void DeviceProblem::place(const Axes& axes) {
  PlaceCount count;
  places.zero = count.take(reads ? 0 : kPlaceAlignment);
  for (const CopyOf& each : kCopies) {
    Copy& copy = copies.*each.copy;
    copy.place = count.take(copy.bytes_of_all(axes));
  }
  places.stages = count.bytes;
}

std::vector<StackAxis> DeviceProblem::steps_through(const Axes& axes, std::ptrdiff_t Axis::* second) const {
  std::vector<StackAxis> found;
  for (const Axis& axis : axes) {
    found.push_back({axis.extent, reads ? axis.a : 0, reads ? axis.b : 0, axis.c, axis.*second, axis.addend});
  }
  for (const CopyOf& each : kCopies) {
    const Copy& copy = copies.*each.copy;
    if (!copy.exists() || axes.empty()) continue;
    const Numbering numbers(axes, copy.own);
    for (std::size_t i = 0; i < axes.size(); ++i) found[i].*each.stride = numbers.step(i) * copy.bytes;
  }
  return found;
}

std::int64_t inner_of(const Product& p) {
  const std::int64_t width = is_paired(p) ? 2 : 1;
  return p.reads() ? width * p.k : width;
}

std::shared_ptr<DeviceProblem> lay_out(const Product& p, const Options& options, const std::shared_ptr<const Plan>& plan,
                                       Kernel kernel, const Gpu& gpu, const Shaping& how) {
  auto problem = std::make_shared<DeviceProblem>();
  problem->reads = p.reads();
  problem->copies = copies_of(p);
  problem->plan = find_cuda_plan(plan, inner_of(p), kernel, promise_of(p, options));
  problem->place(p.axes);
  problem->layout = lay_out_behind(problem->places.stages, options, [&](std::int64_t left) {
    return lay_out_stages(*problem->plan, real_product(p, *problem, nowhere()), gpu, left, how);
  });
  problem->places.bytes = problem->places.stages + problem->layout.bytes;
  return problem;
}

Key key_of(const Product& p, const Options& options, int device) {
  const Copies copies = copies_of(p);
  const PreparedSides sides = sides_of(p);
  const std::ptrdiff_t Axis::* const second = second_step(p);
  Key key;
  add(key, 0, device, device_generation(), options.has_stages, options.accuracy, options.rounding, options.scheme,
      options.has_scheme, options.has_family, number_of(options.alphabet), number_of(options.family), options.bits,
      options.has_limit, options.workspace_limit, number_of(options.plan.get()));
  add(key, p.type.part, p.type_a.part, p.type_b.part, p.addend_part, p.type_a.is_complex, p.type_b.is_complex,
      p.type.is_complex && p.is_exchanged);
  add(key, p.m, p.n, p.k, p.axes.size(), p.alpha == 0.0, p.alpha.imag() != 0, p.beta != 0.0, p.beta.imag() != 0, is_update(p),
      p.bound.exists(), p.upper.exists(), copies.left.exists(), copies.right.exists(), copies.addend.exists());
  // The place of an operand does not count if it is copied, nor if it is not read.
  const bool counts_a = p.reads() && !copies.left.exists(), counts_b = p.reads() && !copies.right.exists();
  const auto step = [](std::ptrdiff_t own, bool counts) { return counts ? own : std::ptrdiff_t(own != 0); };
  for (const Axis& axis : p.axes) {
    add(key, axis.extent, step(axis.a, counts_a), step(axis.b, counts_b), axis.c, axis.*second,
        p.beta != 0.0 ? step(axis.addend, !copies.addend.exists()) : 0);
  }
  const auto add_place = [&](const auto& x, bool counts) {
    add(key, counts ? x.row_stride : 0, counts ? x.column_stride : 0, counts ? offset_of(x.data) : 0);
  };
  add_place(p.a, counts_a);
  add_place(p.b, counts_b);
  add_place(p.c, true);
  add_place(second_of(p), second_of(p).exists());
  add_place(p.addend, p.beta != 0.0 && !copies.addend.exists());
  for (const DevicePrepared* side : {sides.left, sides.right}) {
    add(key, side == nullptr ? 0 : number_of(side->plan.get()));
    if (side == nullptr) continue;
    add(key, side->kernel, side->stored.lines, side->stored.matrices, side->view.outer_stride, side->view.inner_stride,
        offset_of(side->view.data));
  }
  return key;
}

std::shared_ptr<const DeviceProblem> find_problem(const Product& product, const Options& options, cudaStream_t stream) {
  check_inner(options, (is_paired(product) ? 2 : 1) * product.k, product.bound.exists());
  const Device device = current_device();
  return kept_or_made<DeviceProblem>(key_of(product, options, device.index), [&] {
    const DevicePrepared* prepared = sides_of(product).any();
    const ProductShape shape{inner_of(product), product.m, product.n, product.count()};
    const Chosen chosen = prepared != nullptr
                              ? Chosen{prepared->plan, serving_prepared(device, *prepared->plan, prepared->kernel, shape, stream)}
                              : choose(options, product.type.precision(), shape, is_paired(product), device, stream);
    return lay_out_trusted(
        device, chosen, shaping_on(device.index, options, may_be_direct(product, options)), stream,
        [&](const Shaping& how) { return lay_out(product, options, chosen.plan, chosen.kernel, device.gpu, how); });
  });
}

WayOfProduct way_of(const Product& given, const Options& options, cudaStream_t stream) {
  const Product product = merged(given, kLongestExtent);
  const auto problem = find_problem(product, limited(options, current_device()), stream);
  constexpr double unknown = std::numeric_limits<double>::infinity();
  OfWays times{unknown, unknown, unknown, unknown};
  if (!problem->plan->plan.is_complex) {
    times = model_times(*problem->plan, real_product(product, *problem, nowhere()), current_device().gpu);
  }
  return {problem, times};
}

void store_no_repairs(const Options& options, cudaStream_t stream) {
  check(cudaMemsetAsync(options.repaired, 0, sizeof *options.repaired, stream), "cudaMemsetAsync");
}

void launch(const DeviceProblem& problem, const Product& p, const Options& options, char* workspace, const Launching& how,
            bool adds) {
  const cudaStream_t stream = how.stream;
  const DevicePlaces& places = problem.places;
  const Copies& copies = problem.copies;
  if (!problem.reads) check(cudaMemsetAsync(workspace + places.zero, 0, kPlaceAlignment, stream), "cudaMemsetAsync");
  if (copies.left.exists()) expand_left(p, copies.left, workspace, stream);
  if (copies.right.exists()) expand_right(p, copies.right, copies.turns_right, workspace, stream);
  copy_pairs(p, p.addend, copies.addend, p.addend_part, workspace, false, p.beta.imag() != 0, stream);
  CudaProduct product = real_product(p, problem, workspace);
  if (has_parts(*problem.plan, problem.layout)) product = with_parts(product);
  LaunchOptions further = how.options();
  further.exchanges_pairs = is_paired(p) && p.is_exchanged;
  if (options.repaired != nullptr && !problem.plan->promise.certifies()) {  // no kernel stores it
    if (!adds) store_no_repairs(options, stream);
  } else {
    further.repair.told = reinterpret_cast<long long*>(options.repaired);
  }
  further.repair.adds = adds;
  launch_turns(problem, product, workspace + places.stages, how, further);
  copy_pairs(p, p.c, copies.result, p.type.part, workspace, true, false, stream);
  copy_pairs(p, second_of(p), copies.second, second_part(p), workspace, true, false, stream);
  if (p.bound.exists() && !problem.reads && p.beta == 0.0) clear_bounds(p, workspace + places.zero, stream);
}

}  // namespace ozfp4::product
