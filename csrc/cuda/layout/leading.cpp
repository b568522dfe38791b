#include "cuda/layout/leading.hpp"

#include <cmath>

#include "arith/accuracy/capacity.hpp"
#include "arith/limbs/residue_bytes.hpp"

namespace ozfp4::cuda {

std::optional<LeadingUnits> make_leading_units(const Plan& plan, const PrefixRule& prefixes, int k, int precision,
                                               bool as_codes) {
  if (!plan.has_moduli() || !plan.prefix_allowed || plan.cut != 0) return std::nullopt;
  int bits = precision;
  if (k < kLeastPlainOverlap) {  // in a large stack some lines are deep; their bits are encoded at once where that takes no more
                                 // words
    const int deep = precision + kShortDeepExtraBits, most = precision + kShortExtraBits;
    bits = byte_words(deep) == byte_words(most) ? deep : most;
  }
  // The norm of a line of integers of c bits is at most sqrt(K) 2^c.
  const double norm_squared = std::ldexp(static_cast<double>(k), 2 * bits);
  Plan first = plan;
  first.groups.resize(static_cast<std::size_t>(plan.groups_of(moduli_needed(prefixes, norm_squared * norm_squared))));
  first.bits = bits;
  LeadingUnits leading;
  leading.encode = make_encode_plan(first, as_codes);
  leading.most_capacity = byte_bits(leading.encode.words);
  for (const Group& group : first.groups) leading.planes += group.planes;
  return leading;
}

}  // namespace ozfp4::cuda
