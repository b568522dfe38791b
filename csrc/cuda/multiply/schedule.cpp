#include "cuda/multiply/schedule.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "arith/float_fields.hpp"
#include "arith/limits.hpp"
#include "arith/multiples.hpp"
#include "plan/moduli/moduli.hpp"

namespace ozfp4 {
namespace {

// The largest magnitude that an accumulator may hold before a fold.
std::int64_t limit_of(Element element) {
  return element == Element::e2m1 ? kFp32Exact : element == Element::s8 ? kSignedFoldExact : kInt32Exact;
}

std::int64_t round_down(std::int64_t x, std::int64_t multiple) { return x / multiple * multiple; }

// Appends the steps of one modulus: its chain, each term's K range cut so that the accumulator stays foldable.
void add_chain(Schedule& schedule, const Group& group, int unit, int k, std::int64_t max_product) {
  const std::int64_t limit = limit_of(schedule.element);
  const auto modulus = static_cast<std::uint32_t>(group.modulus);
  // A fold leaves a residue below m, times a multiplier below m.
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
  schedule.units_per_modulus = plan.width();
  schedule.may_split = !plan.is_complex;  // the residues of the parts come from whole sums
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

// ---- The proof ---------------------------------------------------------------------------------------------------------

// The worst accumulator of a unit, followed through its steps.
class BoundWalk {
 public:
  // `longest`: the largest part of K that one split sums.
  BoundWalk(const ScheduleView& schedule, std::int64_t longest) : schedule_(schedule), longest_(longest) {}

  const char* take(const GemmStep& step) {
    const std::int64_t summed = std::min<std::int64_t>(step.k_end - step.k_begin, longest_);
    bound_ += std::uint64_t(schedule_.product_bound) * static_cast<std::uint64_t>(summed);
    if (is_float() && bound_ > kFp32Exact) return "the sum may exceed 2^24, up to which FP32 accumulators are exact";
    const std::uint64_t factor = static_cast<std::uint64_t>(std::abs(std::int64_t(step.multiplier)));
    const std::uint64_t product = (std::uint64_t(step.modulus) - 1) * factor;
    switch (step.action) {
      case Action::carry_on: return nullptr;
      case Action::multiply: wraps_ = !is_float(); return start_with(bound_ * factor);
      case Action::store_int32: return nullptr;
      case Action::fold:
        if (const char* error = find_fold_error(step, bound_)) return error;
        if (!is_signed(schedule_.element) && step.multiplier < 0) return "a negative multiplier needs signed planes";
        return start_with(product);
      case Action::store_residue:
        if (const char* error = find_fold_error(step, bound_)) return error;
        if (step.multiplier == 1) return nullptr;
        if (!is_signed(schedule_.element) && step.multiplier < 0) return "a negative multiplier needs signed planes";
        if (const char* error = find_fold_error(step, product, step.multiplier >= 0)) return error;
        return start_with(product);
      case Action::store_digit:
        if (const char* error = find_fold_error(step, bound_)) return error;
        return start_with(bound_ / step.modulus + 1);
    }
    return "unknown action";
  }

 private:
  bool is_float() const { return schedule_.element == Element::e2m1; }

  const char* start_with(std::uint64_t bound) {
    bound_ = bound;
    if (is_float() && bound > kFp32StartExact) return "an action may leave more than 2^22 in an FP32 accumulator";
    return nullptr;
  }

  const char* find_fold_error(const GemmStep& step, std::uint64_t bound, bool is_nonnegative = false) const {
    if (step.modulus < 2 || step.modulus > 256) return "a fold needs a modulus from 2 to 256";
    if (wraps_) return "an accumulator that may have wrapped cannot be folded";
    const fold_constants expected = make_fold(step.modulus);
    if (step.magic != expected.magic || step.shift != expected.shift || !is_byte_fold(step.bytes, step.modulus)) {
      return "wrong constants of a fold: use make_step";
    }
    const std::uint64_t offset = static_cast<std::uint64_t>(step.offset_quotient) * step.modulus;
    if (step.offset_quotient < 0 || offset + bound > kInt32Exact) {
      return "the sum may exceed the INT32 accumulator";
    }
    if (!is_signed(schedule_.element)) return step.offset_quotient == 0 ? nullptr : "unsigned planes take no offset";
    if (!is_nonnegative && offset < bound) return "the offset of a signed fold is below the largest sum";
    return nullptr;
  }

  const ScheduleView& schedule_;
  std::int64_t longest_;
  std::uint64_t bound_ = 0;
  bool wraps_ = false;
};

// One step of a unit by itself; nullptr where it is well formed.
const char* find_step_error(const GemmStep& step, const ScheduleView& schedule, int k, int planes_a, int planes_b, bool is_last) {
  const int block = block_entries(schedule.element);
  if (step.a_plane >= planes_a || step.b_plane >= planes_b) return "a step names a plane that is not there";
  if (step.k_begin < 0 || step.k_begin > step.k_end || step.k_end > k) return "a step's K range is not inside K";
  if (step.k_begin % block != 0 || (step.k_end % block != 0 && step.k_end != k)) {
    return block == 128 ? "K ranges are cut at multiples of 128" : "K ranges of E2M1 codes are cut at multiples of 256";
  }
  if (ends_unit(step.action) && !is_last) return "steps after the store that ends a unit";
  if (is_last && !stores(step.action)) return "a unit must end in a store";
  if (stores(step.action) && step.out_plane >= schedule.out_planes) return "a step stores to a plane that is not there";
  return nullptr;
}

}  // namespace

GemmStep make_step(int a_plane, int b_plane, int k_begin, int k_end, Action action, std::uint32_t modulus,
                   std::int32_t multiplier, int out_plane, std::uint32_t bound) {
  GemmStep step;
  step.a_plane = static_cast<std::uint16_t>(a_plane);
  step.b_plane = static_cast<std::uint16_t>(b_plane);
  step.out_plane = static_cast<std::uint16_t>(out_plane);
  step.action = action;
  step.k_begin = k_begin;
  step.k_end = k_end;
  step.multiplier = multiplier;
  if (modulus >= 2) {
    const fold_constants f = make_fold(modulus, bound);
    step.modulus = modulus;
    step.magic = f.magic;
    step.shift = static_cast<std::uint8_t>(f.shift);
    step.offset_quotient = static_cast<std::int32_t>(f.offset / modulus);
    if (modulus <= 256) step.bytes = make_byte_fold(modulus);
  }
  return step;
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

int integer_bits(const Plan& plan, std::int64_t k) { return 2 * plan.bits + highest_bit(static_cast<std::uint64_t>(k | 1)) + 2; }

int positional_digits(const Plan& plan, std::int64_t k) {
  words_for(integer_bits(plan, k) + 16, "the integers of this plan and a digit more");
  PlanInt largest = wide_from<kMaxWords>(k);
  for (int i = 0; i < 2 * plan.bits; ++i) largest = wide_add(largest, largest);
  PlanInt reach = wide_from<kMaxWords>(127);  // of the last plane
  int digits = 1;
  for (; wide_is_negative(wide_sub(reach, largest)) || digits <= static_cast<int>(plan.groups.size()); ++digits) {
    reach = wide_mul_small(reach, static_cast<std::uint32_t>(plan.base));
  }
  return digits;
}

const char* find_schedule_error(const ScheduleView& schedule, int k, int splits, int planes_a, int planes_b) {
  if (schedule.unit_count < 0 || schedule.unit_count > kMaxUnits) return "too many units";
  if (schedule.steps == nullptr || schedule.unit_begin == nullptr) return "no schedule";
  if (schedule.product_bound == 0) return "product_bound is not set";
  if (schedule.unit_begin[0] != 0) return "the first unit starts at step 0";
  if (schedule.units_per_modulus < 1 || schedule.unit_count % schedule.units_per_modulus != 0) {
    return "units must be so many for every modulus";
  }
  if (splits < 1) return "splits must be positive";
  const int block = block_entries(schedule.element);
  const std::int64_t longest = ceil_div(ceil_div(k, block), splits) * block;
  bool bytes = false, words = false;
  for (int u = 0; u < schedule.unit_count; ++u) {
    const int first = schedule.unit_begin[u], last = schedule.unit_begin[u + 1];
    if (first >= last) return "a unit without steps";
    BoundWalk walk(schedule, longest);
    for (int s = first; s < last; ++s) {
      const GemmStep& step = schedule.steps[s];
      if (const char* error = find_step_error(step, schedule, k, planes_a, planes_b, s + 1 == last)) return error;
      words |= step.action == Action::store_int32;
      bytes |= stores(step.action) && step.action != Action::store_int32;
      if (const char* error = walk.take(step)) return error;
    }
  }
  return bytes && words ? "bytes and words cannot be stored by one launch" : nullptr;
}

}  // namespace ozfp4
