// The arithmetic of stage 4 on the GPU, on the host. arith/wide/column_crt.hpp and cuda/reconstruct/round_fast.hpp, with the
// constants and fragments of make_reconstruct_plan, are compared with crt_from_columns() and round_scaled(). The sums of the long
// form are compared with the residues that they must have, for every plan and every prefix. Whole results: tests/api with `-k
// cuda`.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "arith/multiples.hpp"
#include "arith/wide/column_crt.hpp"
#include "arith/wide/crt.hpp"
#include "arith/wide/round_wide.hpp"
#include "check.hpp"
#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/reconstruct/round_fast.hpp"
#include "plan/moduli/moduli.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

using Wide = PlanInt;

bool one_in(int n) { return random_int(1, n) == 1; }

std::int64_t modulo(const Wide& x, std::int64_t m) {
  const std::uint32_t sign = wide_sign_mask(x);
  const Wide magnitude = wide_magnitude(x, sign);
  std::int64_t rest = 0;
  for (int i = kMaxWords - 1; i >= 0; --i) rest = ((rest << 32) | magnitude.word[i]) % m;
  return sign != 0 && rest != 0 ? m - rest : rest;
}

Wide halve(Wide x) {
  for (int i = 0; i < kMaxWords; ++i) x.word[i] = (x.word[i] >> 1) | (i + 1 < kMaxWords ? x.word[i + 1] << 31 : 0u);
  return x;
}

// An integer below half of P in magnitude: uniform in bits, or near 0, or near the bound where the quotient is in doubt.
Wide random_integer(const Wide& product) {
  const Wide half = halve(wide_sub(product, wide_from<kMaxWords>(1)));
  const int length = wide_bit_length(half);
  Wide x = wide_zero<kMaxWords>();
  const int kind = random_int(0, 9);
  if (kind == 0) {
    x = wide_from<kMaxWords>(random_int(0, 3));
  } else if (kind == 1) {
    x = wide_sub(half, wide_from<kMaxWords>(length > 40 ? random_int(0, 1000) : 0));
  } else {
    const int bits = kind < 5 ? length - 1 : random_int(0, std::max(0, length - 1));
    for (int bit = 0; bit < bits; ++bit) x.word[bit / 32] |= static_cast<std::uint32_t>(generator() & 1u) << (bit % 32);
    if (one_in(4)) {  // few significant bits: ties
      for (int bit = 0; bit < bits - random_int(1, 60); ++bit) x.word[bit / 32] &= ~(1u << (bit % 32));
    }
    if (kind == 2) {  // close below the bound
      Wide part = half;
      for (int i = random_int(1, 24); i > 0; --i) part = halve(part);
      x = wide_sub(half, part);
    }
  }
  return one_in(2) ? wide_negate(x) : x;
}

struct NamedPlan {
  std::string name;
  Plan plan;
  std::int64_t k;
};

