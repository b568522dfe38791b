// Complex products of scheme II: moduli over which the Gaussian integers split.
//
// Let r^2 = -1 (mod m); such r is where m is odd and all of its prime factors are 1 modulo 4. Then x + i y -> (x + r y, x - r y)
// takes products of complex integers to products of the two residues by themselves: two products a modulus in place of four.
//     p = x + r y,  q = x - r y;   P = sum p p',  Q = sum q q';   re = (P + Q) / 2,  im = (P - Q) / (2 r)   (mod m).
// The planes of B come from its even columns, where the second entry of a pair is -y': its first plane is q', the second p'.
//
// Moduli of bytes that split end at 2^152. Behind most of them come others, at four products each: planes x and y, and
//     re = sum x x' + y (-y'),   im = sum y x' - x (-y').
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "plan/encoding/chain.hpp"
#include "plan/moduli/moduli.hpp"
#include "plan/moduli/number_theory.hpp"
#include "plan/schemes/schemes.hpp"

namespace ozfp4 {
namespace {

// A group with a plane of its own.
void add_group(Plan& plan, std::int64_t modulus, const std::vector<Term>& terms, PartWeights encoded, PartWeights joined) {
  Group group{};
  group.modulus = modulus;
  group.first_plane = plan.planes_a;
  group.planes = 1;
  group.first_term = plan.products();
  group.terms = static_cast<int>(terms.size());
  group.chain = make_chain(terms, modulus);
  group.max_product = (modulus / 2) * (modulus / 2);
  group.encoded = encoded;
  group.joined = joined;
  plan.terms.insert(plan.terms.end(), terms.begin(), terms.end());
  plan.planes_a = plan.planes_b = plan.planes_a + 1;
  plan.groups.push_back(std::move(group));
}

void add_modulus(Plan& plan, std::int64_t m) {
  const int first = static_cast<int>(plan.groups.size()), second = first + 1, p = plan.planes_a, q = p + 1;
  const std::int64_t r = root_of_minus_one(m);
  if (r == 0) {
    add_group(plan, m, {{first, p, p, 1}, {first, q, q, 1}}, {1, 0}, {1, 0});
    add_group(plan, m, {{second, q, p, 1}, {second, p, q, m - 1}}, {0, 1}, {0, 1});
    return;
  }
  const std::int64_t half = (m + 1) / 2, of_im = inverse_modulo(2 * r, m);
  add_group(plan, m, {{first, p, q, 1}}, {1, r}, {half, of_im});
  add_group(plan, m, {{second, q, p, 1}}, {1, m - r}, {half, m - of_im});
}

bool suffices(const Plan& plan, std::int64_t k) {
  return crt_serves(moduli_product(plan, plan.count()), largest_square(plan.bits, 0), k);
}

void add_moduli(Plan& plan, std::int64_t k) {
  const ModulusSource& source = plan.alphabet.moduli;
  for (const std::uint16_t m : source.complex_listed) {
    add_modulus(plan, m);
    if (suffices(plan, k)) return;
  }
  for (std::int64_t m = source.largest_odd; m > 1 && plan.count() < source.most_odd; m -= 2) {
    if (root_of_minus_one(m) == 0) continue;
    const auto is_coprime = [m](const Group& group) { return std::gcd(group.modulus, m) == 1; };
    if (!std::all_of(plan.groups.begin(), plan.groups.end(), is_coprime)) continue;
    add_modulus(plan, m);
    if (suffices(plan, k)) return;
  }
}

}  // namespace

Plan make_complex(const PlanRequest& request) {
  const std::string name = request.alphabet.name;
  if (request.scheme != Scheme::two || request.family != "least" || !request.alphabet.residue_is_limb()) {
    throw std::invalid_argument(
        "complex: plans are of scheme II, family 'least' and residues that are their own limbs; not of '" + request.family +
        "' over " + name);
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
  plan.k_max = crt_k_max(product, largest_square(plan.bits, 0));
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
    const int plane = joined.planes_a;
    add_group(joined, plan.modulus(i), {{i, plane, plane, 1}}, {}, {});
  }
  return joined;
}

}  // namespace ozfp4
