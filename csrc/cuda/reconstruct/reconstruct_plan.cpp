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

// Digits of scheme I are like residues: digit i has the weight base^i modulo 256 base^(count - 1). For these the last digit, a
// signed byte, is the unsigned byte of the same bits. Precondition: their value is less than half of that product.
template <int Words>
CrtConstants<Words> digit_constants(std::int64_t base, int count) {
  CrtConstants<Words> constants{{}, {wide_from<Words>(1)}};
  while (static_cast<int>(constants.weight.size()) < count) {
    constants.weight.push_back(wide_mul_small(constants.weight.back(), static_cast<std::uint32_t>(base)));
  }
  constants.product.number = wide_mul_small(constants.weight.back(), 256);
  constants.product.half = wide_mul_small(constants.weight.back(), 128);
  constants.product.inverse = 1.0 / wide_to_double(constants.product.number);
  return constants;
}

// The constants of the first `count` residues, or of so many digits.
template <int Words>
CrtConstants<Words> prefix_constants(const Plan& plan, int count) {
  return plan.scheme == Scheme::one ? digit_constants<Words>(plan.base, count)
                                    : make_crt_constants<Words>(first_moduli(plan, count));
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

void require_room(const ReconstructPlan& plan, const char* planes) {
  const std::int64_t weights = std::int64_t(plan.all) * plan.words * (plan.all - plan.least + 1);
  if (weights <= kMaxLongWeights) return;
  throw std::length_error("the reconstruct kernels hold " + std::to_string(kMaxLongWeights) + " words of weights; " +
                          std::to_string(plan.all) + planes + " need " + std::to_string(weights));
}

void make_long(ReconstructPlan& result, const Plan& plan, const PlanInt& product) {
  const bool has_digits = plan.scheme == Scheme::one;
  result.row_steps = 0;
  result.words = has_digits ? words_for(wide_bit_length(product) + 1, "the integers of this plan", kMinLongWords)
                            : std::max(kMinLongWords, crt_words(plan, result.all));
  require_room(result, has_digits ? " digits" : " moduli");
  dispatch_long_words(result.words, [&](auto words) {
    for (int count = result.least; count <= result.all; ++count) {
      const auto constants = prefix_constants<words()>(plan, count);
      result.long_table.product[count - result.least] = {constants.product.inverse,
                                                         wide_resize<kMaxWords>(constants.product.number),
                                                         wide_resize<kMaxWords>(constants.product.half)};
      append_weights(result.long_table, constants.weight, result.all);
    }
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

}  // namespace

ReconstructPlan make_reconstruct_plan(const Plan& plan, std::int64_t k, bool is_long) {
  if (plan.scheme == Scheme::integer) throw std::invalid_argument("an INT8 product needs no reconstruct");
  ReconstructPlan result{};
  const bool has_digits = plan.scheme == Scheme::one;
  result.all = has_digits ? positional_digits(plan, k) : plan.count();
  result.least = has_digits ? result.all : least_prefix(plan, kMaxPrefixes);
  const PlanInt whole =
      has_digits ? digit_constants<kMaxWords>(plan.base, result.all).product.number : moduli_product(plan, result.all);
  result.words = column_words(whole);
  if (is_long || result.words == 0 || result.all > kMaxColumnResidues) {
    make_long(result, plan, whole);
    return result;
  }
  result.row_steps = result.words == kMaxColumnWords ? kMaxRowSteps : (result.all + kRowsPerStep - 1) / kRowsPerStep;

  const Wide bound = product_bound(result.words), one = wide_from<8>(1);
  for (int count = result.least; count <= result.all; ++count) {
    const int prefix = count - result.least;
    auto& constants = result.constants[prefix];
    const CrtConstants<8> crt = prefix_constants<8>(plan, count);
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

}  // namespace ozfp4
