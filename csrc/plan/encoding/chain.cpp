#include "plan/encoding/chain.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "plan/moduli/number_theory.hpp"

namespace ozfp4 {

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
