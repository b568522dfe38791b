#include "cuda/layout/cuda_plan.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "arith/accuracy/capacity.hpp"
#include "arith/multiples.hpp"
#include "arith/narrow.hpp"
#include "cuda/places.hpp"
#include "cuda/tiles/tiles.hpp"
#include "plan/choice.hpp"

namespace ozfp4::cuda {
namespace {

void check_promise(const Plan& plan, const Promise& promise) {
  if (promise.has_integers) {
    if (promise.has_records() || promise.second == Second::upper) throw std::invalid_argument("integers are not rounded");
    if (promise.modulus >> 63 != 0) throw std::invalid_argument("modulus: 1 to 2^63 - 1");
    return;
  }
  if (promise.modulus != 0 || promise.second == Second::overflows) {
    throw std::invalid_argument("modulus and overflows are for products of integers");
  }
  if (!promise.has_records() && promise.second == Second::none) return;
  if (plan.scheme == Scheme::integer) throw std::invalid_argument("an INT8 product is exact: it has no accuracy to choose");
  if (promise.updates && promise.second == Second::upper) throw std::invalid_argument("an update has one result");
  if (!promise.certifies()) return;
  const int least = accuracy_bits(promise.accuracy, promise.precision);
  if (plan.bits < least) {
    throw std::invalid_argument("plan: it has " + std::to_string(plan.bits) + " bits; this accuracy needs " +
                                std::to_string(least));
  }
}

// Lines of "standard" have accuracy_bits at most. The plan has the moduli that these need, whatever the entries are and however
// long a line is, and those that every product of the plan takes.
Plan shortened_plan(const Plan& plan, const Promise& promise) {
  const int bits = accuracy_bits(promise.accuracy, promise.precision);
  if (promise.accuracy != Accuracy::standard || plan.bits <= bits) return plan;
  if (!plan.has_moduli() || !plan.prefix_allowed) return plan;
  Plan first = plan;
  first.bits = bits;
  // The norm of a line of integers of c bits is at most sqrt(K) 2^c.
  const double norm_squared = std::ldexp(static_cast<double>(plan.k_max), 2 * bits);
  const int needed = moduli_needed(make_prefix_rule(plan, plan.count()), norm_squared * norm_squared);
  const int count = std::max(needed, least_prefix(plan, kMaxPrefixes));
  first.groups.resize(static_cast<std::size_t>(plan.groups_of(count)));
  return first;
}

// K from which on lines of "correct" may have more bits than a plan of accuracy_bits holds.
constexpr int kLeastLongLine = 256;

// A plan of "correct", or one with moduli for kMostExactBits.
Plan lengthened_plan(const Plan& plan, int k, const Promise& promise) {
  const bool is_usual = plan.scheme == Scheme::two && plan.alphabet.entry == PlaneEntry::int8 &&
                        plan.alphabet.residue_is_limb() && plan.family == "least" && !plan.is_complex &&
                        plan.bits == accuracy_bits(Accuracy::correct, 53);
  const bool is_plain =
      promise.accuracy == Accuracy::correct && promise.precision == 53 && promise.second == Second::none && !promise.updates;
  if (!promise.may_lengthen || !is_usual || !is_plain || k < kLeastLongLine) return plan;
  return *find_plan({plan.scheme, plan.alphabet, plan.family, kMostExactBits, k}, false);
}

// As many of the first moduli of a plan of the long form as the short form can take.
std::optional<ReconstructPlan> make_short(const Plan& residues, int k) {
  Plan few = residues;
  while (few.groups.size() > 1) {
    few.groups.pop_back();
    ReconstructPlan plan = make_reconstruct_plan(few, k);
    if (!plan.is_long()) return plan;
  }
  return std::nullopt;
}

int limbs_of_tiles(const Plan& plan, int k, const Promise& promise) {
  if (promise.has_integers || promise.updates || promise.second != Second::none || promise.counts_rounded()) return 0;
  return tile_limbs(plan, k, promise.certifies() ? accuracy_bits(promise.accuracy, promise.precision) : plan.bits);
}

EncodedEntries entries_of(const CudaPlan& made) {
  if (made.promise.has_integers) return EncodedEntries::integers;
  return made.exact_bits != 0 ? EncodedEntries::long_lines : EncodedEntries::numbers;
}

}  // namespace

CudaPlan make_cuda_plan(const Plan& asked, int k, Kernel kernel, const Promise& promise) {
  check_promise(asked, promise);
  const Plan plan = lengthened_plan(shortened_plan(asked, promise), k, promise);
  const Plan residues = plan.is_complex ? joined_plan(plan) : plan;
  CudaPlan made;
  made.plan = plan;
  made.bits = plan.bits;
  made.exact_bits = plan.bits > asked.bits ? plan.bits : 0;
  made.k = k;
  made.integer = plan.scheme == Scheme::integer;
  made.kernel = kernel;
  made.promise = promise;
  made.schedule = make_schedule(plan, element_of(plan, kernel), k / plan.width());
  made.prefixes = promise.has_integers ? make_integer_prefix_rule(plan) : make_prefix_rule(plan, kMaxPrefixes);
  made.encode = make_encode_plan(plan, made.schedule.element == Element::e2m1, entries_of(made));
  made.join = make_join_plan(plan);
  if (promise.has_integers) {
    made.integers = make_integer_plan(plan, promise.modulus, promise.second == Second::overflows);
  } else if (!made.integer) {
    made.reconstruct = make_reconstruct_plan(residues, k, promise.updates);
  }
  if (made.exact_bits != 0 && made.reconstruct.is_long()) made.few = make_short(residues, k);
  if (made.few) {
    if (made.few->all + 1 < made.reconstruct.least) throw std::logic_error("counts of moduli that no reconstruct serves");
    made.prefixes = make_prefix_rule(plan, plan.count() - made.few->least + 1);
  }
  made.tile_limbs = limbs_of_tiles(plan, k, promise);
  return made;
}

GemmShape gemm_shape(const Schedule& schedule, std::int32_t m, std::int32_t n, std::int32_t k, std::int64_t matrices,
                     bool may_split, const Gpu& gpu) {
  const auto folds = std::count_if(schedule.steps.begin(), schedule.steps.end(),
                                   [](const GemmStep& step) { return step.action != Action::carry_on; });
  GemmShape shape{m,
                  n,
                  k,
                  schedule.unit_count(),
                  static_cast<int>(schedule.steps.size()),
                  static_cast<int>(folds),
                  narrow<int>(matrices, "matrices of a turn"),
                  1};
  // Cutting K costs output bytes, so it is for outputs with tiles that leave multiprocessors idle.
  const std::int64_t tiles = size_of({ceil_div(m, 128), ceil_div(n, 256), matrices, shape.units});
  if (schedule.may_split && may_split && tiles < gpu.multiprocessors) shape.max_splits = kMaxSplits;
  return shape;
}

}  // namespace ozfp4::cuda
