#include "cuda/reconstruct/reconstruct_plan.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "plan/moduli/moduli.hpp"

namespace ozfp4 {
namespace {

using Wide = WideInt<8>;  // of the short form: holds 2^(32 * 6 + 30) and every product of the search for constants

template <int Words>
bool is_less(const WideInt<Words>& x, const WideInt<Words>& y) {  // of nonnegative numbers
  for (int i = Words - 1; i >= 0; --i) {
    if (x.word[i] != y.word[i]) return x.word[i] < y.word[i];
  }
  return false;
}

// floor(x / y) where it fits 32 bits.
std::uint32_t divide(const Wide& x, const Wide& y) {
  std::uint32_t quotient = 0;
  Wide rest = wide_zero<8>();
  for (int bit = 255; bit >= 0; --bit) {
    rest = wide_add(rest, rest);
    rest.word[0] |= (x.word[bit / 32] >> (bit % 32)) & 1u;
    quotient *= 2;
    if (!is_less(rest, y)) {
      rest = wide_sub(rest, y);
      ++quotient;
    }
  }
  return quotient;
}

// 2^(32 words) (1 - 2^-12), the bound of P'.
Wide product_bound(int words) {
  const Wide one = wide_from<8>(1);
  return wide_sub(wide_shift_left(one, 32 * words), wide_shift_left(one, 32 * words - 12));
}

void set_halfwords(std::uint32_t* halfword, const Wide& x, int words) {
  for (int i = 0; i < words; ++i) {
    halfword[2 * i] = x.word[i] & 0xffffu;
    halfword[2 * i + 1] = x.word[i] >> 16;
  }
}

// Puts the bytes of the weight of one residue where the lanes look for them.
void set_fragment(ReconstructPlan& plan, int prefix, int residue, const Wide& weight) {
  const int step = residue / kRowsPerStep, t = residue % kRowsPerStep / 4, position = residue % 4;
  for (int byte = 0; byte < 4 * plan.words; ++byte) {
    const std::uint32_t value = (weight.word[byte / 4] >> (8 * (byte % 4))) & 0xffu;
    plan.fragment[prefix][step][byte / 8][4 * (byte % 8) + t] |= value << (8 * position);
  }
}

// ---- The long form

// Appends the weights of one prefix, zero beyond them.
template <int Words>
void append_weights(LongTable& table, const std::vector<WideInt<Words>>& weights, int rows) {
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < Words; ++i) {
      table.weight.push_back(row < static_cast<int>(weights.size()) ? weights[static_cast<std::size_t>(row)].word[i] : 0u);
    }
  }
}

void require_room(const ReconstructPlan& plan) {
  const std::int64_t weights = std::int64_t(plan.all) * plan.words * (plan.positional ? 1 : plan.all - plan.least + 1);
  if (weights <= kMaxLongWeights) return;
  throw std::length_error("the reconstruct kernels hold " + std::to_string(kMaxLongWeights) + " words of weights; " +
                          std::to_string(plan.all) + (plan.positional ? " digits" : " moduli") + " need " +
                          std::to_string(weights));
}

void make_long_residues(ReconstructPlan& result, const Plan& plan) {
  result.row_steps = 0;
  result.words = std::max(kMinLongWords, crt_words(plan, result.all));
  require_room(result);
  dispatch_long_words(result.words, [&](auto words) {
    for (int count = result.least; count <= result.all; ++count) {
      const auto constants = make_crt_constants<words()>(first_moduli(plan, count));
      result.long_table.product[count - result.least] = {constants.product.inverse,
                                                         wide_resize<kMaxWords>(constants.product.number),
                                                         wide_resize<kMaxWords>(constants.product.half)};
      append_weights(result.long_table, constants.weight, result.all);
    }
  });
}

void make_long_digits(ReconstructPlan& result, int bits) {
  result.row_steps = 0;
  result.words = words_for(bits, "the integers of this plan", kMinLongWords);
  require_room(result);
  dispatch_long_words(result.words, [&](auto words) {
    std::vector<WideInt<words()>> weights(1, wide_from<words()>(1));
    while (static_cast<int>(weights.size()) < result.digits) {
      weights.push_back(wide_mul_small(weights.back(), static_cast<std::uint32_t>(result.base)));
    }
    append_weights(result.long_table, weights, result.digits);
    result.long_table.start = wide_resize<kMaxWords>(wide_negate(wide_mul_small(weights.back(), 128)));
  });
}

// ---- The short form

// The least words of the short form that hold the product, or 0.
int column_words(const PlanInt& product) {
  for (const int words : {4, kMaxColumnWords}) {
    if (is_less(product, wide_resize<kMaxWords>(product_bound(words)))) return words;
  }
  return 0;
}

ReconstructPlan make_residue_plan(const Plan& plan, bool is_long) {
  ReconstructPlan result{};
  result.all = plan.count();
  result.least = least_prefix(plan, kMaxPrefixes);
  result.words = column_words(moduli_product(plan, result.all));
  if (is_long || result.words == 0 || result.all > kMaxColumnResidues) {
    make_long_residues(result, plan);
    return result;
  }
  result.row_steps = result.words == kMaxColumnWords ? kMaxRowSteps : (result.all + kRowsPerStep - 1) / kRowsPerStep;

  const Wide bound = product_bound(result.words), one = wide_from<8>(1);
  for (int count = result.least; count <= result.all; ++count) {
    const int prefix = count - result.least;
    auto& constants = result.constants[prefix];
    const CrtConstants<8> crt = make_crt_constants<8>(first_moduli(plan, count));
    Wide product = crt.product.number;
    while (is_less(wide_add(product, product), bound)) {
      product = wide_add(product, product);
      ++constants.shift;
    }
    constants.inverse = divide(wide_shift_left(one, 32 * result.words + 30), product);
    // ceil((2^15 + 3) / (inverse / 2^32)), see arith/wide/column_crt.hpp.
    constants.offset =
        static_cast<std::uint32_t>(((((std::uint64_t(1) << 15) + 3) << 32) + constants.inverse - 1) / constants.inverse);
    set_halfwords(constants.negated, wide_negate(product), result.words);
    const Wide lowest = wide_negate(wide_shift_left(crt.product.half, constants.shift));
    for (int i = 0; i < result.words; ++i) {
      constants.product[i] = product.word[i];
      constants.lowest[i] = lowest.word[i];
    }
    for (int i = 0; i < count; ++i) {
      const Wide weight = wide_shift_left(crt.weight[static_cast<std::size_t>(i)], constants.shift);
      set_fragment(result, prefix, i, weight);
    }
  }
  return result;
}

ReconstructPlan make_positional_plan(const Plan& plan, std::int64_t k) {
  ReconstructPlan result{};
  result.positional = true;
  result.base = plan.base;
  result.digits = result.least = result.all = positional_digits(plan, k);
  make_long_digits(result, integer_bits(plan, k));
  return result;
}

}  // namespace

ReconstructPlan make_reconstruct_plan(const Plan& plan, std::int64_t k, bool is_long) {
  switch (plan.scheme) {
    case Scheme::two: return make_residue_plan(plan, is_long);
    case Scheme::one: return make_positional_plan(plan, k);
    default: throw std::invalid_argument("an INT8 product needs no reconstruct");
  }
}

}  // namespace ozfp4
