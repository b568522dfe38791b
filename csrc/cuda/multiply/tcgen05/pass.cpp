#include "cuda/multiply/tcgen05/pass.hpp"

#include <algorithm>
#include <vector>

#include "arith/limits.hpp"
#include "arith/multiples.hpp"

namespace ozfp4::cuda::tcgen05 {
namespace {

bool ends_pass(const GemmStep& step) { return step.action == Action::fold || step.action == Action::store_residue; }

std::uint32_t reduced(std::int32_t multiplier, std::uint32_t modulus) {
  const std::int64_t m = modulus;
  return static_cast<std::uint32_t>(((multiplier % m) + m) % m);
}

// The largest |sum| that the folds of these elements are made for.
std::uint64_t sum_limit(Element element) { return element == Element::e2m1 ? kFp32Exact : kUnsignedPassExact; }

// Matrices of the flattened [plane][batch] array from one plane to the next.
std::int64_t plane_step(const PlaneArray& operand) {
  return operand.batches > 1 ? operand.plane_stride / operand.batch_stride : 1;
}

// Matrices of that array up to the last one.
std::int64_t count_matrices(const PlaneArray& operand) { return (operand.planes - 1) * plane_step(operand) + operand.batches; }

bool is_flat(const PlaneArray& operand) { return operand.batches == 1 || operand.plane_stride % operand.batch_stride == 0; }

// Precondition: as the step that ends a unit names it.
int out_plane(const GemmProblem& problem, int unit) { return problem.steps[problem.unit_begin[unit + 1] - 1].out_plane; }

// Terms of the pass that has most.
int count_pass_terms(const GemmProblem& problem) {
  std::vector<int> terms;
  for (int u = 0; u < problem.unit_count; ++u) {
    std::size_t pass = 0;
    for (int s = problem.unit_begin[u]; s < problem.unit_begin[u + 1]; ++s) {
      if (terms.size() <= pass) terms.push_back(0);
      ++terms[pass];
      pass += ends_pass(problem.steps[s]);
    }
  }
  return terms.empty() ? 0 : *std::max_element(terms.begin(), terms.end());
}

const char* find_unit_error(const GemmProblem& problem, int unit, std::int64_t longest) {
  const int first = problem.unit_begin[unit], last = problem.unit_begin[unit + 1];
  std::uint64_t sum = 0;
  for (int s = first; s < last; ++s) {
    const GemmStep& step = problem.steps[s];
    switch (step.action) {
      case Action::store_digit: return "the sm_100 kernels store residues, not positional digits (scheme I)";
      case Action::multiply:
      case Action::store_int32: return "the sm_100 kernels store residues, not int32";
      default: break;
    }
    sum += std::uint64_t(problem.product_bound) *
           static_cast<std::uint64_t>(std::min<std::int64_t>(step.k_end - step.k_begin, longest));
    if (sum > sum_limit(problem.element)) return "the sum before a fold exceeds what the sm_100 kernels fold exactly";
    if (ends_pass(step)) sum = 0;
  }
  return nullptr;
}

// Each pass stores to the plane of its unit, and reads there what the pass before has stored.
const char* find_plane_error(const GemmProblem& problem) {
  if (problem.out_planes > kMaxUnits) return "the output has more planes than the sm_100 kernels can tell apart, 128";
  bool is_taken[kMaxUnits] = {};
  for (int u = 0; u < problem.unit_count; ++u) {
    bool& taken = is_taken[out_plane(problem, u)];
    if (taken) return "the sm_100 kernels store every unit in an output plane of its own";
    taken = true;
  }
  return nullptr;
}

}  // namespace

int count_passes(const GemmProblem& problem) {
  int most = 0;
  for (int u = 0; u < problem.unit_count; ++u) {
    const GemmStep* const first = problem.steps + problem.unit_begin[u];
    const GemmStep* const last = problem.steps + problem.unit_begin[u + 1];
    most = std::max(most, static_cast<int>(std::count_if(first, last, ends_pass)));
  }
  return most;
}

void make_pass(const GemmProblem& problem, int splits, int index, Pass* pass, PassFolds* folds) {
  const int batches = problem.batch.count();
  *pass = {};
  *folds = {};
  pass->matrices = folds->matrices = make_divisor(static_cast<std::uint32_t>(batches * splits));
  pass->batches = make_divisor(static_cast<std::uint32_t>(batches));
  pass->batch = problem.batch;
  pass->blocks_per_split = static_cast<std::int32_t>(ceil_div(ceil_div(problem.k, block_entries(problem.element)), splits));
  pass->a_plane_step = static_cast<std::int32_t>(plane_step(problem.a));
  pass->b_plane_step = static_cast<std::int32_t>(plane_step(problem.b));
  pass->units_per_modulus = problem.units_per_modulus;
  pass->unit_count = problem.unit_count;
  pass->moduli_used = problem.moduli_used;
  const std::uint64_t bound = is_signed(problem.element) ? sum_limit(problem.element) : 0;
  int terms = 0;
  for (int u = 0; u < problem.unit_count; ++u) {
    const int plane = out_plane(problem, u);
    int ordinal = 0;
    std::int32_t multiplier = 0;
    pass->unit_of_plane[plane] = static_cast<std::uint8_t>(u);
    pass->first_term[plane] = static_cast<std::uint16_t>(terms);
    for (int s = problem.unit_begin[u]; s < problem.unit_begin[u + 1]; ++s) {
      const GemmStep& step = problem.steps[s];
      if (ordinal == index) pass->terms[terms++] = {step.a_plane, step.b_plane, step.k_begin, step.k_end};
      if (!ends_pass(step)) continue;
      if (ordinal == index) {
        PassFold& fold = folds->fold[plane];
        fold.constants = make_fold(step.modulus, static_cast<std::uint32_t>(bound));
        fold.multiplier = reduced(multiplier, step.modulus);
        fold.weight = step.action == Action::store_residue ? reduced(step.multiplier, step.modulus) : 1;
        pass->plane[pass->plane_count++] = static_cast<std::uint8_t>(plane);
      }
      multiplier = step.multiplier;
      ++ordinal;
    }
    pass->term_end[plane] = static_cast<std::uint16_t>(terms);
  }
  pass->matrix_count = pass->plane_count * batches * splits;
}

const char* find_pass_error(const GemmProblem& problem, const TileChoice& choice) {
  if (count_pass_terms(problem) > kMaxPassTerms) return "a pass of the sm_100 kernels sums at most 256 terms";
  const int block = block_entries(problem.element);
  const std::int64_t longest = ceil_div(ceil_div(problem.k, block), choice.splits) * block;
  for (int u = 0; u < problem.unit_count; ++u) {
    if (const char* error = find_unit_error(problem, u, longest)) return error;
  }
  if (const char* error = find_plane_error(problem)) return error;
  if (!is_flat(problem.a) || !is_flat(problem.b)) {
    return "the sm_100 kernels need plane strides that are multiples of the batch strides";
  }
  if (std::max(count_matrices(problem.a), count_matrices(problem.b)) > INT32_MAX) {
    return "planes and matrices of an operand are together too many for the sm_100 kernels";
  }
  return nullptr;
}

}  // namespace ozfp4::cuda::tcgen05
