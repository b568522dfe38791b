#include "plan/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "arith/e2m1.hpp"
#include "arith/limbs.hpp"
#include "arith/limits.hpp"
#include "arith/residue.hpp"
#include "plan/least_table.hpp"

namespace ozfp4 {
namespace {

using plan::Recipe;
using plan::RecipeKind;
using Wide = WideInt<8>;

constexpr std::array<int, 15> kLimbs = {0, 1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8, 12, -12};
constexpr int kMinBits = 2;
constexpr int kMaxBits = 53;

std::int64_t modulo(std::int64_t a, std::int64_t m) {
  const std::int64_t r = a % m;
  return r < 0 ? r + m : r;
}

std::int64_t inverse_modulo(std::int64_t a, std::int64_t m) {
  std::int64_t r0 = m, r1 = modulo(a, m), t0 = 0, t1 = 1;
  while (r1 != 0) {
    const std::int64_t q = r0 / r1;
    std::tie(r0, r1) = std::make_pair(r1, r0 - q * r1);
    std::tie(t0, t1) = std::make_pair(t1, t0 - q * t1);
  }
  if (r0 != 1) throw std::logic_error(std::to_string(a) + " has no inverse modulo " + std::to_string(m));
  return modulo(t0, m);
}

// floor((product - 1) / 2^(2 bits + 1)): the largest K with 2 K 2^(2 bits) < product (Lemma 3, condition 4).
std::int64_t crt_k_max(const Wide& product, int bits) {
  const Wide less_one = wide_sub(product, wide_from<8>(1));
  const int shift = 2 * bits + 1;
  if (wide_bit_length(less_one) - shift > 62) return std::int64_t(1) << 62;
  std::uint64_t quotient = 0;
  for (int bit = wide_bit_length(less_one) - 1; bit >= shift; --bit) {
    quotient = 2 * quotient + ((less_one.word[bit / 32] >> (bit % 32)) & 1u);
  }
  return static_cast<std::int64_t>(quotient);
}

// ---- Encodings over the FP4 alphabet -------------------------------------------------------------------------------

// The limb of least magnitude congruent to x, positive on a tie; 127 where S has none.
int representative(std::int64_t x, std::int64_t m) {
  int best = 127;
  for (int limb : kLimbs) {
    if (modulo(limb - x, m) == 0 && (std::abs(limb) < std::abs(best) || best == 127)) best = limb;
  }
  return best;
}

int planes_of(RecipeKind kind) {
  switch (kind) {
    case RecipeKind::direct: return 1;
    case RecipeKind::karatsuba: return 3;
    default: return 2;
  }
}

// The limbs of every residue: among all encodings the one with the smallest largest limb, then the least sum of squares,
// then the order documented in least_table.hpp.
std::vector<std::int8_t> build_limb_table(const Recipe& recipe) {
  const int m = recipe.modulus, planes = planes_of(recipe.kind);
  using Cost = std::tuple<int, int, int, int, bool, bool>;
  std::vector<Cost> best(m, Cost{1000, 0, 0, 0, false, false});
  std::vector<std::int8_t> table(static_cast<std::size_t>(planes) * m, 0);
  for (int c0 : kLimbs) {
    for (int c1 : kLimbs) {
      if (planes == 1 && c1 != 0) continue;
      int sum = 0;
      if (recipe.kind == RecipeKind::karatsuba) {
        sum = representative(std::int64_t(recipe.s) * c0 + std::int64_t(recipe.t) * c1, m);
        if (sum == 127) continue;
      }
      const auto x = static_cast<std::size_t>(modulo(c0 + std::int64_t(recipe.base) * c1, m));
      const Cost cost{std::max({std::abs(c0), std::abs(c1), std::abs(sum)}),
                      c0 * c0 + c1 * c1 + sum * sum,
                      std::abs(c1),
                      std::abs(c0),
                      c0 < 0,
                      c1 < 0};
      if (cost < best[x]) {
        best[x] = cost;
        const int limbs[3] = {c0, c1, sum};
        for (int p = 0; p < planes; ++p) table[static_cast<std::size_t>(p) * m + x] = static_cast<std::int8_t>(limbs[p]);
      }
    }
  }
  for (int x = 0; x < m; ++x) {
    if (std::get<0>(best[x]) == 1000) throw std::logic_error("modulus " + std::to_string(m) + " lacks a residue");
  }
  return table;
}

std::vector<Term> terms_of(const Recipe& recipe, int group, int first_plane) {
  const std::int64_t m = recipe.modulus, b = recipe.base, s = recipe.s, t = recipe.t;
  const int p0 = first_plane, p1 = first_plane + 1, p2 = first_plane + 2;
  switch (recipe.kind) {
    case RecipeKind::direct: return {{group, p0, p0, 1}};
    case RecipeKind::square: return {{group, p0, p1, b}, {group, p1, p0, b}, {group, p0, p0, 1}};
    case RecipeKind::pair: return {{group, p1, p1, b * b % m}, {group, p0, p1, b}, {group, p1, p0, b}, {group, p0, p0, 1}};
    case RecipeKind::karatsuba: {
      // xy = c0 d0 + b (c0 d1 + c1 d0) + b^2 c1 d1, with s t (c0 d1 + c1 d0) = e e' - s^2 c0 d0 - t^2 c1 d1.
      const std::int64_t cross = b * inverse_modulo(s * t, m) % m;
      std::vector<Term> terms = {{group, p2, p2, cross},
                                 {group, p1, p1, modulo(b * b - cross * (t * t % m), m)},
                                 {group, p0, p0, modulo(1 - cross * (s * s % m), m)}};
      terms.erase(std::remove_if(terms.begin(), terms.end(), [](const Term& term) { return term.weight == 0; }), terms.end());
      return terms;
    }
  }
  throw std::logic_error("unknown recipe kind");
}

// ---- Chains --------------------------------------------------------------------------------------------------------

// Multiplier u in [1, m) with u * to = from (mod m), or -1.
std::int64_t ratio(std::int64_t from, std::int64_t to, std::int64_t m) {
  const std::int64_t divisor = std::gcd(to, m);
  if (from % divisor != 0) return -1;
  const std::int64_t reduced = m / divisor;
  const std::int64_t u = reduced == 1 ? 1 : from / divisor % reduced * inverse_modulo(to / divisor, reduced) % reduced;
  return u == 0 ? reduced : u;
}

// Orders the terms so that each weight is a multiple of the next one modulo m, least final multiplier first.
std::vector<Step> build_chain(std::vector<Term> terms, std::int64_t m) {
  std::vector<std::int64_t> weights;
  for (const Term& term : terms) weights.push_back(term.weight);
  std::sort(weights.begin(), weights.end());
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());

