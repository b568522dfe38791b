// The schedules of all kinds of plans against the products themselves: whole, and of pieces of K with outputs that are added.
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
#include "cuda/elementwise/add_bytes.hpp"
#include "cuda/multiply/schedule.hpp"
#include "cuda/multiply/units.hpp"

using namespace ozfp4;

// As the paper prints them for Lemmas 2 and 3.
static_assert(accumulator_k_max(144, std::int64_t(1) << 24) == 116508);
static_assert(accumulator_k_max(64 * 15, std::int64_t(1) << 24) == 17476);
static_assert(accumulator_k_max(288, std::int64_t(1) << 24) == 58254);
static_assert(accumulator_k_max(28224, std::int64_t(1) << 31) == 76087);

namespace {

using ozfp4::floor_mod;
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

// Integers of a row and a column, and their limbs or residues: [plane][k].
struct Lines {
  std::vector<PlanInt> x, y;
  std::vector<std::vector<int>> a, b;
};

// The bytes that the schedule stores for one entry, of the entries of K from `first` on, and of those the ones in the split.
std::vector<std::int64_t> stored(const Schedule& schedule, const Lines& lines, int first, int k_first, int k_last) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(schedule.out_planes), -1);
  const auto sum_of = [&](const GemmStep& step) {
    std::int64_t sum = 0;
    for (int k = std::max(step.k_begin, k_first); k < std::min(step.k_end, k_last); ++k) {
      sum += std::int64_t(lines.a[step.a_plane][first + k]) * lines.b[step.b_plane][first + k];
    }
    return sum;
  };
  run_units(schedule.view(), schedule.unit_count(), sum_of, [&](int plane, std::int64_t value) { out[plane] = value; });
  return out;
}

// `out`: summed over splits, or pieces of K.
bool is_right(const Plan& plan, const std::vector<std::int64_t>& out, const Lines& lines) {
  PlanInt product = number(0);
  for (std::size_t i = 0; i < lines.x.size(); ++i) product = wide_add(product, times(lines.x[i], lines.y[i]));
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

Lines draw_lines(const Plan& plan, Element element, int k, bool is_extreme) {
  Lines lines;
  std::vector<std::int32_t> limbs(std::max(plan.planes_a, plan.planes_b));
  lines.a.assign(plan.planes_a, std::vector<int>(k));
  lines.b.assign(plan.planes_b, std::vector<int>(k));
  for (auto& [values, planes] : {std::pair{&lines.x, &lines.a}, std::pair{&lines.y, &lines.b}}) {
    for (int i = 0; i < k; ++i) {
      // Long lines repeat what their first entries are: which of them meet is another matter in each operand.
      const int like = i < kDistinct ? i : is_extreme ? 0 : random_int(0, kDistinct - 1);
      if (like < i) {
        values->push_back((*values)[like]);
        for (std::vector<int>& plane : *planes) plane[i] = plane[like];
        continue;
      }
      PlanInt v = is_extreme ? extreme_integer(plan.bits, values == &lines.x) : random_integer(plan.bits);
      if (plan.scheme == Scheme::integer && is_extreme && values == &lines.y) v = number(127);
      values->push_back(v);
      encode_integer(plan, v, limbs.data());
      for (std::size_t p = 0; p < planes->size(); ++p) (*planes)[p][i] = limbs[p];
      if (element != Element::u8) continue;
      for (const Group& group : plan.groups) {
        (*planes)[group.first_plane][i] = static_cast<int>(floor_mod(v, group.modulus));
      }
    }
  }
  return lines;
}

void check_schedule(const Plan& plan, Element element, int k, const std::string& name) {
  const Schedule schedule = make_schedule(plan, element, k);
  for (const bool is_extreme : {false, true}) {
    const Lines lines = draw_lines(plan, element, k, is_extreme);
    const int block = block_entries(element), splits = schedule.may_split ? std::max(schedule.least_splits, random_int(1, 3)) : 1;
    const int length = ((k + block - 1) / block + splits - 1) / splits * block;
    std::vector<std::int64_t> out(static_cast<std::size_t>(schedule.out_planes), 0);
    bool fits = true;
    for (int split = 0; split < splits; ++split) {
      auto part = stored(schedule, lines, 0, split * length, (split + 1) * length);
      // The last digit is a byte in two's complement, as the carry leaves it.
      if (plan.scheme == Scheme::one) part.back() = static_cast<std::int8_t>(part.back());
      for (std::size_t p = 0; p < out.size(); ++p) {
        fits = fits && (plan.scheme == Scheme::integer || (part[p] >= -128 && part[p] < 256));
        out[p] += part[p];
      }
    }
    report(name + (is_extreme ? " extreme" : ""), fits && is_right(plan, out, lines),
           std::to_string(k) + " in " + std::to_string(splits));
  }

  const int splits = std::max(schedule.least_splits, 1);
  const char* error = find_schedule_error(schedule.view(), k, splits, plan.planes_a, plan.planes_b);
  report(name, error == nullptr, error == nullptr ? "" : error);
}

// Outputs of pieces of K, each with its own schedule, add up to those of the whole.
void check_pieces(const Plan& plan, Element element, int k, const std::string& name) {
  for (const bool is_extreme : {false, true}) {
    const Lines lines = draw_lines(plan, element, k, is_extreme);
    const int piece = block_entries(element) * random_int(1, 2);
    std::vector<std::int64_t> sum;
    for (int first = 0; first < k; first += piece) {
      const Schedule schedule = make_schedule(plan, element, std::min(piece, k - first), k);
      const auto part = stored(schedule, lines, first, 0, piece);
      if (first == 0) {
        sum = part;
        continue;
      }
      std::vector<std::uint32_t> modulus(sum.size());
      for (const GemmStep& step : schedule.steps) {
        if (stores(step.action)) modulus[step.out_plane] = step.modulus;
      }
      std::uint32_t carry = 0;
      for (std::size_t p = 0; p < sum.size(); ++p) {
        if (plan.scheme == Scheme::two) carry = 0;
        const auto four = [](std::int64_t byte) { return static_cast<std::uint32_t>(byte) * 0x01010101u; };
        const std::uint32_t word = add_bytes(four(sum[p]), four(part[p]), modulus[p], carry);
        report("four bytes alike", word == four(word & 0xffu));
        sum[p] = word & 0xffu;
      }
    }
    if (plan.scheme == Scheme::one) sum.back() = static_cast<std::int8_t>(sum.back());
    report(name + " in pieces of " + std::to_string(piece), is_right(plan, sum, lines));
  }
}

void check_plans() {
  constexpr const char* schemes[] = {"I", "II"};
  for (const PlanWay& way : kPlanWays) {
    for (const int bits : {3, 24, 53, 54, 76, 109, 160, 200}) {
      for (const int k : {1, 100, 257, 1000, 34000, 120000}) {
        if (bits > 53 && k > 1000) continue;  // what depends on K is seen with few bits
        Plan plan;
        try {
          plan = make_plan({way.scheme, way.alphabet, way.family, bits, k});
        } catch (const std::exception&) {
          continue;  // too few bits, or too long
        }
        const std::string name = std::string(schemes[static_cast<int>(way.scheme)]) + " " + way.family + " element " +
                                 std::to_string(static_cast<int>(way.element)) + " bits " + std::to_string(bits) + " k " +
                                 std::to_string(k);
        check_schedule(plan, way.element, k, name);
        if (bits < 54 && k > 256 && k <= 1000) check_pieces(plan, way.element, k, name);
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
