// The schedules of all kinds of plans against the products themselves.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arith/limits.hpp"
#include "check.hpp"
#include "cuda/multiply/schedule.hpp"

using namespace ozfp4;

// As the paper prints them for Lemmas 2 and 3.
static_assert(accumulator_k_max(144, std::int64_t(1) << 24) == 116508);
static_assert(accumulator_k_max(64 * 15, std::int64_t(1) << 24) == 17476);
static_assert(accumulator_k_max(288, std::int64_t(1) << 24) == 58254);
static_assert(accumulator_k_max(28224, std::int64_t(1) << 31) == 76087);

namespace {

std::int64_t floor_mod(std::int64_t x, std::int64_t m) { return ((x % m) + m) % m; }

std::int64_t floor_mod(const PlanInt& x, std::int64_t m) {
  const std::uint32_t sign = wide_sign_mask(x);
  std::uint32_t r = 0;
  wide_divide_small(wide_magnitude(x, sign), static_cast<std::uint32_t>(m), r);
  return sign == 0 || r == 0 ? std::int64_t(r) : m - r;
}

PlanInt number(std::int64_t v) { return wide_from<kMaxWords>(v); }

PlanInt times(const PlanInt& x, const PlanInt& y) {
  const std::uint32_t sign = wide_sign_mask(y);
  const PlanInt magnitude = wide_magnitude(y, sign);
  PlanInt sum = number(0);
  for (int i = (wide_bit_length(magnitude) + 31) / 32 - 1; i >= 0; --i) {
    for (int w = kMaxWords - 1; w >= 0; --w) sum.word[w] = w == 0 ? 0u : sum.word[w - 1];
    sum = wide_add(sum, wide_mul_small(x, magnitude.word[i]));
  }
  return sign == 0 ? sum : wide_negate(sum);
}

bool equal(const PlanInt& x, const PlanInt& y) { return std::equal(x.word, x.word + kMaxWords, y.word); }

// Uniform in [-2^bits, 2^bits), or one of the ends of what a plan takes.
PlanInt random_integer(int bits) {
  PlanInt x = number(random_int(-1, 0));
  for (int i = 0; i < bits / 32; ++i) x.word[i] = static_cast<std::uint32_t>(generator());
  const std::uint32_t mask = (1u << (bits % 32)) - 1;
  x.word[bits / 32] = (static_cast<std::uint32_t>(generator()) & mask) | (x.word[bits / 32] & ~mask);
  return x;
}
PlanInt extreme_integer(int bits, bool is_negative) {
  PlanInt x = number(0);
  x.word[bits / 32] = 1u << (bits % 32);
  return is_negative ? wide_negate(x) : x;
}

// ---- Schedules of plans ------------------------------------------------------------------------------------------------

// The bytes that the schedule stores for one entry and one split, by the contract of cuda/multiply/schedule.hpp; the accumulator
// keeps 32 bits.
std::vector<std::int64_t> stored(const Schedule& schedule, const std::vector<std::vector<int>>& a,
                                 const std::vector<std::vector<int>>& b, int k_first, int k_last) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(schedule.out_planes), -1);
  for (int u = 0; u < schedule.unit_count(); ++u) {
    std::int64_t acc = 0;
    for (int s = schedule.unit_begin[u]; s < schedule.unit_begin[u + 1]; ++s) {
      const GemmStep& step = schedule.steps[s];
      for (int k = std::max(step.k_begin, k_first); k < std::min(step.k_end, k_last); ++k) {
        acc += std::int64_t(a[step.a_plane][k]) * b[step.b_plane][k];
      }
      const auto m = static_cast<std::int64_t>(step.modulus);
      switch (step.action) {
        case Action::carry_on: break;
        case Action::fold: acc = floor_mod(acc, m) * step.multiplier; break;
        case Action::store_residue: out[step.out_plane] = floor_mod(acc * step.multiplier, m); break;
        case Action::store_digit:
          out[step.out_plane] = floor_mod(acc, m);
          acc = (acc - out[step.out_plane]) / m;
          break;
        case Action::multiply: acc = static_cast<std::int32_t>(acc * step.multiplier); break;
        case Action::store_int32: out[step.out_plane] = static_cast<std::int32_t>(acc * step.multiplier); break;
      }
    }
  }
  return out;
}

// `out`: summed over splits.
bool is_right(const Plan& plan, const std::vector<std::int64_t>& out, const std::vector<PlanInt>& x,
              const std::vector<PlanInt>& y) {
  PlanInt product = number(0);
  for (std::size_t i = 0; i < x.size(); ++i) product = wide_add(product, times(x[i], y[i]));
  if (plan.scheme == Scheme::two) {
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      const std::int64_t m = plan.groups[g].modulus;
      if (floor_mod(out[g], m) != floor_mod(product, m)) return false;
    }
    return true;
  }
  if (plan.scheme == Scheme::integer) return out[0] == static_cast<std::int32_t>(product.word[0]);
  PlanInt sum = number(0);
  for (std::size_t d = out.size(); d-- > 0;) {
    sum = wide_add(wide_mul_small(sum, static_cast<std::uint32_t>(plan.base)), number(out[d]));
  }
  return equal(sum, product);
}

