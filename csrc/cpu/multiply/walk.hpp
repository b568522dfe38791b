// The walk over the terms of one group, once for every unit: when sums are folded or flushed so that they stay exact.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arith/limits.hpp"
#include "arith/multiples.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// K in the fewest pieces of at most `longest` entries, all of about the same length.
inline std::int64_t even_piece(std::int64_t k, std::int64_t longest) { return ceil_div(k, ceil_div(k, longest)); }

// One modulus: Horner's rule over the chain. Sums stay within `limit` in magnitude, and are below `folded` times the multiplier
// after a fold. Sums: add(a_plane, b_plane, k0, k) adds products over [k0, k0 + k), the first time to nothing;
// fold(multiplier) makes them their residues times it, store(multiplier) puts those of its product out.
template <class Sums>
void walk_chain(const Group& group, std::int64_t inners, std::int64_t limit, std::int64_t folded, Sums& sums) {
  const std::int64_t piece = even_piece(inners, accumulator_k_max(group.max_product, limit, folded));
  std::int64_t held = 0;  // bound of the sums
  const auto fold = [&](std::int64_t multiplier) {
    sums.fold(multiplier);
    held = folded * multiplier;
  };
  for (const Step& step : group.chain) {
    for (std::int64_t k0 = 0; k0 < inners; k0 += piece) {
      const std::int64_t k = std::min(piece, inners - k0);
      if (held + k * group.max_product > limit) fold(1);
      sums.add(step.a_plane, step.b_plane, k0, k);
      held += k * group.max_product;
    }
    if (step.multiplier != 0 && &step != &group.chain.back()) fold(step.multiplier);
  }
  sums.store(group.chain.back().multiplier);
}

// One group of plain integer terms. Sums: add as above; flush(weight) adds weight times the sums to the output, and begins anew.
template <class Sums>
void walk_terms(const Plan& plan, const Group& group, std::int64_t inners, std::int64_t limit, Sums& sums) {
  const std::int64_t piece = even_piece(inners, accumulator_k_max(group.max_product, limit));
  std::int64_t held = 0, weight = 0;
  const auto flush = [&] {
    sums.flush(weight);
    held = 0;
  };
  for (int t = group.first_term; t < group.first_term + group.terms; ++t) {
    const Term& term = plan.terms[static_cast<std::size_t>(t)];
    if (held > 0 && term.weight != weight) flush();
    weight = term.weight;
    for (std::int64_t k0 = 0; k0 < inners; k0 += piece) {
      const std::int64_t k = std::min(piece, inners - k0);
      if (held + k * group.max_product > limit) flush();
      sums.add(term.a_plane, term.b_plane, k0, k);
      held += k * group.max_product;
    }
  }
  flush();
}

}  // namespace ozfp4
