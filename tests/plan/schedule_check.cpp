// The schedules of all kinds of plans against the products themselves.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "plan/schedule.hpp"

using namespace ozfp4;

namespace {

using Integer = __int128;

Integer floor_mod(Integer x, Integer m) { return ((x % m) + m) % m; }

// ---- Schedules of plans ------------------------------------------------------------------------------------------------

// What the schedule stores for one entry and one split, by the contract of plan/schedule.hpp; the accumulator keeps 32 bits.
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
        case Action::fold: acc = static_cast<std::int64_t>(floor_mod(acc, m)) * step.multiplier; break;
        case Action::store_residue: out[step.out_plane] = static_cast<std::int64_t>(floor_mod(acc * step.multiplier, m)); break;
        case Action::store_digit:
          out[step.out_plane] = static_cast<std::int64_t>(floor_mod(acc, m));
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
bool is_right(const Plan& plan, const std::vector<std::int64_t>& out, Integer product) {
  if (plan.scheme == Scheme::integer) return out[0] == static_cast<std::int32_t>(static_cast<std::int64_t>(product));
  if (plan.scheme == Scheme::two) {
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      if (floor_mod(out[g], plan.groups[g].modulus) != floor_mod(product, plan.groups[g].modulus)) return false;
    }
    return true;
  }
  Integer sum = 0;
  for (std::size_t d = out.size(); d-- > 0;) sum = sum * plan.base + out[d];
  return sum == product;
}

void check_schedule(const Plan& plan, Element element, int k, const std::string& name) {
  const Schedule schedule = make_schedule(plan, element, k);
  const std::int64_t limit = plan.scheme == Scheme::integer ? 128 : std::int64_t(1) << plan.bits;
  for (const bool is_extreme : {false, true}) {
    std::vector<std::vector<int>> a(plan.planes_a, std::vector<int>(k)), b(plan.planes_b, std::vector<int>(k));
    std::vector<std::int32_t> limbs(std::max(plan.planes_a, plan.planes_b));
    std::vector<std::int64_t> x(k), y(k);
    for (auto& [values, planes] : {std::pair{&x, &a}, std::pair{&y, &b}}) {
      for (int i = 0; i < k; ++i) {
        std::int64_t& v = (*values)[i] = is_extreme ? (values == &x ? -limit : limit) : random_int(-limit, limit);
        if (plan.scheme == Scheme::integer) v = std::min<std::int64_t>(v, 127);
        encode_integer(plan, wide_from<kMaxWords>(v), limbs.data());
        for (std::size_t p = 0; p < planes->size(); ++p) (*planes)[p][i] = limbs[p];
        if (element != Element::u8) continue;
        for (const Group& group : plan.groups) {
          (*planes)[group.first_plane][i] = static_cast<int>(floor_mod(v, group.modulus));
        }
      }
    }
    Integer product = 0;
    for (int i = 0; i < k; ++i) product += Integer(x[i]) * y[i];

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
    report(name + (is_extreme ? " extreme" : ""), fits && is_right(plan, out, product),
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
    for (const int bits : {3, 24, 53}) {
      for (const int k : {1, 100, 257, 1000, 34000, 120000}) {
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
