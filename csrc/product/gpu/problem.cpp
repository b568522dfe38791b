#include "product/gpu/problem.hpp"

#include <limits>

#include "arith/narrow.hpp"
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
  Copies copies{};
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
  copies.left =
      p.reads() && p.type_a.is_complex && sides.left == nullptr && (p.a.is_conjugated || copies.turns_left || !left_lies_so);
  const bool right_lies_so = !is_pair && !are_apart(p.b.column_stride, p.n, p.type_b.bytes());
  copies.right =
      p.reads() && p.type_b.is_complex && sides.right == nullptr && (p.b.is_conjugated || copies.turns_right || !right_lies_so);
  const auto is_apart = [&](const ResultMatrix& x, ElementType part) {
    return x.exists() && has_part_columns(p) && are_apart(x.column_stride, p.n, 2 * entry_bytes(part));
  };
  copies.addend = p.beta != 0.0 && (p.beta.imag() != 0 || is_apart(p.addend, p.addend_part));
  copies.result = is_apart(p.c, p.type.part);
  copies.second = is_apart(second_of(p), second_part(p));
  return copies;
}

// ---- Places ----

// Bytes of the copy of one matrix, each line of it twice: itself, and i times it.
std::int64_t left_bytes(const Product& p) { return size_of({2 * p.m, p.k, p.type_a.bytes()}); }
std::int64_t right_bytes(const Product& p) { return size_of({2 * p.n, p.k, p.type_b.bytes()}); }
std::int64_t result_bytes(const Product& p, ElementType part) { return size_of({p.m, p.n, 2 * entry_bytes(part)}); }

DevicePlaces places_of(const Product& p, const DeviceProblem& problem) {
  DevicePlaces places;
  PlaceCount count;
  const auto add = [&](std::int64_t& place, bool is_there, std::ptrdiff_t Axis::* own, std::int64_t bytes) {
    place = count.take(is_there ? size_of({Numbering(p.axes, own).count(), bytes}) : 0);
  };
  places.zero = count.take(problem.reads ? 0 : kPlaceAlignment);
  add(places.left, problem.copies.left, &Axis::a, problem.copies.left ? left_bytes(p) : 0);
  add(places.right, problem.copies.right, &Axis::b, problem.copies.right ? right_bytes(p) : 0);
  add(places.addend, problem.copies.addend, &Axis::addend, result_bytes(p, p.addend_part));
  add(places.result, problem.copies.result, &Axis::c, result_bytes(p, p.type.part));
  add(places.second, problem.copies.second, second_step(p), result_bytes(p, second_part(p)));
  places.stages = count.bytes;
  return places;
}

// A matrix of pairs in the workspace, its rows one behind the other.
ResultMatrix dense_pairs(const Product& p, char* data, ElementType part) {
  const std::ptrdiff_t pair = 2 * entry_bytes(part);
  return {data, static_cast<std::ptrdiff_t>(p.n * pair), pair};
}

// ---- The real product ----

// Lines along K. `data` is null where only the layout is asked for.
DeviceOperand operand_at(const char* data, ElementType type, std::int64_t outer, std::int64_t inner, std::int64_t outer_stride,
                         std::int64_t inner_stride) {
  return {data, type, narrow<std::int32_t>(outer, "m, n"), narrow<std::int32_t>(inner, "k"), outer_stride, inner_stride, {}};
}

DeviceOperand left_operand(const Product& p, const DeviceProblem& problem, char* workspace) {
  const ElementType part = p.type_a.part;
  const std::int64_t half = entry_bytes(part), line = p.k * p.type_a.bytes(), inner = inner_of(p);
  if (!problem.copies.left) {
    return operand_at(p.a.data, part, p.m, inner, p.a.row_stride, is_paired(p) ? half : p.a.column_stride);
  }
  const char* copy = workspace + problem.places.left + (problem.copies.turns_left ? line : 0);
  return operand_at(copy, part, p.m, inner, 2 * line, is_paired(p) ? half : 2 * half);
}