  std::vector<std::int64_t> order;
  std::int64_t best_last = m;
  do {
    bool divisible = true;
    for (std::size_t i = 0; i + 1 < weights.size(); ++i) divisible &= ratio(weights[i], weights[i + 1], m) > 0;
    if (divisible && weights.back() < best_last) {
      best_last = weights.back();
      order = weights;
    }
  } while (std::next_permutation(weights.begin(), weights.end()));
  if (order.empty()) throw std::logic_error("the weights modulo " + std::to_string(m) + " have no chain");

  std::vector<Step> chain;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const Term& term : terms) {
      if (term.weight == order[i]) chain.push_back({term.a_plane, term.b_plane, 0});
    }
    chain.back().multiplier = i + 1 < order.size() ? ratio(order[i], order[i + 1], m) : order[i];
  }
  return chain;
}

void finish_group(Plan& plan, Group& group) {
  auto largest = [&](int plane) -> std::int64_t {
    if (group.limb_table.empty()) return group.modulus / 2;  // a balanced residue is its own limb
    std::int64_t limit = 0;
    const std::int64_t m = group.modulus;
    for (std::int64_t x = 0; x < m; ++x) {
      limit = std::max<std::int64_t>(limit, std::abs(group.limb_table[(plane - group.first_plane) * m + x]));
    }
    return limit;
  };
  const std::vector<Term> terms(plan.terms.begin() + group.first_term, plan.terms.end());
  group.terms = static_cast<int>(terms.size());
  group.max_product = 0;
  for (const Term& term : terms) group.max_product = std::max(group.max_product, largest(term.a_plane) * largest(term.b_plane));
  group.chain = build_chain(terms, group.modulus);
}

// ---- Scheme II -----------------------------------------------------------------------------------------------------

