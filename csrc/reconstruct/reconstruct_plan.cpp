#include "reconstruct/reconstruct_plan.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "plan/crt_constants.hpp"
#include "plan/moduli.hpp"

namespace ozfp4 {
namespace {

using Wide = WideInt<8>;

Wide shift_left(Wide x, int bits) {
  for (int i = 0; i < bits; ++i) x = wide_add(x, x);
  return x;
}

bool is_less(const Wide& x, const Wide& y) {  // of nonnegative numbers
  for (int i = 7; i >= 0; --i) {
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

// 256 x mod y. Range: x < y < 2^255.
Wide times_256(Wide x, const Wide& y) {
  for (int i = 0; i < 8; ++i) {
    x = wide_add(x, x);
    if (!is_less(x, y)) x = wide_sub(x, y);
  }
  return x;
}

// 2^(32 words) (1 - 2^-12), the bound of P'.
Wide product_bound(int words) {
  const Wide one = wide_from<8>(1);
  return wide_sub(shift_left(one, 32 * words), shift_left(one, 32 * words - 12));
}

void set_halfwords(std::uint32_t* halfword, const Wide& x, int words) {
  for (int i = 0; i < words; ++i) {
    halfword[2 * i] = x.word[i] & 0xffffu;
    halfword[2 * i + 1] = x.word[i] >> 16;
  }
}

// Puts the bytes of the weight of one residue where the lanes look for them.
void set_fragment(ReconstructPlan& plan, int prefix, int high, int residue, const Wide& weight) {
  const int step = residue / kRowsPerStep, t = residue % kRowsPerStep / 4, position = residue % 4;
  for (int byte = 0; byte < 4 * plan.words; ++byte) {
    const std::uint32_t value = (weight.word[byte / 4] >> (8 * (byte % 4))) & 0xffu;
    plan.fragment[prefix][high][step][byte / 8][4 * (byte % 8) + t] |= value << (8 * position);
  }
}

ReconstructPlan make_residue_plan(const Plan& plan) {
  ReconstructPlan result{};
  result.all = static_cast<int>(plan.groups.size());
  result.least = least_prefix(plan, kMaxPrefixes);
  result.row_steps = (result.all + kRowsPerStep - 1) / kRowsPerStep;
  if (result.row_steps > 2) {
    throw std::length_error("reconstruct serves at most 32 moduli; the plan has " + std::to_string(result.all));
  }
  const Wide largest = moduli_product(plan, result.all);
  for (const int words : {2, 4, 6}) {
    if (result.words == 0 && is_less(largest, product_bound(words))) result.words = words;
  }
  if (result.words == 0) {
    throw std::length_error("reconstruct serves products of moduli below 2^192; the plan's has " +
                            std::to_string(wide_bit_length(largest)) + " bits");
  }
  if (result.words == 6) result.row_steps = 2;

  const Wide bound = product_bound(result.words), one = wide_from<8>(1);
  for (int count = result.least; count <= result.all; ++count) {
    const int prefix = count - result.least;
    auto& constants = result.constants[prefix];
    Wide product = moduli_product(plan, count);
    const CrtConstants<8> crt = make_crt_constants<8>(plan, count);
    while (is_less(wide_add(product, product), bound)) {
      product = wide_add(product, product);
      ++constants.shift;
    }
    constants.inverse = divide(shift_left(one, 32 * result.words + 30), product);
    // ceil((2^15 + 3) / (inverse / 2^32)), see arith/column_crt.hpp.
    constants.offset =
        static_cast<std::uint32_t>(((((std::uint64_t(1) << 15) + 3) << 32) + constants.inverse - 1) / constants.inverse);
    set_halfwords(constants.negated, wide_negate(product), result.words);
    const Wide lowest = wide_negate(shift_left(crt.half, constants.shift));
    for (int i = 0; i < result.words; ++i) {
      constants.product[i] = product.word[i];
      constants.lowest[i] = lowest.word[i];
    }
    for (int i = 0; i < count; ++i) {
      const Wide weight = shift_left(crt.weight[i], constants.shift);
      set_fragment(result, prefix, 0, i, weight);
      set_fragment(result, prefix, 1, i, times_256(weight, product));
    }
  }
  return result;
}

// |integer| <= 2^(2 bits) k.
Wide largest_integer(const Plan& plan, std::int64_t k) { return shift_left(wide_from<8>(k), 2 * plan.bits); }

ReconstructPlan make_positional_plan(const Plan& plan, std::int64_t k) {
  ReconstructPlan result{};
  result.positional = true;
  result.base = plan.base;
  result.digits = result.least = result.all = positional_digits(plan, k);
  result.row_steps = kMaxRowSteps;
  result.words = wide_bit_length(largest_integer(plan, k)) < 128 ? 4 : 6;
  auto& constants = result.constants[0];
  Wide weight = wide_from<8>(1);
  for (int digit = 0; digit < result.digits; ++digit) {
    set_fragment(result, 0, 0, digit, weight);
    set_fragment(result, 0, 1, digit, wide_mul_small(weight, 256));
    // The kernels read the last plane with 128 added, which makes it a digit from 0 to 255, and take 128 weights away.
    if (digit + 1 == result.digits) set_halfwords(constants.negated, wide_negate(wide_mul_small(weight, 128)), result.words);
    weight = wide_mul_small(weight, static_cast<std::uint32_t>(plan.base));
  }
  return result;
}

}  // namespace

int positional_digits(const Plan& plan, std::int64_t k) {
  const Wide largest = largest_integer(plan, k);
  Wide reach = wide_from<8>(127);  // of the last plane
  int digits = 1;
  for (; is_less(reach, largest) || digits <= static_cast<int>(plan.groups.size()); ++digits) {
    if (digits == kMaxDigits) {
      throw std::length_error("reconstruct serves at most " + std::to_string(kMaxDigits) + " digits; k = " + std::to_string(k) +
                              " needs more");
    }
    reach = wide_mul_small(reach, static_cast<std::uint32_t>(plan.base));
  }
  return digits;
}

ReconstructPlan make_reconstruct_plan(const Plan& plan, std::int64_t k) {
  switch (plan.scheme) {
    case Scheme::two: return make_residue_plan(plan);
    case Scheme::one: return make_positional_plan(plan, k);
    default: throw std::invalid_argument("an INT8 product needs no reconstruct");
  }
}

}  // namespace ozfp4