// Every family and both schemes, from few bits to the longest K a plan exists for.
std::vector<NamedPlan> all_plans() {
  std::vector<NamedPlan> plans;
  const auto add = [&](Scheme scheme, Alphabet alphabet, const char* family, int bits, std::int64_t k) {
    PlanRequest request;
    request.scheme = scheme;
    request.alphabet = alphabet;
    request.family = family;
    request.bits = bits;
    request.k = k;
    char name[120];
    std::snprintf(name, sizeof name, "%s %s %s bits %d k %lld", scheme == Scheme::one ? "I" : "II", alphabet.name, family, bits,
                  static_cast<long long>(k));
    try {
      plans.push_back({name, make_plan(request), k});
    } catch (const std::length_error&) {  // no plan is exact for this K
    }
  };
  for (const Alphabet& alphabet : {Alphabet::fp4, Alphabet::int8}) {
    for (const int bits : {4, 11, 24, 32, 40, 53}) {
      for (const std::int64_t k : {1, 300, 16384, 1 << 20, 1 << 24}) {
        add(Scheme::two, alphabet, "least", bits, k);
        add(Scheme::one, alphabet, "least", bits, k);
      }
    }
    for (const int bits : {60, 76, 109, 130, 160, 171, 192, 200}) {
      for (const std::int64_t k : {300, 1 << 20}) {
        add(Scheme::two, alphabet, "least", bits, k);
        add(Scheme::one, alphabet, "least", bits, k);
      }
    }
  }
  // The long form: more moduli than the short one takes, products beyond 192 bits, more digits. In ascending and descending
  // order, so that prefixes are of many lengths; 54 moduli have the largest product there is for a byte.
  std::vector<std::int64_t> moduli;
  for (std::int64_t p = 2; p < 256; ++p) {
    bool is_prime = true;
    for (std::int64_t q = 2; q < p; ++q) is_prime = is_prime && p % q != 0;
    std::int64_t power = p;
    while (power * p <= 256) power *= p;
    if (is_prime) moduli.push_back(power);
  }
  std::sort(moduli.begin(), moduli.end());
  for (const bool is_descending : {false, true}) {
    if (is_descending) std::reverse(moduli.begin(), moduli.end());
    for (const std::size_t count : {std::size_t(20), std::size_t(27), std::size_t(33), std::size_t(42), moduli.size()}) {
      const std::vector<std::int64_t> first(moduli.begin(), moduli.begin() + static_cast<std::ptrdiff_t>(count));
      char name[120];
      std::snprintf(name, sizeof name, "II int8 given %d moduli from %d", int(count), int(first[0]));
      plans.push_back({name, make_moduli_plan(Alphabet::int8, 53, first), 1});
    }
  }
  PlanRequest digits;
  digits.scheme = Scheme::one;
  Plan long_digits = make_plan(digits);
  plans.push_back({"I fp4 least bits 53 k 2^62", long_digits, std::int64_t(1) << 62});
  for (const int bits : {200, 290}) {  // as a plan of so many bits would have it; its sums are those of the plan of 53
    long_digits.bits = bits;
    plans.push_back({"I fp4 least digits of " + std::to_string(bits) + " bits", long_digits, 1 << 20});
  }
  for (const std::int64_t k : {1, 16384}) {
    add(Scheme::two, Alphabet::fp4, "paper", 53, k);
    add(Scheme::two, Alphabet::fp4, "paper-karatsuba", 53, k);
  }
  return plans;
}

// The columns of one entry, from the fragments, as the matrix unit forms them.
template <int Words>
void sum_columns(const ReconstructPlan& plan, int prefix, const std::vector<int>& value, std::uint32_t (&column)[2 * Words]) {
  for (std::uint32_t& c : column) c = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const int row = static_cast<int>(i) % kRowsPerStep;
    for (int byte = 0; byte < 4 * Words; ++byte) {
      const std::uint32_t word = plan.fragment[prefix][i / kRowsPerStep][byte / 8][4 * (byte % 8) + row / 4];
      column[byte / 2] += (static_cast<std::uint32_t>(value[i]) * ((word >> (8 * (row % 4))) & 255u)) << (8 * (byte % 2));
    }
  }
}

template <int Words>
bool is_same(const WideInt<Words>& x, const Wide& y) {
  for (int i = 0; i < Words; ++i) {
    if (x.word[i] != y.word[i]) return false;
  }
  return true;
}

template <class T, int Words>
bool check_rounding(const WideInt<Words>& x, int exponent, long& rare) {
  bool is_rare = false;
  const T fast = round_fast<T>(x, exponent, is_rare), general = round_scaled<T>(x, exponent);
  rare += is_rare;
  const bool is_safe = exponent >= kLeastSafeExponent<T, Words> && exponent <= kMostSafeExponent<T, Words>;
  return is_rare ? !is_safe : float_bits(fast) == float_bits(general);
}

// The assumption of the proof of arith/wide/column_crt.hpp: offset f in [2^15 + 3, 2^15 + 3.51), f = inverse / 2^32.
bool has_right_offset(std::uint32_t inverse, std::uint32_t offset) {
  const std::uint64_t product = std::uint64_t(offset) * inverse, least = ((std::uint64_t(1) << 15) + 3) << 32;
  return product >= least && product - least < (std::uint64_t(51) << 32) / 100;
}