void add_recipe(Plan& plan, const Recipe& recipe) {
  Group group{};
  group.modulus = recipe.modulus;
  group.first_plane = plan.planes_a;
  group.planes = planes_of(recipe.kind);
  group.first_term = plan.products();
  group.limb_table = build_limb_table(recipe);
  for (const Term& term : terms_of(recipe, static_cast<int>(plan.groups.size()), group.first_plane)) plan.terms.push_back(term);
  plan.planes_a = plan.planes_b = plan.planes_a + group.planes;
  finish_group(plan, group);
  plan.groups.push_back(std::move(group));
}

void add_residue_modulus(Plan& plan, std::int64_t modulus) {
  Group group{};
  group.modulus = modulus;
  group.first_plane = plan.planes_a;
  group.planes = 1;
  group.first_term = plan.products();
  plan.terms.push_back({static_cast<int>(plan.groups.size()), group.first_plane, group.first_plane, 1});
  plan.planes_a = plan.planes_b = plan.planes_a + 1;
  finish_group(plan, group);
  plan.groups.push_back(std::move(group));
}

const Recipe& least_recipe(int modulus) {
  for (const Recipe& recipe : plan::fp4_recipes) {
    if (recipe.modulus == modulus) return recipe;
  }
  throw std::logic_error("no recipe for modulus " + std::to_string(modulus));
}

bool suffices(const Wide& product, int bits, std::int64_t k) { return crt_k_max(product, bits) >= k; }

void add_least_fp4(Plan& plan, std::int64_t k) {
  const auto* chosen = &plan::fp4_least_sets[0];
  for (const auto& set : plan::fp4_least_sets) {
    chosen = &set;
    Wide product = wide_from<8>(1);
    for (int i = 0; i < set.size; ++i) product = wide_mul_small(product, plan::fp4_least_moduli[set.first + i]);
    if (suffices(product, plan.bits, k)) break;
  }
  for (int i = 0; i < chosen->size; ++i) add_recipe(plan, least_recipe(plan::fp4_least_moduli[chosen->first + i]));
}

// Moduli in their order until their product suffices; all of them where it never does.
void add_least_int8(Plan& plan, std::int64_t k) {
  for (std::uint16_t modulus : plan::int8_moduli) {
    add_residue_modulus(plan, modulus);
    if (suffices(moduli_product(plan, static_cast<int>(plan.groups.size())), plan.bits, k)) return;
  }
}

void add_paper(Plan& plan, bool karatsuba) {
  for (std::uint16_t modulus : plan::paper_moduli) {
    const bool sum_limb = std::find(std::begin(plan::paper_karatsuba_moduli), std::end(plan::paper_karatsuba_moduli), modulus) !=
                          std::end(plan::paper_karatsuba_moduli);
    if (modulus == 169) {
      add_recipe(plan, {modulus, RecipeKind::square, 3, 13, 0, 0});
    } else if (karatsuba && sum_limb) {
      add_recipe(plan, {modulus, RecipeKind::karatsuba, 3, 13, 1, 1});
    } else {
      add_recipe(plan, {modulus, RecipeKind::pair, 4, 13, 0, 0});
    }
  }
}

// Odd pairwise coprime moduli below 2^23, largest first: their balanced residues allow inner chunks of 512 in FP64.
void add_fp64(Plan& plan, std::int64_t k) {
  constexpr std::int64_t largest = (std::int64_t(1) << 23) - 1;
  for (std::int64_t m = largest; plan.groups.size() < 12; m -= 2) {
    const bool coprime =
        std::all_of(plan.groups.begin(), plan.groups.end(), [m](const Group& group) { return std::gcd(group.modulus, m) == 1; });
    if (!coprime) continue;
    add_residue_modulus(plan, m);
    if (suffices(moduli_product(plan, static_cast<int>(plan.groups.size())), plan.bits, k)) return;
  }
}

