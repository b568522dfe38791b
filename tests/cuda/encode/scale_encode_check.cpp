// The arithmetic that scale and encode share on the GPU, on the host. It is scaled integers, residues, limbs and digits in words,
// sums of squares, facts of lines, and the rounded entries. Results of their kernels: tests/api with `-k cuda`,
// tests/cuda/test_accuracy.py.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "arith/accuracy/certificate.hpp"
#include "arith/accuracy/line_facts.hpp"
#include "arith/float_fields.hpp"
#include "arith/limbs/limbs.hpp"
#include "arith/scale_entry.hpp"
#include "check.hpp"
#include "cuda/encode/encode.hpp"
#include "cuda/encode/residue_bytes.hpp"
#include "cuda/scale/batch_facts.hpp"
#include "cuda/scale/line_sum.hpp"

using namespace ozfp4;

namespace {

// `short_` entries have few bits: integers of them are exact, or ties. `near` ones are rounded, but lie close to each other.
enum class Data { plain, wide, sparse, tiny, subnormal, huge, specials, integers, fixed, short_, near };
constexpr int kDataKinds = 11;

template <class T>
T random_entry(Data data) {
  using Format = FloatFormat<T>;
  const T fraction = static_cast<T>(1 + std::uniform_real_distribution<double>(0, 1)(generator));
  const T sign = random_int(0, 1) != 0 ? T(1) : T(-1);
  switch (data) {
    case Data::plain: return sign * std::ldexp(fraction, static_cast<int>(random_int(-12, 0)));
    case Data::wide:
      return sign * std::ldexp(fraction, static_cast<int>(random_int(Format::min_exponent / 2, Format::max_exponent / 2)));
    case Data::sparse: return random_int(0, 3) != 0 ? T(0) : sign * std::ldexp(fraction, static_cast<int>(random_int(-3, 3)));
    case Data::tiny:
      return sign * std::ldexp(fraction, static_cast<int>(random_int(Format::lowest_exponent, Format::min_exponent + 30)));
    case Data::subnormal:
      return sign * std::ldexp(fraction, static_cast<int>(random_int(Format::lowest_exponent - 2, Format::min_exponent - 1)));
    case Data::huge:
      return sign * std::ldexp(fraction, static_cast<int>(random_int(Format::max_exponent - 60, Format::max_exponent)));
    case Data::specials: {
      const std::int64_t kind = random_int(0, 99);
      if (kind < 1) return std::numeric_limits<T>::quiet_NaN();
      if (kind < 2) return sign * std::numeric_limits<T>::infinity();
      return kind < 30 ? T(0) : sign * fraction;
    }
    case Data::integers: return static_cast<T>(random_int(-9, 9));
    case Data::fixed: return sign * std::ldexp(static_cast<T>(random_int(0, (std::int64_t(1) << Format::precision) - 1)), -70);
    case Data::near: return sign * std::ldexp(fraction, static_cast<int>(random_int(-5, 0)));
    case Data::short_: return sign * std::ldexp(static_cast<T>(random_int(1, 63)), static_cast<int>(random_int(-90, 0)));
  }
  return 0;
}

// The same exponent with a significand of few bits, which makes ties when scaled down.
template <class T>
T short_entry(T x) {
  int exponent;
  const T fraction = std::frexp(x, &exponent);
  return std::ldexp(std::rint(fraction * 64) / 64, exponent);
}

template <int Words>
bool equal(const WideInt<Words>& x, const WideInt<Words>& y) {
  return std::equal(x.word, x.word + Words, y.word);
}

template <class T>
void check_scaled_integers(const std::string& name) {
  using Format = FloatFormat<T>;
  const Data kinds[] = {Data::plain, Data::wide, Data::tiny, Data::subnormal, Data::huge};
  bool good = true;
  for (int i = 0; i < 400000; ++i) {
    T x = random_entry<T>(kinds[i % 5]);
    if (i % 3 == 0) x = short_entry(x);
    if (x == 0 || !std::isfinite(x)) continue;
    const int exponent = exponent_of_magnitude<T>(magnitude_bits(x));
    // The row's largest exponent is anywhere above.
    const int capacity =
        sizeof(T) == 4 && i % 2 == 0 ? static_cast<int>(random_int(2, byte_bits(1))) : static_cast<int>(random_int(2, 62));
    const int largest = static_cast<int>(std::min<std::int64_t>(exponent + random_int(0, 60), Format::max_exponent));
    const int shift = scale_exponent(capacity, largest);
    const ShiftHalves halves = halves_of(shift);
    const std::int64_t expected = scaled_integer(x, shift);
    const double first = exact_power_of_two<double>(halves.first), second = exact_power_of_two<double>(halves.second);
    good &= scaled_integer_by_multiplication(static_cast<double>(x), first, second) == expected;
    good &= equal(scaled_wide<2>(x, shift), wide_from<2>(expected));
    const int wider = scale_exponent(static_cast<int>(random_int(2, 82)), largest);
    const ShiftHalves wider_halves = halves_of(wider);
    good &= equal(scaled_wide_by_multiplication(static_cast<double>(x), exact_power_of_two<double>(wider_halves.first),
                                                exact_power_of_two<double>(wider_halves.second)),
                  scaled_wide<3>(x, wider));
    if (sizeof(T) == 4 && capacity <= byte_bits(1)) {
      const T short_first = exact_power_of_two<T>(halves.first), short_second = exact_power_of_two<T>(halves.second);
      good &= scaled_integer_by_multiplication<std::int32_t>(x, short_first, short_second) == expected;
    }
  }
  report(name, good);
}

// v mod m. Precondition: m < 2^31.
template <int Words>
std::uint32_t modulo(const WideInt<Words>& v, std::uint32_t m) {
  const std::uint32_t sign = wide_sign_mask(v);
  std::uint32_t remainder = 0;
  wide_divide_small(wide_magnitude(v, sign), m, remainder);
  return sign != 0 && remainder != 0 ? m - remainder : remainder;
}

// Integers up to 2^byte_bits(Words), many of them at the ends and around powers of two.
template <int Words>
WideInt<Words> random_wide(int i) {
  WideInt<Words> v;
  for (std::uint32_t& word : v.word) word = static_cast<std::uint32_t>(random_int(std::int64_t(0), std::int64_t(0xffffffff)));
  v.word[Words - 1] &= 0x3fffffffu;
  if (i % 3 != 0) {
    const int place = i < 600 ? byte_bits(Words) : static_cast<int>(random_int(0, byte_bits(Words)));
    v = wide_zero<Words>();
    v.word[place / 32] = std::uint32_t(1) << (place % 32);
    v = wide_sub(v, wide_from<Words>(i % 100));
  }
  return i % 2 == 0 ? v : wide_negate(v);
}

template <int Words>
bool is_byte_modulus(int m) {
  const ByteModulus<Words> constants = make_byte_modulus<Words>(m);
  // Every x that bytes can give, by way of the preset.
  WideInt<Words> offset = wide_zero<Words>();
  offset.word[Words - 1] = std::uint32_t(1) << 30;
  const std::uint32_t start = modulo(wide_negate(offset), static_cast<std::uint32_t>(m));
  ByteModulus<Words> direct = constants;
  std::fill(std::begin(direct.weight), std::end(direct.weight), 0u);
  bool good = true;
  for (std::uint32_t x = 0; x <= (4u * Words * 255 + 1) * (m - 1) && m < 256; ++x) {
    direct.preset = constants.preset - start + x;
    good &= (residue_byte(IntegerBytes<Words>{}, direct) & 255u) == x % m;
  }
  for (int i = 0; i < 3000; ++i) {
    const WideInt<Words> v = random_wide<Words>(i);
    good &= (residue_byte(bytes_of(v), constants) & 255u) == modulo(v, static_cast<std::uint32_t>(m));
  }
  return good;
}

template <int Words>
void check_byte_modulus(int m) {
  const std::string name = "residue bytes of " + std::to_string(Words) + " words modulo " + std::to_string(m);
  const bool has_none = (m >= 8 && m < 256 && (m & (m - 1)) == 0) || (m == 232 && Words > 5);
  try {
    report(name, is_byte_modulus<Words>(m) && !has_none);
  } catch (const std::invalid_argument&) {
    report(name, has_none, "has no constants");
  }
}

template <int... Words>
void check_byte_moduli(int m, std::integer_sequence<int, Words...>) {
  (check_byte_modulus<Words + 1>(m), ...);
}

void check_byte_moduli() {
  for (int m = 3; m <= 256; ++m) {
    check_byte_moduli(m, std::make_integer_sequence<int, kMaxByteWords>());
  }
}

void check_limb_words() {
  bool good13 = true, good256 = true;
  const std::int64_t limit = std::int64_t(1) << 53;
  for (int i = 0; i < 300000; ++i) {
    std::int64_t v = i < 20000   ? i - 10000
                     : i < 21000 ? limit - (i - 20000)
                     : i < 22000 ? (i - 21000) - limit
                                 : random_int(-limit, limit) >> (i % 53);
    if (i >= 22000 && i < 40000) v = random_int(std::int64_t(-1100), 1100) * kPart13 * (i % 2 ? kPart13 : 1) + random_int(-2, 2);
    if (std::abs(v) > limit) continue;
    const std::uint64_t digits = balanced_bytes(v);
    const Parts13 parts = split_parts13(v);
    std::int64_t rest = v, rest256 = v;
    std::int32_t x = 0;
    for (int triple = 0; triple < 5; ++triple) {
      if (triple % kTriplesPerPart == 0) x += parts.part[triple / kTriplesPerPart];
      const std::uint32_t word = triple_word(take_triple_index(x));
      x += triple_carry(word);
      for (int j = 0; j < 3; ++j) good13 &= static_cast<std::int8_t>(word >> (8 * j)) == take_limb13(rest);
    }
    good13 &= x == 0 && rest == 0;
    for (int p = 0; p < 8; ++p) good256 &= static_cast<std::int8_t>(digits >> (8 * p)) == take_balanced_digit(rest256, 8);
  }
  report("limb words, base 13", good13);
  report("limb words, base 256", good256);
}

// The value of digits, lowest first.
template <int Words, class Digit>
WideInt<Words> value_of_digits(int count, std::uint32_t base, const Digit& digit) {
  WideInt<Words> x = wide_zero<Words>();
  for (int i = count - 1; i >= 0; --i) x = wide_add(wide_mul_small(x, base), wide_from<Words>(digit(i)));
  return x;
}

template <int Words>
bool has_balanced_bytes(const WideInt<Words>& v) {
  const WideInt<Words> digits = balanced_bytes(v);
  const auto digit = [&](int i) { return static_cast<std::int8_t>(digits.word[i / 4] >> (8 * (i % 4))); };
  return equal(value_of_digits<Words + 1>(4 * Words, 256, digit), wide_resize<Words + 1>(v));
}

// Greedy limbs are those that are left when every one of them is what take_limb13 takes of a number congruent to the rest.
bool has_limbs13(const WideInt<3>& v) {
  const WideParts13 parts = split_parts13(v);
  std::int8_t limb[30];
  std::int32_t x = 0;
  bool good = equal(value_of_digits<4>(5, kPart13, [&](int i) { return parts.part[i]; }), wide_resize<4>(v));
  for (int triple = 0; triple < 10; ++triple) {
    if (triple % kTriplesPerPart == 0) x += parts.part[triple / kTriplesPerPart];
    const std::uint32_t word = triple_word(take_triple_index(x));
    x += triple_carry(word);
    for (int j = 0; j < 3; ++j) limb[3 * triple + j] = static_cast<std::int8_t>(word >> (8 * j));
  }
  for (const std::int8_t l : limb) {
    std::int64_t itself = l;
    good &= take_limb13(itself) == l;
  }
  return good && x == 0 && equal(value_of_digits<4>(30, 13, [&](int i) { return limb[i]; }), wide_resize<4>(v));
}

void check_wide_limb_words() {
  bool good13 = true, good256 = true;
  for (int i = 0; i < 300000; ++i) {
    const WideInt<3> v = random_wide<3>(i);
    good13 &= has_limbs13(v);
    good256 &= has_balanced_bytes(v) && has_balanced_bytes(random_wide<7>(i));
  }
  report("wide limb words, base 13", good13);
  report("wide limb words, base 256", good256);
}

template <class T>
void check_line_sums(const std::string& name) {
  bool good = true;
  double worst = 1;
  for (int i = 0; i < 3000; ++i) {
    const auto data = static_cast<Data>(i % 6);
    const int n = static_cast<int>(random_int(1, 40)) * 8;
    std::vector<T> x(n);
    for (T& entry : x) entry = random_entry<T>(data);
    LineSum sum, one_by_one;
    int largest = kNoExponent;
    for (int at = 0; at < n; at += 8) {
      std::uint32_t word[8], top = 0;
      for (int j = 0; j < 8; ++j) top = std::max(top, word[j] = upper_word(x[at + j]));
      if (is_plain<T>(top)) add_words<T>(sum, word, top);
      for (int j = 0; j < 8; ++j) {
        if (x[at + j] == 0) continue;
        if (!is_plain<T>(top)) add_entry(sum, x[at + j]);
        add_entry(one_by_one, x[at + j]);
        largest = std::max(largest, exponent_of_magnitude<T>(magnitude_bits(x[at + j])));
      }
    }
    LineSum half[2];
    for (int j = 0; j < n; ++j) {
      if (x[j] != 0) add_entry(half[j % 2], x[j]);
    }
    const LineSum both = combine(half[0], half[1]);
    long double exact = 0;
    for (const T entry : x)
      exact += largest == kNoExponent ? 0 : std::pow(std::ldexp(static_cast<long double>(entry), -largest), 2);
    for (const LineSum& result : {sum, one_by_one, both}) {
      good &= result.exponent == largest && result.sum >= exact * (1 - 1e-15L);
      if (exact > 0) worst = std::max(worst, static_cast<double>(result.sum / exact));
    }
  }
  report(name, good && worst < 1 + 1e-4, "largest excess " + std::to_string(worst - 1));
}

bool equal(const LineFacts& x, const LineFacts& y) {
  return x.exponent == y.exponent && x.lowest == y.lowest && x.nonzeros == y.nonzeros && x.exponent_sum == y.exponent_sum;
}

// Batches of entries of one kind, in two parts that are packed, unpacked and combined.
template <class T>
void check_facts(const std::string& name) {
  constexpr int batch = 64 / static_cast<int>(sizeof(T));
  bool good = true;
  for (int i = 0; i < 20000; ++i) {
    const auto data = static_cast<Data>(i % kDataKinds);
    BatchFacts part[2];
    LineFacts expected;
    for (int round = 0; round < i % 5; ++round) {
      T x[batch];
      std::uint32_t largest = 0;
      for (T& entry : x) {
        entry = random_int(0, 9) == 0 ? T(0) : random_entry<T>(i % 7 == 0 && random_int(0, 1) != 0 ? Data::subnormal : data);
        largest = std::max(largest, upper_word(entry));
        add_entry(expected, entry);
      }
      add_batch(part[round % 2], x, largest);
    }
    const LineFacts found = line_facts(combine(unpack(pack(part[0])), part[1]), expected.exponent);
    good &= equal(found, expected);
  }
  report(name, good);
}

template <class T>
void check_rounded(const std::string& name) {
  bool good = true;
  for (int i = 0; i < 200000; ++i) {
    const T x = random_entry<T>(static_cast<Data>(i % kDataKinds));
    if (!std::isfinite(x)) {
      good &= !is_rounded(x, static_cast<int>(random_int(-100, 100)));
      continue;
    }
    int exponent = 0;
    std::frexp(x, &exponent);
    const int shift = static_cast<int>(random_int(-10, 60)) - exponent;
    // Without bits below the point, or with some.
    const long double y = std::ldexp(static_cast<long double>(x), shift);
    good &= is_rounded(x, shift) == (y != std::nearbyint(y));
  }
  report(name, good);
}

// A sum brought to another capacity bounds what it did.
void check_sums() {
  bool good = true;
  for (int i = 0; i < 100000; ++i) {
    const float sum = std::ldexp(1 + static_cast<float>(random_int(0, 1000000)) * 1e-6f, static_cast<int>(random_int(0, 32)));
    const int reference = static_cast<int>(random_int(-14, 31)), capacity = reference + static_cast<int>(random_int(-29, 45));
    const double moved = sum_at_capacity(sum, capacity, reference), exact = std::ldexp(double(sum), 2 * (capacity - reference));
    good &= moved >= exact && moved <= exact * (1 + 1e-6);
    const double bound = norm_squared_bound(static_cast<float>(moved), 1000, reference);
    const double direct = norm_squared_bound(sum, 1000, capacity);
    good &= bound >= direct * (1 - 1e-9) && bound <= direct * (1 + 1e-6);
  }
  report("sums of other capacities", good);
}

struct Kind {
  const char* name;
  Scheme scheme;
  Alphabet alphabet;
  bool as_codes = false;
  const char* family = "least";
};

const Kind kinds[] = {{"int8", Scheme::two, Alphabet::int8},
                      {"fp4", Scheme::two, Alphabet::fp4},
                      {"fp4 codes", Scheme::two, Alphabet::fp4, true},
                      {"fp4 I", Scheme::one, Alphabet::fp4},
                      {"fp4 I codes", Scheme::one, Alphabet::fp4, true},
                      {"int8 I", Scheme::one, Alphabet::int8},
                      {"fp4 paper", Scheme::two, Alphabet::fp4, false, "paper"},
                      {"fp4 karatsuba", Scheme::two, Alphabet::fp4, false, "paper-karatsuba"}};

// The moduli of scheme II are for integers of up to about 110 bits over the fp4 alphabet, 160 over int8. The paper's are for 53
// and for K up to 76,549.
bool has_plan(int bits, const Kind& kind, int k) {
  if (kind.family[0] == 'p') return bits <= 53 && k < 70000;
  return kind.scheme == Scheme::one || bits <= (kind.alphabet.residue_is_limb() ? 150 : 100);
}

// Whether encode takes integers of so many bits; those of "correct" are counted where they are rounded, which one word does not.
void check_plans(int bits, bool is_counted) {
  for (const Kind& kind : kinds) {
    for (const int k : {1, 77, 70001, 1 << 24}) {
      if (!has_plan(bits, kind, k)) continue;
      const Plan plan = make_plan({kind.scheme, kind.alphabet, kind.family, bits, k});
      const auto encode = std::make_unique<cuda::EncodePlan>(cuda::make_encode_plan(plan, kind.as_codes));
      report("plan of " + std::to_string(bits) + " bits, " + kind.name,
             byte_bits(encode->words) >= bits && (!is_counted || encode->words > 1));
    }
  }
}

}  // namespace

int main() {
  check_scaled_integers<double>("scaled integers, FP64");
  check_scaled_integers<float>("scaled integers, FP32");
  check_byte_moduli();
  check_limb_words();
  check_wide_limb_words();
  check_line_sums<double>("line sums, FP64");
  check_line_sums<float>("line sums, FP32");
  check_facts<double>("facts, FP64");
  check_facts<float>("facts, FP32");
  check_rounded<double>("rounded, FP64");
  check_rounded<float>("rounded, FP32");
  check_sums();
  for (const int precision : {24, 53}) {
    check_plans(accuracy_bits(Accuracy::standard, precision), false);
    check_plans(accuracy_bits(Accuracy::correct, precision), true);
  }
  check_plans(100, true);
  for (const int bits : {24, 53, 61, 82, 83, 90, 150, 200}) check_plans(bits, false);
  return finish();
}
