#include "cuda/multiply/schedule.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "arith/limits.hpp"
#include "cuda/reconstruct/reconstruct_plan.hpp"

namespace ozfp4::cuda {
namespace {

std::int64_t limit_of(Element element) {
  return element == Element::e2m1 ? kFp32Exact : element == Element::s8 ? kSignedFoldExact : kInt32Exact;
}

std::int64_t round_down(std::int64_t x, std::int64_t multiple) { return x / multiple * multiple; }

// Appends the steps of one modulus: its chain, each term's K range cut so that the accumulator stays foldable.
void add_chain(Schedule& schedule, const Group& group, int unit, int k, std::int64_t max_product) {
  const std::int64_t limit = limit_of(schedule.element);
  const auto modulus = static_cast<std::uint32_t>(group.modulus);
  // What a fold leaves: a residue below m, times a multiplier below m.
  const std::int64_t start_limit = group.modulus * group.modulus;
  const std::int64_t longest = round_down((limit - start_limit) / max_product, block_entries(schedule.element));
  std::int64_t held = 0;
  auto bound = [&] { return is_signed(schedule.element) ? static_cast<std::uint32_t>(held) : 0u; };
  auto fold_last = [&](std::int64_t multiplier) {
    GemmStep& last = schedule.steps.back();
    last = make_step(last.a_plane, last.b_plane, last.k_begin, last.k_end, Action::fold, modulus,
                     static_cast<std::int32_t>(multiplier), 0, bound());
    held = (group.modulus - 1) * multiplier;
  };
  for (std::size_t s = 0; s < group.chain.size(); ++s) {
    const Step& step = group.chain[s];
    for (std::int64_t begin = 0; begin < k; begin += longest) {
      const std::int64_t end = std::min<std::int64_t>(begin + longest, k);
      if (held + (end - begin) * max_product > limit) fold_last(1);
      held += (end - begin) * max_product;
      schedule.steps.push_back(
          make_step(step.a_plane, step.b_plane, static_cast<int>(begin), static_cast<int>(end), Action::carry_on));
    }
    if (s + 1 < group.chain.size() && step.multiplier != 0) fold_last(step.multiplier);
  }
  GemmStep& last = schedule.steps.back();
  last = make_step(last.a_plane, last.b_plane, last.k_begin, last.k_end, Action::store_residue, modulus,
                   static_cast<std::int32_t>(group.chain.back().multiplier), unit, bound());
  schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
}

Schedule residue_schedule(const Plan& plan, Element element, int k) {
  Schedule schedule;
  schedule.element = element;
  schedule.planes = plan.planes_a;
  schedule.out_planes = static_cast<int>(plan.groups.size());
  schedule.unit_begin.push_back(0);
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const Group& group = plan.groups[g];
    // Limbs as the plan has them; residues in [0, m) on the GPU.
    const std::int64_t max_product = is_signed(element) ? group.max_product : (group.modulus - 1) * (group.modulus - 1);
    schedule.product_bound = std::max(schedule.product_bound, static_cast<std::uint32_t>(max_product));
  }
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    add_chain(schedule, plan.groups[g], static_cast<int>(g), k, schedule.product_bound);
  }
  return schedule;
}

