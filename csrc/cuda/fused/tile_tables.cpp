#include "cuda/fused/tile_tables.hpp"

#include <algorithm>
#include <stdexcept>

#include "arith/limbs/split_integer.hpp"
#include "plan/moduli/moduli.hpp"

namespace ozfp4::cuda {
namespace {

template <int Words>
Quotient quotient_of(const ByteModulus<Words>& constants) {
  return {constants.preset, constants.inverse, constants.shift, constants.negated};
}

// floor(log2 x). Range: x > 0.
int log_of(const PlanInt& x) {
  int bit = 32 * kMaxWords - 1;
  while (((x.word[bit / 32] >> (bit % 32)) & 1u) == 0) --bit;
  return bit;
}

}  // namespace

std::optional<TileTables> make_tile_tables(const Plan& plan, int k, int bits) {
  if (!plan.has_moduli() || !plan.alphabet.residue_is_limb() || plan.alphabet.residue_bytes != 1 || plan.is_complex ||
      plan.cut != 0 || !plan.prefix_allowed || k > kMostTileInner || bits > kTileIntegerBits) {
    return std::nullopt;
  }
  TileTables tables;
  tables.bits = bits;
  const PlanInt square = largest_square(bits, 0);
  const int most = std::min(plan.count(), kMostTileModuli);
  tables.count = 1;
  while (tables.count < most && !crt_serves(moduli_product(plan, tables.count), square, k)) ++tables.count;
  const PlanInt product = moduli_product(plan, tables.count);
  if (!crt_serves(product, square, k)) return std::nullopt;
  // |C| < P / 2 where norm_a norm_b < P / 2, and P >= 2^log.
  tables.most_log_square = 2 * log_of(product) - 2;

  Plan first = plan;
  first.groups.resize(static_cast<std::size_t>(tables.count));
  const ReconstructPlan reconstruct = make_reconstruct_plan(first, k, true);
  if (reconstruct.is_long() || reconstruct.words != 4 || reconstruct.row_steps != 1) return std::nullopt;
  const int prefix = tables.count - reconstruct.least;
  tables.columns = column_constants<4>(reconstruct, prefix);
  for (int tile = 0; tile < 2; ++tile) std::copy_n(reconstruct.fragment[prefix][0][0][tile], 32, tables.finish[tile]);

  for (int i = 0; i < tables.count; ++i) {
    const int m = static_cast<int>(plan.modulus(i));
    if (m < 3 || m > 256) return std::nullopt;
    try {
      auto encode = make_byte_modulus<kTileIntegerWords>(m);  // of another offset
      const auto rest = static_cast<std::uint32_t>(kSplitOffset % static_cast<std::uint64_t>(m));
      set_quotient(encode, m, most_byte_sum(m, 4 * kTileIntegerWords),
                   (static_cast<std::uint32_t>(m) - rest) % static_cast<std::uint32_t>(m));
      tables.encode[i] = quotient_of(encode);
      std::copy_n(encode.weight, kTileIntegerWords, tables.weight[i]);
      ByteModulus<1> fold;
      set_quotient(fold, m, double(m - 1) * (m - 1) * kMostTileInner, 0);
      tables.fold[i] = quotient_of(fold);
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
  }
  return tables;
}

}  // namespace ozfp4::cuda
