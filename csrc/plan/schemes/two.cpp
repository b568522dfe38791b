// Scheme II: integers as residues modulo pairwise coprime numbers, each encoded in limbs.
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "plan/encoding/chain.hpp"
#include "plan/encoding/least_table.hpp"
#include "plan/encoding/limb_table.hpp"
#include "plan/moduli/moduli.hpp"
#include "plan/schemes/schemes.hpp"

namespace ozfp4 {
namespace {

using plan::Recipe;
using plan::RecipeKind;

// ---- One modulus ---------------------------------------------------------------------------------------------------

void add_group(Plan& plan, std::int64_t modulus, int planes, std::vector<std::int8_t> limb_table,
               const std::vector<Term>& terms) {
  Group group{};
  group.modulus = modulus;
  group.first_plane = plan.planes_a;
  group.planes = planes;
  group.first_term = plan.products();
  group.terms = static_cast<int>(terms.size());
  group.limb_table = std::move(limb_table);
  group.max_product = largest_product(group.limb_table, terms, group.first_plane, modulus);
  group.chain = make_chain(terms, modulus);
  plan.terms.insert(plan.terms.end(), terms.begin(), terms.end());
  plan.planes_a = plan.planes_b = plan.planes_a + planes;
  plan.groups.push_back(std::move(group));
}

void add_recipe(Plan& plan, const Recipe& recipe) {
  add_group(plan, recipe.modulus, planes_of(recipe.kind), make_limb_table(plan.alphabet, recipe),
            terms_of(recipe, static_cast<int>(plan.groups.size()), plan.planes_a));
}

void add_residue_modulus(Plan& plan, std::int64_t modulus) {
  add_group(plan, modulus, 1, {}, {{static_cast<int>(plan.groups.size()), plan.planes_a, plan.planes_a, 1}});
}

// ---- All moduli: in each of these until their product suffices, or all where it never does ---------------------------

bool suffices(const Plan& plan, std::int64_t k) {
  return crt_serves(moduli_product(plan, plan.count()), largest_square(plan.bits), k);
}

void add_least_set(Plan& plan, const ModulusSource& source, std::int64_t k) {
  const Table<std::uint16_t>& moduli = source.set_moduli;
  const auto largest = largest_square(plan.bits);  // GCC 13 takes what is found for a part of a temporary
  const plan::RecipeSet& chosen = find_least_set(source.sets, moduli, largest, k);
  for (int i = 0; i < chosen.size; ++i) add_recipe(plan, find_recipe(source.recipes, moduli.data[chosen.first + i]));
}

void add_recipes(Plan& plan, const ModulusSource& source, std::int64_t k) {
  for (const Recipe& recipe : source.recipes) {
    add_recipe(plan, recipe);
    if (suffices(plan, k)) return;
  }
}

void add_listed(Plan& plan, const ModulusSource& source, std::int64_t k) {
  for (const std::uint16_t modulus : source.listed) {
    add_residue_modulus(plan, modulus);
    if (suffices(plan, k)) return;
  }
}

void add_odd(Plan& plan, const ModulusSource& source, std::int64_t k) {
  for (std::int64_t m = source.largest_odd; plan.count() < source.most_odd; m -= 2) {
    const bool coprime =
        std::all_of(plan.groups.begin(), plan.groups.end(), [m](const Group& group) { return std::gcd(group.modulus, m) == 1; });
    if (!coprime) continue;
    add_residue_modulus(plan, m);
    if (suffices(plan, k)) return;
  }
}

void add_least(Plan& plan, std::int64_t k) {
  const ModulusSource& source = plan.alphabet.moduli;
  if (!source.sets.empty()) return add_least_set(plan, source, k);
  if (!source.recipes.empty()) return add_recipes(plan, source, k);
  if (!source.listed.empty()) return add_listed(plan, source, k);
  add_odd(plan, source, k);
}

void set_k_max(Plan& plan) { plan.k_max = crt_k_max(moduli_product(plan, plan.count()), largest_square(plan.bits)); }

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

}  // namespace

Plan make_scheme_two(const PlanRequest& request) {
  const bool paper = request.family == "paper" || request.family == "paper-karatsuba";
  if (!paper && request.family != "least") {
    throw std::invalid_argument("family: '" + request.family + "' is unknown; allowed are 'least', 'paper', 'paper-karatsuba'");
  }
  if (paper && !request.alphabet.has_paper_families) {
    throw std::invalid_argument("family: '" + request.family + "' exists for the fp4 alphabet only");
  }
  Plan plan{};
  plan.scheme = Scheme::two;
  plan.alphabet = request.alphabet;
  plan.family = request.family;
  plan.bits = request.bits;
  plan.prefix_allowed = !paper;
  if (paper) {
    add_paper(plan, request.family == "paper-karatsuba");
  } else {
    add_least(plan, request.k);
  }
  set_k_max(plan);
  if (plan.k_max < request.k) {
    throw std::length_error("k = " + std::to_string(request.k) + " breaks the CRT bound 2 K 2^(2 bits) < P of family '" +
                            request.family + "' at bits = " + std::to_string(plan.bits) + ": P has " +
                            std::to_string(wide_bit_length(moduli_product(plan, plan.count()))) +
                            " bits and admits K <= " + std::to_string(plan.k_max));
  }
  return plan;
}

Plan make_moduli_plan(const Alphabet& alphabet, int bits, const std::vector<std::int64_t>& moduli) {
  const ModulusSource& source = alphabet.moduli;
  if (!alphabet.residue_is_limb()) {
    throw std::invalid_argument(std::string("alphabet: residues of ") + alphabet.name + " are not their own limbs");
  }
  const bool is_odd = source.largest_odd != 0;
  const std::int64_t largest = is_odd ? source.largest_odd : 256;
  Plan plan{};
  plan.scheme = Scheme::two;
  plan.alphabet = alphabet;
  plan.family = kGivenFamily;
  plan.bits = bits;
  plan.prefix_allowed = true;
  for (const std::int64_t m : moduli) {
    if (m < 2 || m > largest || (is_odd && m % 2 == 0)) {
      throw std::invalid_argument("moduli: " + std::to_string(m) + " is not one of the alphabet's, " +
                                  (is_odd ? "odd and 3.." : "2..") + std::to_string(largest));
    }
    for (const Group& group : plan.groups) {
      if (std::gcd(group.modulus, m) == 1) continue;
      throw std::invalid_argument("moduli: " + std::to_string(group.modulus) + " and " + std::to_string(m) +
                                  " have a common factor");
    }
    add_residue_modulus(plan, m);
  }
  if (moduli.empty()) throw std::invalid_argument("moduli: none given");
  set_k_max(plan);
  return plan;
}

}  // namespace ozfp4