// One unit: the digit groups from low to high; each emits its digit and carries the rest on.
Schedule digit_schedule(const Plan& plan, Element element, int k, int whole_k) {
  Schedule schedule;
  schedule.element = element;
  schedule.planes = plan.planes_a;
  schedule.product_bound = static_cast<std::uint32_t>(plan.groups[0].max_product);
  const auto base = static_cast<std::uint32_t>(plan.base);
  const int groups = static_cast<int>(plan.groups.size()), digits = positional_digits(plan, whole_k);
  schedule.out_planes = digits;
  // A group's sum and the carry into it, which is below 1 / (base - 1) of the largest such sum.
  const std::int64_t limit = limit_of(element);
  const std::int64_t per_k = static_cast<std::int64_t>(schedule.product_bound) * plan.planes_a;
  const std::int64_t longest = round_down((limit - limit / 8) / per_k, block_entries(element));
  schedule.least_splits = static_cast<int>((k + longest - 1) / longest);
  if (schedule.least_splits > kMaxSplits) {
    throw std::length_error("k = " + std::to_string(k) +
                            " exceeds what scheme I sums exactly on a GPU, K <= " + std::to_string(longest * kMaxSplits));
  }
  const auto bound = static_cast<std::uint32_t>(limit);
  schedule.unit_begin.push_back(0);
  for (int g = 0; g < groups; ++g) {
    const Group& group = plan.groups[static_cast<std::size_t>(g)];
    for (int t = group.first_term; t < group.first_term + group.terms; ++t) {
      const Term& term = plan.terms[static_cast<std::size_t>(t)];
      const bool last = t + 1 == group.first_term + group.terms;
      schedule.steps.push_back(last ? make_step(term.a_plane, term.b_plane, 0, k, Action::store_digit, base, 1, g, bound)
                                    : make_step(term.a_plane, term.b_plane, 0, k, Action::carry_on));
    }
  }
  for (int d = groups; d + 1 < digits; ++d)
    schedule.steps.push_back(make_step(0, 0, 0, 0, Action::store_digit, base, 1, d, bound));
  schedule.steps.push_back(make_step(0, 0, 0, 0, Action::store_residue, 256, 1, digits - 1, bound));
  schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
  return schedule;
}

// Inverse modulo 2^32 of an odd number, by Newton's iteration.
std::uint32_t odd_inverse(std::uint32_t x) {
  std::uint32_t y = x;  // right modulo 8
  for (int i = 0; i < 4; ++i) y *= 2 - x * y;
  return y;
}

// INT8 products: Horner's rule modulo 2^32, where every weight is odd and so divides every other.
Schedule int8_schedule(const Plan& plan, int k) {
  Schedule schedule;
  schedule.element = Element::s8;
  schedule.planes = plan.planes_a;
  schedule.out_planes = 1;
  schedule.may_split = false;
  schedule.product_bound = static_cast<std::uint32_t>(plan.groups[0].max_product);
  schedule.unit_begin.push_back(0);
  for (std::size_t t = 0; t < plan.terms.size(); ++t) {
    const Term& term = plan.terms[t];
    const auto weight = static_cast<std::uint32_t>(term.weight);
    const bool last = t + 1 == plan.terms.size();
    const std::uint32_t next = last ? 1 : static_cast<std::uint32_t>(plan.terms[t + 1].weight);
    const Action action = last ? Action::store_int32 : (weight == next ? Action::carry_on : Action::multiply);
    schedule.steps.push_back(
        make_step(term.a_plane, term.b_plane, 0, k, action, 0, static_cast<std::int32_t>(weight * odd_inverse(next))));
  }
  schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
  return schedule;
}

}  // namespace

Element element_of(const Plan& plan, Kernel kernel) {
  if (stores_residues_only(kernel) && plan.scheme != Scheme::two) {
    throw std::invalid_argument(std::string("kernel: ") + kernel_name(kernel) +
                                " stores residues, which only plans of scheme II have");
  }
  if (takes_codes(kernel)) {
    if (!plan.alphabet.has_e2m1_codes || plan.scheme == Scheme::integer) {
      throw std::invalid_argument(std::string("kernel: ") + kernel_name(kernel) +
                                  " multiplies E2M1 codes, which this plan has none of");
    }
    return Element::e2m1;
  }
  return plan.scheme == Scheme::two && plan.alphabet.residue_is_limb() ? Element::u8 : Element::s8;
}

Schedule make_schedule(const Plan& plan, Element element, int k, int whole_k) {
  if (k > kLongestExtent) {
    throw std::length_error("k = " + std::to_string(k) +
                            " exceeds the longest products of a GPU, K <= " + std::to_string(kLongestExtent));
  }
  switch (plan.scheme) {
    case Scheme::one: return digit_schedule(plan, element, k, whole_k);
    case Scheme::two: return residue_schedule(plan, element, k);
    case Scheme::integer: return int8_schedule(plan, k);
  }
  throw std::logic_error("unknown scheme");
}

}  // namespace ozfp4::cuda