Plan make_scheme_two(const PlanRequest& request) {
  Plan plan{};
  plan.scheme = Scheme::two;
  plan.alphabet = request.alphabet;
  plan.family = request.family;
  plan.bits = request.bits;
  plan.prefix_allowed = request.family == "least";
  const bool paper = request.family == "paper" || request.family == "paper-karatsuba";
  if (!paper && request.family != "least") {
    throw std::invalid_argument("family: '" + request.family + "' is unknown; allowed are 'least', 'paper', 'paper-karatsuba'");
  }
  if (paper && request.alphabet != Alphabet::fp4) {
    throw std::invalid_argument("family: '" + request.family + "' exists for the fp4 alphabet only");
  }
  if (paper) {
    add_paper(plan, request.family == "paper-karatsuba");
  } else if (request.alphabet == Alphabet::fp4) {
    add_least_fp4(plan, request.k);
  } else if (request.alphabet == Alphabet::int8) {
    add_least_int8(plan, request.k);
  } else {
    add_fp64(plan, request.k);
  }
  const Wide product = moduli_product(plan, static_cast<int>(plan.groups.size()));
  plan.k_max = crt_k_max(product, plan.bits);
  if (plan.k_max < request.k) {
    throw std::length_error("k = " + std::to_string(request.k) + " breaks the CRT bound 2 K 2^(2 bits) < P of family '" +
                            request.family + "' at bits = " + std::to_string(plan.bits) + ": P has " +
                            std::to_string(wide_bit_length(product)) + " bits and admits K <= " + std::to_string(plan.k_max));
  }
  return plan;
}

// ---- Scheme I ------------------------------------------------------------------------------------------------------

// Width of the FP64 digits: as wide as chunks of 512 along K allow in FP64 (2 * 22 + 9 = 53).
constexpr int kFp64DigitBits = 23;

Plan make_scheme_one(const PlanRequest& request) {
  if (request.family != "least" && request.family != "paper") {
    throw std::invalid_argument("family: '" + request.family + "' does not exist for scheme I; allowed are 'least', 'paper'");
  }
  if (request.family == "paper" && request.alphabet != Alphabet::fp4) {
    throw std::invalid_argument("family: 'paper' exists for the fp4 alphabet only");
  }
  Plan plan{};
  plan.scheme = Scheme::one;
  plan.alphabet = request.alphabet;
  plan.family = request.family;
  plan.bits = request.bits;
  std::int64_t max_limb = 8;  // the greedy limbs of Lemma 2
  int limbs = 0;
  if (request.alphabet == Alphabet::fp4) {
    plan.base = 13;
    limbs = limbs_needed(request.bits);
  } else {
    const int width = request.alphabet == Alphabet::int8 ? 8 : kFp64DigitBits;
    plan.base = std::int64_t(1) << width;
    max_limb = plan.base / 2;
    // p balanced digits reach (2^(width - 1) - 1) (2^(width p) - 1) / (2^width - 1) > 2^(width p - 2).
    while (width * ++limbs - 2 < request.bits) {
    }
  }
  plan.planes_a = plan.planes_b = limbs;
  for (int g = 0; g <= 2 * limbs - 2; ++g) {
    Group group{};
    group.first_term = plan.products();
    group.max_product = max_limb * max_limb;
    for (int i = std::max(0, g - limbs + 1); i <= std::min(g, limbs - 1); ++i) plan.terms.push_back({g, i, g - i, 1});
    group.terms = plan.products() - group.first_term;
    plan.groups.push_back(std::move(group));
  }
  // Group sums are kept in 64 bits, the result in 160: the tighter of the two bounds.
  const std::int64_t group_limit = accumulator_k_max(limbs * max_limb * max_limb, std::int64_t(1) << 62);
  plan.k_max = std::min(group_limit, std::int64_t(1) << 40);
  if (plan.k_max < request.k) {
    throw std::length_error("k = " + std::to_string(request.k) +
                            " breaks the digit group bound of scheme I, K <= " + std::to_string(plan.k_max));
  }
  return plan;
}

}  // namespace

