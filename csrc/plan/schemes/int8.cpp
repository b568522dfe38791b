// INT8 x INT8 -> INT32 by limbs of FP4: 6 or 9 products, summed with integer weights.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "arith/limbs/e2m1.hpp"
#include "arith/limbs/limbs.hpp"
#include "arith/limits.hpp"
#include "plan/encoding/limb_table.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {
namespace {

constexpr int kEntries = 256;  // bytes v at v + 128

void set_planes(Plan& plan, Group& group, int planes) {
  plan.planes_a = plan.planes_b = group.planes = planes;
  group.limb_table.resize(static_cast<std::size_t>(planes) * kEntries);
}

// v = c0 + 13 c1 + 169 c2 by the greedy limbs: nine products, those of the largest weight first.
void make_base13(Plan& plan, Group& group) {
  plan.base = 13;
  set_planes(plan, group, 3);
  for (int v = -128; v < 128; ++v) {
    std::int64_t rest = v;
    for (int p = 0; p < 3; ++p) group.limb_table[p * kEntries + v + 128] = static_cast<std::int8_t>(take_limb13(rest));
  }
  constexpr std::int64_t powers[5] = {1, 13, 169, 2197, 28561};
  for (int g = 4; g >= 0; --g) {
    for (int i = std::max(0, g - 2); i <= std::min(g, 2); ++i) plan.terms.push_back({0, i, g - i, powers[g]});
  }
}

// v = c0 + 29 c1 + 37 c2 with the c and all their pairwise sums in S: planes c0, c1, c2, c0+c1, c0+c2, c1+c2.
void make_sums(Plan& plan, Group& group) {
  constexpr int w[3] = {1, 29, 37};
  set_planes(plan, group, 6);
  constexpr int none = std::numeric_limits<int>::max();
  std::vector<int> best(kEntries, none);
  const std::vector<int> limbs = limbs_of(plan.alphabet);
  for (const int c0 : limbs) {
    for (const int c1 : limbs) {
      for (const int c2 : limbs) {
        const int v = c0 + w[1] * c1 + w[2] * c2;
        if (v < -128 || v > 127 || !e2m1_has(c0 + c1) || !e2m1_has(c0 + c2) || !e2m1_has(c1 + c2)) continue;
        const int planes[6] = {c0, c1, c2, c0 + c1, c0 + c2, c1 + c2};
        int cost = 0;
        for (const int limb : planes) cost += limb * limb;
        if (cost >= best[v + 128]) continue;
        best[v + 128] = cost;
        for (int p = 0; p < 6; ++p) group.limb_table[p * kEntries + v + 128] = static_cast<std::int8_t>(planes[p]);
      }
    }
  }
  for (const int cost : best) {
    if (cost == none) throw std::logic_error("the limbs 1, 29, 37 do not cover INT8");
  }
  const std::int64_t cross01 = w[0] * w[1], cross02 = w[0] * w[2], cross12 = w[1] * w[2];
  plan.terms = {{0, 3, 3, cross01},
                {0, 4, 4, cross02},
                {0, 5, 5, cross12},
                {0, 0, 0, w[0] * w[0] - cross01 - cross02},
                {0, 1, 1, w[1] * w[1] - cross01 - cross12},
                {0, 2, 2, w[2] * w[2] - cross02 - cross12}};
}

}  // namespace

Plan make_int8_matmul_plan(int products) {
  if (products != 6 && products != 9) {
    throw std::invalid_argument("products: " + std::to_string(products) + " is not 6 or 9");
  }
  Plan plan{};
  plan.scheme = Scheme::integer;
  plan.alphabet = Alphabet::fp4;
  plan.family = products == 6 ? "least" : "paper";
  plan.bits = 7;
  // 128 * 128 * K <= 2^31 - 1: the INT32 result never wraps.
  plan.k_max = accumulator_k_max(128 * 128, kInt32Exact);
  Group group{};
  if (products == 9) {
    make_base13(plan, group);
  } else {
    make_sums(plan, group);
  }
  group.terms = plan.products();
  group.max_product = plan.alphabet.largest_limb * plan.alphabet.largest_limb;
  plan.groups.push_back(std::move(group));
  return plan;
}

}  // namespace ozfp4