// The integer of an entry's bytes, by definition: from residues, or from digits of which the last one is a signed byte.
class Numbers {
 public:
  Numbers(const Plan& plan, int count) : plan_(plan), count_(count), has_digits_(plan.scheme == Scheme::one) {
    if (has_digits_) {
      product_ = wide_from<kMaxWords>(256);
      for (int i = 1; i < count; ++i) product_ = wide_mul_small(product_, static_cast<std::uint32_t>(plan.base));
    } else {
      product_ = moduli_product(plan, count);
      crt_ = make_crt_constants<kMaxWords>(first_moduli(plan, count));
    }
  }

  bool has_digits() const { return has_digits_; }
  // Twice the magnitude of an integer is less than it, or equal.
  const Wide& product() const { return product_; }
  int most(int i) const { return static_cast<int>(!has_digits_ ? plan_.modulus(i) - 1 : i + 1 == count_ ? 255 : plan_.base - 1); }

  std::vector<int> bytes_of(Wide x) const {
    std::vector<int> bytes(static_cast<std::size_t>(count_));
    for (int i = 0; i < count_; ++i) {
      const std::int64_t base = !has_digits_ ? plan_.modulus(i) : i + 1 == count_ ? 256 : plan_.base;
      const std::int64_t r = modulo(x, base);
      bytes[static_cast<std::size_t>(i)] = static_cast<int>(r);
      if (!has_digits_) continue;
      x = wide_sub(x, wide_from<kMaxWords>(r));
      const std::uint32_t sign = wide_sign_mask(x);
      std::uint32_t rest = 0;
      x = wide_divide_small(wide_magnitude(x, sign), static_cast<std::uint32_t>(base), rest);
      if (sign != 0) x = wide_negate(x);
    }
    return bytes;
  }

  Wide integer_of(const std::vector<int>& bytes) const {
    if (has_digits_) {
      Wide x = wide_zero<kMaxWords>();
      for (int i = count_ - 1; i >= 0; --i) {
        const int byte = bytes[static_cast<std::size_t>(i)];
        x = wide_add(wide_mul_small(x, static_cast<std::uint32_t>(plan_.base)),
                     i + 1 == count_ && byte > 127 ? wide_negate(wide_from<kMaxWords>(256 - byte)) : wide_from<kMaxWords>(byte));
      }
      return x;
    }
    std::uint64_t sums[kMaxWords] = {};
    for (int i = 0; i < count_; ++i) {
      const auto r = static_cast<std::uint64_t>(bytes[static_cast<std::size_t>(i)]);
      for (int k = 0; k < kMaxWords; ++k) sums[k] += r * crt_.weight[static_cast<std::size_t>(i)].word[k];
    }
    return crt_from_columns(sums, crt_.product);
  }

 private:
  const Plan& plan_;
  int count_;
  bool has_digits_;
  Wide product_;
  CrtConstants<kMaxWords> crt_;
};

struct Tally {
  long entries = 0, uncertain = 0, rare = 0;
};

template <int Words>
bool check_arithmetic(const NamedPlan& named, const ReconstructPlan& plan, Tally& tally) {
  for (int count = plan.least; count <= plan.all; ++count) {
    const int prefix = count - plan.least;
    const auto constants = column_constants<Words>(plan, prefix);
    if (!has_right_offset(constants.inverse, constants.offset)) return false;
    const Numbers numbers(named.plan, count);
    for (int entry = 0; entry < 400; ++entry) {
      std::uint32_t column[2 * Words];
      const bool is_random = one_in(4);
      const Wide x = random_integer(numbers.product());
      std::vector<int> value = numbers.bytes_of(x);
      for (int i = 0; i < count && (is_random || entry == 0); ++i) {
        value[static_cast<std::size_t>(i)] = entry == 0 ? numbers.most(i) : random_int(0, numbers.most(i));
      }
      const Wide reference = numbers.integer_of(value);
      Wide expected = reference;
      if (!is_random && entry != 0 && !is_same(x, reference)) return false;
      for (int i = 0; i < constants.shift; ++i) expected = wide_add(expected, expected);
      sum_columns<Words>(plan, prefix, value, column);
      const std::uint32_t estimate = column_estimate(column, constants);
      const WideInt<Words> actual = exact_column_integer(column, constants);
      tally.uncertain += is_uncertain(estimate);
      const Wide twice = wide_add(reference, reference);  // +-P / 2 has two representatives
      const bool is_half = is_same(twice, numbers.product()) || is_same(wide_negate(twice), numbers.product());
      const WideInt<Words> quick = column_integer(column, column_quotient(estimate), constants);
      if (!is_half && !is_uncertain(estimate) && !is_same(quick, expected)) return false;
      if (is_half)
        expected = actual.word[Words - 1] >> 31 == reference.word[kMaxWords - 1] >> 31 ? expected : wide_negate(expected);
      ++tally.entries;
      bool same = true;
      for (int i = 0; i < Words; ++i) same = same && actual.word[i] == expected.word[i];
      if (!same) return false;
      for (int i = 0; i < 4; ++i) {
        const int length = 32 * Words;
        if (!check_rounding<double>(actual, random_int(-1100 - length, 1030), tally.rare)) return false;
        if (!check_rounding<double>(actual, random_int(-400, 400), tally.rare)) return false;
        if (!check_rounding<float>(actual, random_int(-160 - length, 130), tally.rare)) return false;
      }
    }
  }
  return true;
}