DeviceOperand right_operand(const Product& p, const DeviceProblem& problem, char* workspace) {
  const ElementType part = p.type_b.part;
  const std::int64_t half = entry_bytes(part), inner = inner_of(p);
  const char* copy = workspace + problem.places.right;
  if (is_paired(p)) {
    if (!problem.copies.right) return operand_at(nullptr, part, 2 * p.n, inner, 0, half);  // it is prepared, or has no entries
    return operand_at(copy, part, 2 * p.n, inner, p.k * p.type_b.bytes(), half);
  }
  if (!p.type_b.is_complex) return operand_at(p.b.data, part, p.n, inner, p.b.column_stride, p.b.row_stride);
  if (!problem.copies.right) return operand_at(p.b.data, part, 2 * p.n, inner, half, p.b.row_stride);
  const std::int64_t line = p.n * p.type_b.bytes();
  return operand_at(copy + (problem.copies.turns_right ? line : 0), part, 2 * p.n, inner, half, 2 * line);
}

// Where the parts of a complex matrix are two real ones, the real part.
DeviceResult result_at(const Product& p, const ResultMatrix& x, ElementType part) {
  const bool has_parts = has_part_columns(p);
  DeviceResult result;
  result.data = x.data;
  result.type = part;
  result.rows = narrow<std::int32_t>(p.m, "m");
  result.columns = narrow<std::int32_t>(has_parts ? 2 * p.n : p.n, "n");
  result.row_stride = x.row_stride;
  result.column_stride = has_parts ? entry_bytes(part) : x.column_stride;
  return result;
}

// From matrix to matrix, of copies in the workspace where there are such; from real to imaginary parts where these are matrices.
std::vector<StackAxis> axes_of(const Product& p, const DeviceProblem& problem) {
  std::vector<StackAxis> axes;
  if (has_part_matrices(p)) {
    axes.push_back({2, problem.reads ? entry_bytes(p.type_a.part) : 0, 0, p.type.part_bytes(), entry_bytes(second_part(p)),
                    entry_bytes(p.addend_part)});
  }
  const auto stack = axes.size();
  for (const Axis& axis : p.axes) {
    axes.push_back(
        {axis.extent, problem.reads ? axis.a : 0, problem.reads ? axis.b : 0, axis.c, axis.*second_step(p), axis.addend});
  }
  const auto put = [&](bool is_copied, std::ptrdiff_t Axis::* own, std::int64_t StackAxis::* stride, std::int64_t bytes) {
    if (!is_copied || p.axes.empty()) return;
    const Numbering numbers(p.axes, own);
    for (std::size_t i = 0; i < p.axes.size(); ++i) axes[stack + i].*stride = numbers.step(i) * bytes;
  };
  put(problem.copies.left, &Axis::a, &StackAxis::a_stride, problem.copies.left ? left_bytes(p) : 0);
  put(problem.copies.right, &Axis::b, &StackAxis::b_stride, problem.copies.right ? right_bytes(p) : 0);
  put(problem.copies.addend, &Axis::addend, &StackAxis::addend_stride, result_bytes(p, p.addend_part));
  put(problem.copies.result, &Axis::c, &StackAxis::c_stride, result_bytes(p, p.type.part));
  put(problem.copies.second, second_step(p), &StackAxis::second_stride, result_bytes(p, second_part(p)));
  return axes;
}

// The part of a real or imaginary factor that is not 0: i is multiplied into a matrix.
double value_of(std::complex<double> factor) { return factor.imag() != 0 ? factor.imag() : factor.real(); }

// The real product that is multiplied, its copies at `workspace`, without parts.
CudaProduct real_product(const Product& p, const DeviceProblem& problem, char* workspace) {
  const DevicePlaces& places = problem.places;
  const PreparedSides sides = sides_of(p);
  const auto at = [&](bool is_copied, std::int64_t place, const ResultMatrix& x, ElementType part) {
    return result_at(p, is_copied ? dense_pairs(p, workspace + place, part) : x, part);
  };
  CudaProduct product;
  product.result = at(problem.copies.result, places.result, p.c, p.type.part);
  if (!problem.reads) {
    const std::int64_t inner = inner_of(p);
    product.a = operand_at(workspace + places.zero, p.type.part, p.m, inner, 0, 0);
    product.b = operand_at(workspace + places.zero, p.type.part, product.result.columns, inner, 0, 0);
  } else {
    product.a = left_operand(p, problem, workspace);
    product.b = right_operand(p, problem, workspace);
    if (sides.left != nullptr) product.a = sides.left->view, product.stored_a = sides.left->stored;
    if (sides.right != nullptr) product.b = sides.right->view, product.stored_b = sides.right->stored;
  }
  if (second_of(p).exists()) product.second = at(problem.copies.second, places.second, second_of(p), second_part(p));
  product.axes = axes_of(p, problem);
  if (is_update(p)) {
    product.update.is_asked = true;
    const std::complex<double> alpha = problem.reads ? p.alpha : 1.0;
    product.update.factors = Update::of(value_of(alpha), value_of(p.beta));
    if (p.beta != 0.0) product.update.c = at(problem.copies.addend, places.addend, p.addend, p.addend_part);
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

// Whether a product may be made without planes: nobody asked for what only the stages have.
bool may_be_direct(const Product& p, const Options& options) {
  return options.plan == nullptr && options.alphabet == nullptr && options.scheme == Scheme::two &&
         options.accuracy != Accuracy::correct && sides_of(p).any() == nullptr;
}

// ---- Launches of copies ----

void expand_left(const Product& p, char* to, cudaStream_t stream) {
  const int pair = p.type_a.bytes();
  Numbering(p.axes, &Axis::a).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    // Lines of A as columns of its transpose, conjugated: (re, im) then.
    launch_expand({p.a.data + offset.a, p.type_a.part, along.extent, p.k, p.m, along.a / pair, p.a.column_stride / pair,
                   p.a.row_stride / pair, !p.a.is_conjugated},
                  to + first * left_bytes(p), stream);
  });
}

