// Scheme II: integers as residues modulo pairwise coprime numbers, each encoded in limbs.
//
// Complex products take moduli over which the Gaussian integers split. Let r^2 = -1 (mod m); such r is where m is odd and all of
// its prime factors are 1 modulo 4. Then x + i y -> (x + r y, x - r y) maps products of complex integers to separate products of
// the two residues: two products a modulus instead of four.
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

#include "plan/encoding/least_table.hpp"
#include "plan/encoding/limb_table.hpp"
#include "plan/moduli/moduli.hpp"
#include "plan/moduli/number_theory.hpp"
#include "plan/schemes/schemes.hpp"

namespace ozfp4 {
namespace {

using plan::Recipe;
using plan::RecipeKind;

// ---- One modulus ---------------------------------------------------------------------------------------------------

// The sum of one output of a modulus, and the encoding of its planes.
struct Factor {
  std::int64_t a, b;    // planes: those of the first output of the modulus, 0, or the second, 1
  std::int64_t weight;  // modulo m
};
struct Output {
  PartWeights encoded, joined;
  std::vector<Factor> sum;
};

std::vector<Output> outputs_of(bool is_complex, std::int64_t m) {
  if (!is_complex) return {{{}, {}, {{0, 0, 1}}}};
  const std::int64_t r = root_of_minus_one(m);
  if (r == 0) return {{{1, 0}, {1, 0}, {{0, 0, 1}, {1, 1, 1}}}, {{0, 1}, {0, 1}, {{1, 0, 1}, {0, 1, m - 1}}}};
  const std::int64_t half = (m + 1) / 2, of_im = inverse_modulo(2 * r, m);
  return {{{1, r}, {half, of_im}, {{0, 1, 1}}}, {{1, m - r}, {half, m - of_im}, {{1, 0, 1}}}};
}

// `recipe`: null where the residue is its own limb.
void add_modulus(Plan& plan, std::int64_t m, const Recipe* recipe = nullptr) {
  const int planes = recipe == nullptr ? 1 : planes_of(recipe->kind), first_plane = plan.planes_a;
  std::vector<std::int8_t> limb_table;
  std::vector<Term> own = {{0, 0, 0, 1}};  // of one product of residues in limbs, in planes numbered from 0
  if (recipe != nullptr) {
    limb_table = make_limb_table(plan.alphabet, *recipe);
    own = terms_of(*recipe);
  }
  for (const Output& output : outputs_of(plan.is_complex, m)) {
    std::vector<Term> terms;
    for (const Factor& factor : output.sum) {
      for (const Term& term : own) {
        terms.push_back({static_cast<int>(plan.groups.size()), first_plane + static_cast<int>(factor.a) * planes + term.a_plane,
                         first_plane + static_cast<int>(factor.b) * planes + term.b_plane, term.weight * factor.weight % m});
      }
    }
    Group group{};
    group.modulus = m;
    group.first_plane = plan.planes_a;
    group.planes = planes;
    group.first_term = plan.products();
    group.terms = static_cast<int>(terms.size());
    group.chain = make_chain(terms, m);
    group.limb_table = limb_table;
    group.max_product = largest_product(limb_table, own, m);
    group.encoded = output.encoded;
    group.joined = output.joined;
    plan.terms.insert(plan.terms.end(), terms.begin(), terms.end());
    plan.planes_a = plan.planes_b = plan.planes_a + planes;
    plan.groups.push_back(std::move(group));
  }
}

// ---- All moduli: until their product suffices, or all where it never does --------------------------------------------

bool suffices(const Plan& plan, std::int64_t k) {
  return crt_serves(moduli_product(plan, plan.count()), largest_square(plan.bits), k);
}

void add_least(Plan& plan, std::int64_t k) {
  const ModulusSource& source = plan.alphabet.moduli;
  const auto& sets = plan.is_complex ? source.complex_sets : source.sets;
  if (!sets.empty()) {
    const auto& moduli = plan.is_complex ? source.complex_set_moduli : source.set_moduli;
    const auto largest = largest_square(plan.bits);  // GCC 13 takes what is found for a part of a temporary
    for (const std::int64_t m : find_least_set(sets, moduli, largest, k)) add_modulus(plan, m, &find_recipe(source.recipes, m));
    return;
  }
  for (const std::uint16_t m : plan.is_complex ? source.complex_listed : source.listed) {
    add_modulus(plan, m);
    if (suffices(plan, k)) return;
  }
  for (std::int64_t m = source.largest_odd; m > 1 && plan.count() < source.most_odd; m -= 2) {
    if (plan.is_complex && root_of_minus_one(m) == 0) continue;
    const auto is_coprime = [m](const Group& group) { return std::gcd(group.modulus, m) == 1; };
    if (!std::all_of(plan.groups.begin(), plan.groups.end(), is_coprime)) continue;
    add_modulus(plan, m);
    if (suffices(plan, k)) return;
  }
}

void add_paper(Plan& plan, bool karatsuba) {
  for (const std::uint16_t m : plan::paper_moduli) {
    const auto& with_sums = plan::paper_karatsuba_moduli;
    const bool sum_limb = std::find(std::begin(with_sums), std::end(with_sums), m) != std::end(with_sums);
    const Recipe square{m, RecipeKind::square, 3, 13, 0, 0}, sums{m, RecipeKind::karatsuba, 3, 13, 1, 1},
        pair{m, RecipeKind::pair, 4, 13, 0, 0};
    add_modulus(plan, m, m == 169 ? &square : karatsuba && sum_limb ? &sums : &pair);
  }
}

void set_k_max(Plan& plan) { plan.k_max = crt_k_max(moduli_product(plan, plan.count()), largest_square(plan.bits)); }

}  // namespace

Plan make_scheme_two(const PlanRequest& request) {
  const bool paper = request.family == "paper" || request.family == "paper-karatsuba";
  const std::string name = request.alphabet.name;
  if (request.is_complex && (request.scheme != Scheme::two || request.family != "least")) {
    throw std::invalid_argument("complex: plans are of scheme II and family 'least', not of '" + request.family + "' over " +
                                name);
  }
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
  plan.is_complex = request.is_complex;
  plan.prefix_allowed = !paper;
  if (paper) {
    add_paper(plan, request.family == "paper-karatsuba");
  } else {
    add_least(plan, request.k);
  }
  set_k_max(plan);
  if (plan.k_max < request.k) {
    throw std::length_error("k = " + std::to_string(request.k) + " breaks the CRT bound 2 K 2^(2 bits) < P of " +
                            (plan.is_complex ? "complex products over " + name : "family '" + request.family + "'") +
                            " at bits = " + std::to_string(plan.bits) + ": P has " +
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
    add_modulus(plan, m);
  }
  if (moduli.empty()) throw std::invalid_argument("moduli: none given");
  set_k_max(plan);
  return plan;
}

Plan joined_plan(const Plan& plan) {
  Plan joined = plan;
  joined.is_complex = false;
  joined.groups.clear();
  joined.terms.clear();
  joined.planes_a = joined.planes_b = 0;
  for (int i = 0; i < plan.count(); ++i) add_modulus(joined, plan.modulus(i));
  return joined;
}

}  // namespace ozfp4
