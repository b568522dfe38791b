#include "plan/encoding/limb_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "plan/moduli/number_theory.hpp"

namespace ozfp4 {
namespace {

using plan::Recipe;
using plan::RecipeKind;

// The limb of least magnitude congruent to each residue, of two that differ in sign the one that comes first; none where there
// is none.
std::vector<std::optional<int>> find_representatives(const std::vector<int>& limbs, std::int64_t m) {
  std::vector<std::optional<int>> found(static_cast<std::size_t>(m));
  for (const int limb : limbs) {
    std::optional<int>& best = found[static_cast<std::size_t>(modulo(limb, m))];
    if (!best || std::abs(limb) < std::abs(*best)) best = limb;
  }
  return found;
}

// The largest magnitude in a plane of a table.
std::int64_t largest_limb(const std::vector<std::int8_t>& table, int plane, std::int64_t m) {
  if (table.empty()) return m / 2;
  std::int64_t largest = 0;
  for (std::int64_t x = 0; x < m; ++x) {
    largest = std::max<std::int64_t>(largest, std::abs(table[static_cast<std::size_t>(plane * m + x)]));
  }
  return largest;
}

}  // namespace

int planes_of(RecipeKind kind) {
  switch (kind) {
    case RecipeKind::direct: return 1;
    case RecipeKind::karatsuba: return 3;
    default: return 2;
  }
}

std::vector<int> limbs_of(const Alphabet& alphabet) {
  std::vector<int> limbs;
  for (const int magnitude : alphabet.magnitudes) {
    limbs.push_back(magnitude);
    if (magnitude != 0) limbs.push_back(-magnitude);
  }
  return limbs;
}

std::vector<std::int8_t> make_limb_table(const Alphabet& alphabet, const Recipe& recipe) {
  const std::int64_t m = recipe.modulus;
  const int planes = planes_of(recipe.kind);
  const std::vector<int> limbs = limbs_of(alphabet);
  const std::vector<std::optional<int>> representatives = find_representatives(limbs, m);
  using Cost = std::tuple<int, int, int, int, bool, bool>;
  std::vector<std::optional<Cost>> best(static_cast<std::size_t>(m));
  std::vector<std::int8_t> table(static_cast<std::size_t>(planes * m), 0);
  for (const int c0 : limbs) {
    for (const int c1 : limbs) {
      if (planes == 1 && c1 != 0) continue;
      int sum = 0;
      if (recipe.kind == RecipeKind::karatsuba) {
        const auto& limb = representatives[static_cast<std::size_t>(modulo(recipe.s * c0 + recipe.t * c1, m))];
        if (!limb) continue;
        sum = *limb;
      }
      const auto x = static_cast<std::size_t>(modulo(c0 + recipe.base * c1, m));
      const Cost cost{std::max({std::abs(c0), std::abs(c1), std::abs(sum)}),
                      c0 * c0 + c1 * c1 + sum * sum,
                      std::abs(c1),
                      std::abs(c0),
                      c0 < 0,
                      c1 < 0};
      if (best[x] && *best[x] <= cost) continue;
      best[x] = cost;
      const int chosen[3] = {c0, c1, sum};
      for (int p = 0; p < planes; ++p) table[static_cast<std::size_t>(p * m) + x] = static_cast<std::int8_t>(chosen[p]);
    }
  }
  for (std::int64_t x = 0; x < m; ++x) {
    if (!best[static_cast<std::size_t>(x)]) {
      throw std::logic_error("modulus " + std::to_string(m) + ": the limbs of " + alphabet.name + " give no residue " +
                             std::to_string(x));
    }
  }
  return table;
}

std::int64_t largest_product(const std::vector<std::int8_t>& table, const std::vector<Term>& terms, std::int64_t m) {
  std::int64_t largest = 0;
  for (const Term& term : terms) {
    largest = std::max(largest, largest_limb(table, term.a_plane, m) * largest_limb(table, term.b_plane, m));
  }
  return largest;
}

const Recipe& find_recipe(const Table<Recipe>& recipes, int modulus) {
  for (const Recipe& recipe : recipes) {
    if (recipe.modulus == modulus) return recipe;
  }
  throw std::logic_error("no recipe for modulus " + std::to_string(modulus));
}

std::vector<Term> terms_of(const Recipe& recipe) {
  const std::int64_t m = recipe.modulus, b = recipe.base, s = recipe.s, t = recipe.t;
  switch (recipe.kind) {
    case RecipeKind::direct: return {{0, 0, 0, 1}};
    case RecipeKind::square: return {{0, 0, 1, b}, {0, 1, 0, b}, {0, 0, 0, 1}};
    case RecipeKind::pair: return {{0, 1, 1, b * b % m}, {0, 0, 1, b}, {0, 1, 0, b}, {0, 0, 0, 1}};
    case RecipeKind::karatsuba: {
      // xy = c0 d0 + b (c0 d1 + c1 d0) + b^2 c1 d1, with s t (c0 d1 + c1 d0) = e e' - s^2 c0 d0 - t^2 c1 d1.
      const std::int64_t cross = b * inverse_modulo(s * t, m) % m;
      std::vector<Term> terms = {
          {0, 2, 2, cross}, {0, 1, 1, modulo(b * b - cross * (t * t % m), m)}, {0, 0, 0, modulo(1 - cross * (s * s % m), m)}};
      terms.erase(std::remove_if(terms.begin(), terms.end(), [](const Term& term) { return term.weight == 0; }), terms.end());
      return terms;
    }
  }
  throw std::logic_error("unknown recipe kind");
}

std::vector<Step> make_chain(const std::vector<Term>& terms, std::int64_t m) {
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

}  // namespace ozfp4