Plan make_plan(const PlanRequest& request) {
  if (request.bits < kMinBits || request.bits > kMaxBits) {
    throw std::invalid_argument("bits: " + std::to_string(request.bits) + " is outside 2..53");
  }
  return request.scheme == Scheme::one ? make_scheme_one(request) : make_scheme_two(request);
}

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
  constexpr int entries = 256;
  if (products == 9) {
    plan.base = 13;
    plan.planes_a = plan.planes_b = group.planes = 3;
    group.limb_table.resize(3 * entries);
    for (int v = -128; v < 128; ++v) {
      std::int64_t rest = v;
      for (int p = 0; p < 3; ++p) group.limb_table[p * entries + v + 128] = static_cast<std::int8_t>(take_limb13(rest));
    }
    constexpr std::int64_t powers[5] = {1, 13, 169, 2197, 28561};
    for (int g = 4; g >= 0; --g) {
      for (int i = std::max(0, g - 2); i <= std::min(g, 2); ++i) plan.terms.push_back({0, i, g - i, powers[g]});
    }
  } else {
    // v = c0 + 29 c1 + 37 c2 with the c and all their pairwise sums in S: planes c0, c1, c2, c0+c1, c0+c2, c1+c2.
    constexpr int w[3] = {1, 29, 37};
    plan.planes_a = plan.planes_b = group.planes = 6;
    group.limb_table.resize(6 * entries);
    std::vector<int> best(entries, 1000000);
    for (int c0 : kLimbs) {
      for (int c1 : kLimbs) {
        for (int c2 : kLimbs) {
          const int v = c0 + w[1] * c1 + w[2] * c2;
          if (v < -128 || v > 127 || !e2m1_has(c0 + c1) || !e2m1_has(c0 + c2) || !e2m1_has(c1 + c2)) continue;
          const int planes[6] = {c0, c1, c2, c0 + c1, c0 + c2, c1 + c2};
          int cost = 0;
          for (int limb : planes) cost += limb * limb;
          if (cost >= best[v + 128]) continue;
          best[v + 128] = cost;
          for (int p = 0; p < 6; ++p) group.limb_table[p * entries + v + 128] = static_cast<std::int8_t>(planes[p]);
        }
      }
    }
    for (int cost : best) {
      if (cost == 1000000) throw std::logic_error("the limbs 1, 29, 37 do not cover INT8");
    }
    const std::int64_t cross01 = w[0] * w[1], cross02 = w[0] * w[2], cross12 = w[1] * w[2];
    plan.terms = {{0, 3, 3, cross01},
                  {0, 4, 4, cross02},
                  {0, 5, 5, cross12},
                  {0, 0, 0, w[0] * w[0] - cross01 - cross02},
                  {0, 1, 1, w[1] * w[1] - cross01 - cross12},
                  {0, 2, 2, w[2] * w[2] - cross02 - cross12}};
  }
  group.terms = plan.products();
  group.max_product = kE2m1MaxLimb * kE2m1MaxLimb;
  plan.groups.push_back(std::move(group));
  return plan;
}

WideInt<8> moduli_product(const Plan& plan, int count) {
  WideInt<8> product = wide_from<8>(1);
  for (int i = 0; i < count; ++i) product = wide_mul_small(product, static_cast<std::uint32_t>(plan.groups[i].modulus));
  return product;
}

int moduli_needed(const Plan& plan, double bound_squared) {
  // |integer|^2 <= bound_squared, so 2 |integer| < P follows from 4 bound_squared < P^2; the factor covers the rounding
  // of P^2 and of the comparison itself.
  const double needed = 4.0 * bound_squared * (1.0 + 0x1p-40);
  const int all = static_cast<int>(plan.groups.size());
  for (int count = plan.prefix_allowed ? 1 : all; count <= all; ++count) {
    const double product = wide_to_double(moduli_product(plan, count));
    if (product * product > needed) return count;
  }
  return all + 1;
}

void encode_integer(const Plan& plan, std::int64_t v, std::int32_t* limbs) {
  if (plan.scheme == Scheme::one) {
    for (int p = 0; p < plan.planes_a; ++p) {
      limbs[p] = plan.base == 13 ? take_limb13(v) : take_balanced_digit(v, highest_bit(static_cast<std::uint64_t>(plan.base)));
    }
    return;
  }
  for (const Group& group : plan.groups) {
    const std::int64_t m = group.modulus;
    const std::int64_t x = plan.scheme == Scheme::integer ? v + 128 : modulo(v, m);
    if (group.limb_table.empty()) {
      limbs[group.first_plane] = static_cast<std::int32_t>(x > (m - 1) / 2 ? x - m : x);
      continue;
    }
    const std::int64_t entries = plan.scheme == Scheme::integer ? 256 : m;
    for (int p = 0; p < group.planes; ++p) limbs[group.first_plane + p] = group.limb_table[p * entries + x];
  }
}

}  // namespace ozfp4
