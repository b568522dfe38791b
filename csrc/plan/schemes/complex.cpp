// Complex products of scheme II: moduli over which the Gaussian integers split.
//
// Let r^2 = -1 (mod m); such r is where m is odd and all of its prime factors are 1 modulo 4. Then x + i y -> (x + r y, x - r y)
// takes products of complex integers to products of the two residues by themselves: two products a modulus in place of four.
//     p = x + r y,  q = x - r y;   P = sum p p',  Q = sum q q';   re = (P + Q) / 2,  im = (P - Q) / (2 r)   (mod m).
// The planes of B come from its even columns, where the second entry of a pair is -y': its first plane is q', the second p'.
//
// Moduli of bytes that split end at 2^160. Behind most of them come others, at four products each: planes x and y, and
//     re = sum x x' + y (-y'),   im = sum y x' - x (-y').
// A product here is one of residues: one of limbs where the residue is its own limb, else as many as the modulus' recipe has
// terms.
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "plan/encoding/chain.hpp"
#include "plan/encoding/limb_table.hpp"
#include "plan/moduli/moduli.hpp"
#include "plan/moduli/number_theory.hpp"
#include "plan/schemes/schemes.hpp"

namespace ozfp4 {
namespace {

// What one output of a modulus adds up, with how it encodes its own planes.
struct Factor {
  std::int64_t a, b;    // planes: those of the first output of the modulus, 0, or the second, 1
  std::int64_t weight;  // modulo m
};
struct Output {
  PartWeights encoded, joined;
  std::vector<Factor> sum;
};

// The products of residues of an output in limbs. `own`: of one product in planes numbered from 0.
std::vector<Term> output_terms(const Output& output, const std::vector<Term>& own, int group, int first_plane, int planes,
                               std::int64_t m) {
  std::vector<Term> terms;
  for (const Factor& factor : output.sum) {
    for (const Term& term : own) {
      terms.push_back({group, first_plane + static_cast<int>(factor.a) * planes + term.a_plane,
                       first_plane + static_cast<int>(factor.b) * planes + term.b_plane, term.weight * factor.weight % m});
    }
  }
  return terms;
}

// The outputs of a modulus. `recipe`: null where the residue is its own limb.
void add_groups(Plan& plan, std::int64_t m, const plan::Recipe* recipe, const std::vector<Output>& outputs) {
  const int planes = recipe == nullptr ? 1 : planes_of(recipe->kind), first_plane = plan.planes_a;
  std::vector<std::int8_t> limb_table;
  std::vector<Term> own = {{0, 0, 0, 1}};
  if (recipe != nullptr) {
    limb_table = make_limb_table(plan.alphabet, *recipe);
    own = terms_of(*recipe, 0, 0);
  }
  for (const Output& output : outputs) {
    Group group{};
    group.modulus = m;
    group.first_plane = plan.planes_a;
    group.planes = planes;
    group.first_term = plan.products();
    group.limb_table = limb_table;
    group.max_product = largest_product(limb_table, own, 0, m);
    group.encoded = output.encoded;
    group.joined = output.joined;
    const std::vector<Term> terms = output_terms(output, own, static_cast<int>(plan.groups.size()), first_plane, planes, m);
    group.terms = static_cast<int>(terms.size());
    group.chain = make_chain(terms, m);
    plan.terms.insert(plan.terms.end(), terms.begin(), terms.end());
    plan.planes_a = plan.planes_b = plan.planes_a + planes;
    plan.groups.push_back(std::move(group));
  }
}

void add_modulus(Plan& plan, std::int64_t m, const plan::Recipe* recipe = nullptr) {
  const std::int64_t r = root_of_minus_one(m);
  if (r == 0) {
    const Output re{{1, 0}, {1, 0}, {{0, 0, 1}, {1, 1, 1}}}, im{{0, 1}, {0, 1}, {{1, 0, 1}, {0, 1, m - 1}}};
    return add_groups(plan, m, recipe, {re, im});
  }
  const std::int64_t half = (m + 1) / 2, of_im = inverse_modulo(2 * r, m);
  const Output first{{1, r}, {half, of_im}, {{0, 1, 1}}}, second{{1, m - r}, {half, m - of_im}, {{1, 0, 1}}};
  add_groups(plan, m, recipe, {first, second});
}

bool suffices_uncut(const Plan& plan, std::int64_t k) {
  return crt_serves(moduli_product(plan, plan.count()), largest_square(plan.bits), k);
}

void add_moduli(Plan& plan, std::int64_t k) {
  const ModulusSource& source = plan.alphabet.moduli;
  if (!source.complex_sets.empty()) {
    const Table<std::uint16_t>& moduli = source.complex_set_moduli;
    const auto largest = largest_square(plan.bits);  // GCC 13 takes what is found for a part of a temporary
    const plan::RecipeSet& chosen = find_least_set(source.complex_sets, moduli, largest, k);
    for (int i = 0; i < chosen.size; ++i) {
      const std::uint16_t m = moduli.data[chosen.first + i];
      add_modulus(plan, m, &find_recipe(source.recipes, m));
    }
    return;
  }
  for (const std::uint16_t m : source.complex_listed) {
    add_modulus(plan, m);
    if (suffices_uncut(plan, k)) return;
  }
  for (std::int64_t m = source.largest_odd; m > 1 && plan.count() < source.most_odd; m -= 2) {
    if (root_of_minus_one(m) == 0) continue;
    const auto is_coprime = [m](const Group& group) { return std::gcd(group.modulus, m) == 1; };
    if (!std::all_of(plan.groups.begin(), plan.groups.end(), is_coprime)) continue;
    add_modulus(plan, m);
    if (suffices_uncut(plan, k)) return;
  }
}

}  // namespace

Plan make_complex(const PlanRequest& request) {
  const std::string name = request.alphabet.name;
  if (request.scheme != Scheme::two || request.family != "least") {
    throw std::invalid_argument("complex: plans are of scheme II and family 'least', not of '" + request.family + "' over " +
                                name);
  }
  Plan plan{};
  plan.scheme = Scheme::two;
  plan.alphabet = request.alphabet;
  plan.family = request.family;
  plan.bits = request.bits;
  plan.is_complex = true;
  plan.prefix_allowed = true;
  add_moduli(plan, request.k);
  const PlanInt product = moduli_product(plan, plan.count());
  plan.k_max = crt_k_max(product, largest_square(plan.bits));
  if (plan.k_max < request.k) {
    throw std::length_error("k = " + std::to_string(request.k) +
                            " breaks the CRT bound 2 K 2^(2 bits) < P of complex products over " + name +
                            " at bits = " + std::to_string(plan.bits) + ": P has " + std::to_string(wide_bit_length(product)) +
                            " bits and admits K <= " + std::to_string(plan.k_max));
  }
  return plan;
}

Plan joined_plan(const Plan& plan) {
  Plan joined = plan;
  joined.is_complex = false;
  joined.groups.clear();
  joined.terms.clear();
  joined.planes_a = joined.planes_b = 0;
  for (int i = 0; i < plan.count(); ++i) {
    add_groups(joined, plan.modulus(i), nullptr, {{{}, {}, {{0, 0, 1}}}});
  }
  return joined;
}

}  // namespace ozfp4