void expand_right(const Product& p, bool is_turned, char* to, cudaStream_t stream) {
  const int pair = p.type_b.bytes();
  const std::int64_t row = p.b.row_stride / pair, column = p.b.column_stride / pair;
  Numbering(p.axes, &Axis::b).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    const char* from = p.b.data + offset.b;
    char* own = to + first * right_bytes(p);
    if (is_paired(p)) {
      launch_expand({from, p.type_b.part, along.extent, p.k, p.n, along.b / pair, row, column, p.b.is_conjugated, is_turned}, own,
                    stream);
    } else {  // rows of B, as those of A above
      launch_expand({from, p.type_b.part, along.extent, p.n, p.k, along.b / pair, column, row, !p.b.is_conjugated}, own, stream);
    }
  });
}

// Between where the pairs lie and the workspace.
void copy_pairs(const Product& p, const ResultMatrix& x, std::ptrdiff_t Axis::* own, ElementType part, char* workspace,
                bool is_written, bool is_turned, cudaStream_t stream) {
  const std::int64_t bytes = result_bytes(p, part);
  Numbering(p.axes, own).for_lines([&](std::int64_t first, const Axis& along, const Axis& offset) {
    const ResultMatrix dense = dense_pairs(p, workspace + first * bytes, part);
    const StridedMatrices there{x.data + offset.*own, part, x.row_stride, x.column_stride, along.*own};
    const StridedMatrices here{dense.data, part, dense.row_stride, dense.column_stride, bytes};
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
  const auto in_all = [&](bool is_copied, std::ptrdiff_t Axis::* own, std::int64_t bytes) {
    return is_copied ? size_of({Numbering(p.axes, own).count(), bytes}) : 0;
  };
  CopyBytes bytes;
  bytes.row = in_all(copies.left, &Axis::a, size_of({2, p.k, p.type_a.bytes()}));
  bytes.column = in_all(copies.right, &Axis::b, size_of({2, p.k, p.type_b.bytes()}));
  bytes.entry = in_all(copies.addend, &Axis::addend, 2 * entry_bytes(p.addend_part)) +
                in_all(copies.result, &Axis::c, p.type.bytes()) +
                in_all(copies.second, second_step(p), 2 * entry_bytes(second_part(p)));
  bytes.has_whole_rows = sides.left != nullptr;
  bytes.has_whole_columns = sides.right != nullptr;
  return bytes;
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
  problem->places = places_of(p, *problem);
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
  add(key, device, device_generation(), options.has_stages, options.accuracy, options.rounding, options.scheme,
      options.has_scheme, options.has_family, number_of(options.alphabet), number_of(options.family), options.bits,
      options.has_limit ? options.workspace_limit : 0, number_of(options.plan.get()));
  add(key, p.type.part, p.type_a.part, p.type_b.part, p.addend_part, p.type_a.is_complex, p.type_b.is_complex,
      p.type.is_complex && p.is_exchanged);
  add(key, p.m, p.n, p.k, p.axes.size(), p.alpha == 0.0, p.alpha.imag() != 0, p.beta != 0.0, p.beta.imag() != 0, is_update(p),
      p.bound.exists(), p.upper.exists(), copies.left, copies.right, copies.addend);
  // Where an operand lies does not count of one that is copied, nor of one that nobody reads.
  const bool counts_a = p.reads() && !copies.left, counts_b = p.reads() && !copies.right;
  const auto step = [](std::ptrdiff_t own, bool counts) { return counts ? own : std::ptrdiff_t(own != 0); };
  for (const Axis& axis : p.axes) {
    add(key, axis.extent, step(axis.a, counts_a), step(axis.b, counts_b), axis.c, axis.*second,
        p.beta != 0.0 ? step(axis.addend, !copies.addend) : 0);
  }
  const auto add_place = [&](const auto& x, bool counts) {
    add(key, counts ? x.row_stride : 0, counts ? x.column_stride : 0, counts ? offset_of(x.data) : 0);
  };
  add_place(p.a, counts_a);
  add_place(p.b, counts_b);
  add_place(p.c, true);
  add_place(second_of(p), second_of(p).exists());
  add_place(p.addend, p.beta != 0.0 && !copies.addend);
  for (const DevicePrepared* side : {sides.left, sides.right}) {
    add(key, side == nullptr ? 0 : number_of(side->plan.get()));
    if (side == nullptr) continue;
    add(key, side->kernel, side->stored.lines, side->stored.matrices, side->view.outer_stride, side->view.inner_stride,
        offset_of(side->view.data));
  }
  return key;
}

std::shared_ptr<const DeviceProblem> make_problem(const Product& product, const Options& options, const Device& device,
                                                  cudaStream_t stream) {
  const DevicePrepared* prepared = sides_of(product).any();
  if (prepared != nullptr) check_serving(device, *prepared->plan, prepared->kernel, stream);
  const Chosen chosen = prepared != nullptr
                            ? Chosen{prepared->plan, prepared->kernel}
                            : choose(options, product.type.precision(), inner_of(product), is_paired(product), device, stream);
  return lay_out_trusted(
      device, chosen, shaping_on(device.index, options, may_be_direct(product, options)), stream,
      [&](const Shaping& how) { return lay_out(product, options, chosen.plan, chosen.kernel, device.gpu, how); });
}

std::shared_ptr<const DeviceProblem> find_problem(const Product& product, const Options& options, cudaStream_t stream) {
  check_inner(options, (is_paired(product) ? 2 : 1) * product.k, product.bound.exists());
  const Device device = current_device();
  return kept_or_made<DeviceProblem>(key_of(product, options, device.index),
                                     [&] { return make_problem(product, options, device, stream); });
}

WayOfProduct way_of(const Product& given, const Options& options, cudaStream_t stream) {
  const Product product = merged(given, kLongestExtent);
  const auto problem = find_problem(product, options, stream);
  const CudaLayout& layout = problem->layout;
  constexpr double unknown = std::numeric_limits<double>::infinity();
  OfWays times{unknown, unknown, unknown, unknown};
  if (!problem->plan->plan.is_complex) {
    times = model_times(*problem->plan, real_product(product, *problem, nowhere()), current_device().gpu);
  }
  return {way_name(layout),
          layout.scales_and_encodes,
          kernel_name(problem->plan->kernel),
          tile_geometry(layout.tile.shape).name,
          problem->plan->schedule.element,
          layout.tile.splits,
          problem->places.bytes,
          times};
}

void store_no_repairs(const Options& options, cudaStream_t stream) {
  check(cudaMemsetAsync(options.repaired, 0, sizeof *options.repaired, stream), "cudaMemsetAsync");
}

void launch(const DeviceProblem& problem, const Product& p, const Options& options, char* workspace, const Launching& how,
            bool adds) {
  const cudaStream_t stream = how.stream;
  const DevicePlaces& places = problem.places;
  if (!problem.reads) check(cudaMemsetAsync(workspace + places.zero, 0, kPlaceAlignment, stream), "cudaMemsetAsync");
  if (problem.copies.left) expand_left(p, workspace + places.left, stream);
  if (problem.copies.right) expand_right(p, problem.copies.turns_right, workspace + places.right, stream);
  if (problem.copies.addend) {
    copy_pairs(p, p.addend, &Axis::addend, p.addend_part, workspace + places.addend, false, p.beta.imag() != 0, stream);
  }
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
  if (problem.copies.result) {
    copy_pairs(p, p.c, &Axis::c, p.type.part, workspace + places.result, true, false, stream);
  }
  if (problem.copies.second) {
    copy_pairs(p, second_of(p), second_step(p), second_part(p), workspace + places.second, true, false, stream);
  }
  if (p.bound.exists() && !problem.reads && p.beta == 0.0) clear_bounds(p, workspace + places.zero, stream);
}

}  // namespace ozfp4::product