// Integers of an operand that are encoded by themselves: encoding, which is not what is checked, takes longer than all the rest.
constexpr int kDistinct = 1000;

void check_schedule(const Plan& plan, Element element, int k, const std::string& name) {
  const Schedule schedule = make_schedule(plan, element, k);
  for (const bool is_extreme : {false, true}) {
    std::vector<std::vector<int>> a(plan.planes_a, std::vector<int>(k)), b(plan.planes_b, std::vector<int>(k));
    std::vector<std::int32_t> limbs(std::max(plan.planes_a, plan.planes_b));
    std::vector<PlanInt> x(k), y(k);
    for (auto& [values, planes] : {std::pair{&x, &a}, std::pair{&y, &b}}) {
      for (int i = 0; i < k; ++i) {
        // Long lines repeat what their first entries are: which of them meet is another matter in each operand.
        const int like = i < kDistinct ? i : is_extreme ? 0 : random_int(0, kDistinct - 1);
        if (like < i) {
          (*values)[i] = (*values)[like];
          for (std::vector<int>& plane : *planes) plane[i] = plane[like];
          continue;
        }
        PlanInt& v = (*values)[i] = is_extreme ? extreme_integer(plan.bits, values == &x) : random_integer(plan.bits);
        if (plan.scheme == Scheme::integer && is_extreme && values == &y) v = number(127);
        encode_integer(plan, v, limbs.data());
        for (std::size_t p = 0; p < planes->size(); ++p) (*planes)[p][i] = limbs[p];
        if (element != Element::u8) continue;
        for (const Group& group : plan.groups) {
          (*planes)[group.first_plane][i] = static_cast<int>(floor_mod(v, group.modulus));
        }
      }
    }
    const int block = block_entries(element), splits = schedule.may_split ? std::max(schedule.least_splits, random_int(1, 3)) : 1;
    const int length = ((k + block - 1) / block + splits - 1) / splits * block;
    std::vector<std::int64_t> out(static_cast<std::size_t>(schedule.out_planes), 0);
    bool fits = true;
    for (int split = 0; split < splits; ++split) {
      auto part = stored(schedule, a, b, split * length, (split + 1) * length);
      // The last digit is a byte in two's complement, as the carry leaves it.
      if (plan.scheme == Scheme::one) part.back() = static_cast<std::int8_t>(part.back());
      for (std::size_t p = 0; p < out.size(); ++p) {
        fits = fits && (plan.scheme == Scheme::integer || (part[p] >= -128 && part[p] < 256));
        out[p] += part[p];
      }
    }
    report(name + (is_extreme ? " extreme" : ""), fits && is_right(plan, out, x, y),
           std::to_string(k) + " in " + std::to_string(splits));
  }

  const int splits = std::max(schedule.least_splits, 1);
  const char* error = find_schedule_error(schedule.view(), k, splits, plan.planes_a, plan.planes_b);
  report(name, error == nullptr, error == nullptr ? "" : error);
}

void check_plans() {
  struct Way {
    Scheme scheme;
    Alphabet alphabet;
    const char* family;
    Element element;
  };
  const Way ways[] = {
      {Scheme::two, Alphabet::int8, "least", Element::u8},          {Scheme::two, Alphabet::fp4, "least", Element::s8},
      {Scheme::two, Alphabet::fp4, "least", Element::e2m1},         {Scheme::two, Alphabet::fp4, "paper", Element::e2m1},
      {Scheme::two, Alphabet::fp4, "paper-karatsuba", Element::s8}, {Scheme::one, Alphabet::fp4, "least", Element::s8},
      {Scheme::one, Alphabet::fp4, "least", Element::e2m1},         {Scheme::one, Alphabet::int8, "least", Element::s8}};
  constexpr const char* schemes[] = {"I", "II"};
  for (const Way& way : ways) {
    for (const int bits : {3, 24, 53, 54, 76, 109, 160, 200}) {
      for (const int k : {1, 100, 257, 1000, 34000, 120000}) {
        if (bits > 53 && k > 1000) continue;  // what depends on K is seen with few bits
        Plan plan;
        try {
          plan = make_plan({way.scheme, way.alphabet, way.family, bits, k});
        } catch (const std::exception&) {
          continue;  // too few bits, or too long
        }
        check_schedule(plan, way.element, k,
                       std::string(schemes[static_cast<int>(way.scheme)]) + " " + way.family + " element " +
                           std::to_string(static_cast<int>(way.element)) + " bits " + std::to_string(bits) + " k " +
                           std::to_string(k));
      }
    }
  }
  for (const int products : {6, 9}) {
    for (const int k : {1, 257, 34000, 100000}) {
      check_schedule(make_int8_matmul_plan(products), Element::s8, k, "INT8 products, k " + std::to_string(k));
    }
  }
}

void check_blocks() {
  for (const Element element : {Element::u8, Element::s8, Element::e2m1}) {
    report("a block is 128 bytes of a row", row_bytes(element, block_entries(element)) == 128, "");
  }
}

}  // namespace

int main() {
  check_plans();
  check_blocks();
  return finish();
}