// The long form as its kernel uses it: any residues or digits, the largest and the smallest first.
template <int Words>
bool check_long(const NamedPlan& named, const ReconstructPlan& plan, Tally& tally) {
  const LongTable& table = plan.long_table;
  for (int count = plan.least; count <= plan.all; ++count) {
    const int prefix = count - plan.least;
    const CrtProduct<Words> product{table.product[prefix].inverse, wide_resize<Words>(table.product[prefix].number),
                                    wide_resize<Words>(table.product[prefix].half)};
    const Numbers numbers(named.plan, count);
    for (int entry = 0; entry < 400; ++entry, ++tally.entries) {
      const bool is_exact = entry >= 2 && one_in(2);
      const Wide x = is_exact ? random_integer(numbers.product()) : wide_zero<kMaxWords>();
      std::vector<int> value = numbers.bytes_of(x);
      std::uint64_t column[Words] = {};
      for (int i = 0; i < count; ++i) {
        int& r = value[static_cast<std::size_t>(i)];
        if (!is_exact) r = entry == 0 ? numbers.most(i) : entry == 1 ? 0 : random_int(0, numbers.most(i));
        for (int k = 0; k < Words; ++k) {
          column[k] +=
              static_cast<std::uint64_t>(r) * table.weight[static_cast<std::size_t>((prefix * plan.all + i) * Words + k)];
        }
      }
      const WideInt<Words> found = crt_from_columns(column, product);
      if (is_exact && !is_same(found, x)) return false;
      if (numbers.has_digits()) {
        if (!is_same(found, numbers.integer_of(value))) return false;
        continue;
      }
      const Wide y = wide_resize<kMaxWords>(found);
      const Wide twice = wide_magnitude(wide_add(y, y), wide_sign_mask(y));
      if (wide_is_negative(wide_sub(numbers.product(), twice))) return false;
      for (int i = 0; i < count; ++i) {
        const std::int64_t m = named.plan.modulus(i);
        if ((modulo(y, m) - value[static_cast<std::size_t>(i)]) % m != 0) return false;
      }
    }
  }
  return true;
}

bool check_plan(const NamedPlan& named) {
  const ReconstructPlan plan = make_reconstruct_plan(named.plan, named.k);
  Tally tally;
  const bool passed = plan.is_long()
                          ? dispatch_long_words(plan.words, [&](auto words) { return check_long<words()>(named, plan, tally); })
                      : plan.words == 4 ? check_arithmetic<4>(named, plan, tally)
                                        : check_arithmetic<6>(named, plan, tally);
  std::printf("%s %-36s %d words, %d steps, units %d..%d, %ld entries, %ld uncertain, %ld rare\n", passed ? "ok    " : "FAILED",
              named.name.c_str(), plan.words, plan.row_steps, plan.least, plan.all, tally.entries, tally.uncertain, tally.rare);
  return passed;
}

}  // namespace

int main() {
  for (const NamedPlan& plan : all_plans()) report(plan.name, check_plan(plan));
  return finish();
}
