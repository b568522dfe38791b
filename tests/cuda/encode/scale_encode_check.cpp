// Stages 1 and 2 on the GPU: equality with the CPU's stages and with the plan's limbs.
//
//   scale_encode_check host                         the shared arithmetic
//   scale_encode_check gpu [part of a case's name]  the kernels
//
// Outputs are poisoned: what the kernels have no business writing must still be poison afterwards.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "arith/limbs/limbs.hpp"
#include "arith/scale_entry.hpp"
#include "check.hpp"
#include "cpu/stages/scale.hpp"
#include "cuda/encode/encode.hpp"
#include "cuda/encode/operands.hpp"
#include "cuda/encode/residue_bytes.hpp"
#include "cuda/encode/scale_encode.hpp"
#include "cuda/scale/line_sum.hpp"
#include "cuda/scale/scale.hpp"

namespace {

const char* filter = "";

bool selected(const std::string& name) { return name.find(filter) != std::string::npos; }

// ---- The shared arithmetic, on the host -----------------------------------------------------------------------------------

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
  if (!selected(name)) return;
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
  if (!selected("residue bytes")) return;
  for (int m = 3; m <= 256; ++m) {
    check_byte_moduli(m, std::make_integer_sequence<int, kMaxByteWords>());
  }
}

void check_limb_words() {
  if (!selected("limb words")) return;
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

// The value that digits stand for, lowest first.
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
  if (!selected("wide limb words")) return;
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
  if (!selected(name)) return;
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

// ---- Scale --------------------------------------------------------------------------------------------------------------

struct HostScales {
  std::vector<std::int32_t> shift;
  std::vector<std::uint8_t> special;
  double norm_squared = 0;
};

HostScales host_scales(const TestOperand& operand, int capacity) {
  HostScales out;
  for (int m = 0; m < operand.view.stack.count(); ++m) {
    const Scales scales = cpu_scale(operand.matrix(m), capacity);
    out.shift.insert(out.shift.end(), scales.shift.begin(), scales.shift.end());
    out.special.insert(out.special.end(), scales.special.begin(), scales.special.end());
    out.norm_squared = std::max(out.norm_squared, scales.norm_squared);
  }
  return out;
}

struct Scratch {
  DeviceArray<std::int32_t> shift_a, shift_b;
  DeviceArray<std::uint8_t> special_a, special_b;
  DeviceArray<cuda::Verdict> verdict;
  DeviceArray<double> norms;
  Scratch(const DeviceOperand& a, const DeviceOperand& b)
      : shift_a(line_count(a)),
        shift_b(line_count(b)),
        special_a(line_count(a)),
        special_b(line_count(b)),
        verdict(1),
        norms(2) {}
  const int* units() const { return &verdict.data->units_used; }
  cuda::ScaledOperand a(const DeviceOperand& view) const { return {view, shift_a.data, special_a.data, norms.data}; }
  cuda::ScaledOperand b(const DeviceOperand& view) const { return {view, shift_b.data, special_b.data, norms.data + 1}; }
};

// Runs scale with this rule; returns the count that it chose.
int run_scale(const TestOperand& a, const TestOperand& b, int capacity, const PrefixRule& rule, Scratch& out) {
  DeviceArray<char> scratch(static_cast<std::size_t>(cuda::scale_scratch_bytes(a.view, b.view)));
  cuda::launch_scale({out.a(a.view), out.b(b.view)}, {capacity}, {rule, out.verdict.data, nullptr}, scratch.data, nullptr);
  REQUIRE(cudaDeviceSynchronize());
  return out.verdict.host()[0].units_used;
}

bool check_scale(const Case& c, const TestOperand& a, const TestOperand& b, Scratch& out) {
  const HostScales expected_a = host_scales(a, c.plan.bits), expected_b = host_scales(b, c.plan.bits);
  bool good = true;
  if (c.plan.has_moduli()) {
    // The count is the plan's for bounds at most 0.1 % apart.
    const PrefixRule rule = make_prefix_rule(c.plan, kMaxModuli);
    const double bound = expected_a.norm_squared * expected_b.norm_squared;
    const int count = run_scale(a, b, c.plan.bits, rule, out);
    good &= count >= moduli_needed(rule, bound * (1 - 1e-6)) && count <= moduli_needed(rule, bound * 1.001);
  } else {
    // A rule whose limits lie closely around the product of the norms.
    PrefixRule rule;
    rule.least = 2, rule.all = 6;
    const double product = expected_a.norm_squared * expected_b.norm_squared;
    for (int i = 0; i < 6; ++i) rule.limit[i] = product * (0.9 + 0.0333 * i);  // limit[3] = 0.9999, limit[4] = 1.033 times it
    const int count = run_scale(a, b, c.plan.bits, rule, out);
    good &= count == (product == 0 ? 6 : 5);
  }
  const bool shifts = out.shift_a.host() == expected_a.shift && out.shift_b.host() == expected_b.shift;
  const bool flags = out.special_a.host() == expected_a.special && out.special_b.host() == expected_b.special;
  report("scale " + c.name, good && shifts && flags,
         std::string(good ? "" : "count ") + (shifts ? "" : "shifts ") + (flags ? "" : "flags"));
  return good && shifts && flags;
}

// ---- Encode -------------------------------------------------------------------------------------------------------------

// One launch for both stages: the shifts, flags and count that scale leaves, and all planes.
void check_both(const Case& c, const cuda::EncodePlan& plan, const TestOperand& a, const TestOperand& b, const Scratch& expected,
                const std::vector<std::int32_t>& shift_a, const std::vector<std::int32_t>& shift_b,
                const std::vector<std::uint8_t>& special_a, const std::vector<std::uint8_t>& special_b) {
  const int groups = c.plan.count(), count = c.plan.has_moduli() ? groups : 0;
  PrefixRule rule = make_prefix_rule(c.plan, kMaxModuli);
  rule.least = std::min(rule.all, 1);
  Scratch two(a.view, b.view);
  run_scale(a, b, c.plan.bits, rule, two);  // for the count under this rule
  DeviceArray<char> scratch(256), counters(cuda::kScaleCounterBytes);
  REQUIRE(cudaMemset(counters.data, 0, counters.size));
  for (void* clear : {static_cast<char*>(nullptr), counters.data}) {
    Scratch one(a.view, b.view);
    cuda::Planes layout_a = plane_layout(a.view, c.rows), layout_b = plane_layout(b.view, c.columns);
    DeviceArray<std::uint8_t> planes_a(static_cast<std::size_t>(layout_a.plane_stride * c.plan.planes_a));
    DeviceArray<std::uint8_t> planes_b(static_cast<std::size_t>(layout_b.plane_stride * c.plan.planes_b));
    layout_a.data = planes_a.data, layout_b.data = planes_b.data;
    cuda::launch_scale_encode(plan, {{one.a(a.view), 0, c.rows, layout_a}, {one.b(b.view), 0, c.columns, layout_b}},
                              {c.plan.bits}, {rule, one.verdict.data, nullptr}, scratch.data, nullptr, clear);
    REQUIRE(cudaDeviceSynchronize());
    const bool scales = one.shift_a.host() == expected.shift_a.host() && one.shift_b.host() == expected.shift_b.host() &&
                        one.special_a.host() == expected.special_a.host() && one.special_b.host() == expected.special_b.host() &&
                        (count == 0 || one.verdict.host()[0].units_used == two.verdict.host()[0].units_used);
    report("both, scales " + c.name, scales && is_zero(counters));
    const std::string wrong_a = compare_planes(c, a, 0, c.rows, groups, shift_a, special_a, layout_a, planes_a.host());
    report("both, A " + c.name, wrong_a.empty(), wrong_a);
    const std::string wrong_b = compare_planes(c, b, 0, c.columns, groups, shift_b, special_b, layout_b, planes_b.host());
    report("both, B " + c.name, wrong_b.empty(), wrong_b);
  }
}

// Each operand scaled and encoded by itself, the number of moduli chosen with the second from what the first has left: what is
// multiplied is the same. Sums may be rounded otherwise than in one launch, so the count is compared with the norms.
void check_apart(const Case& c, const cuda::EncodePlan& plan, const TestOperand& a, const TestOperand& b, const Scratch& expected,
                 bool is_b_first, bool in_one_launch) {
  const Scratch own(a.view, b.view);
  const TestOperand* operand[2] = {&a, &b};
  cuda::EncodeJob job[2] = {{own.a(a.view), 0, c.rows, plane_layout(a.view, c.rows)},
                            {own.b(b.view), 0, c.columns, plane_layout(b.view, c.columns)}};
  DeviceArray<std::uint8_t> planes_a(static_cast<std::size_t>(job[0].planes.plane_stride * c.plan.planes_a));
  DeviceArray<std::uint8_t> planes_b(static_cast<std::size_t>(job[1].planes.plane_stride * c.plan.planes_b));
  job[0].planes.data = planes_a.data, job[1].planes.data = planes_b.data;
  DeviceArray<char> counters(cuda::kScaleCounterBytes);
  REQUIRE(cudaMemset(counters.data, 0, counters.size));
  const PrefixRule rule = make_prefix_rule(c.plan, kMaxModuli);
  const int first = is_b_first ? 1 : 0;
  for (const int i : {first, 1 - first}) {
    cuda::PrefixChoice choice{rule, nullptr, nullptr};
    if (i != first) choice = {rule, own.verdict.data, job[first].operand.norm};
    DeviceArray<char> scratch(static_cast<std::size_t>(cuda::scale_scratch_bytes(operand[i]->view)));
    if (in_one_launch) {
      cuda::launch_scale_encode(plan, cuda::Operands<cuda::EncodeJob>(job[i]), {c.plan.bits}, choice, scratch.data, nullptr,
                                counters.data);
    } else {
      cuda::launch_scale(cuda::Operands<cuda::ScaledOperand>(job[i].operand), {c.plan.bits}, choice, scratch.data, nullptr,
                         counters.data);
    }
    REQUIRE(cudaDeviceSynchronize());
  }
  int count = c.plan.count();
  bool is_right_count = true;
  if (c.plan.has_moduli()) {
    const double bound = host_scales(a, c.plan.bits).norm_squared * host_scales(b, c.plan.bits).norm_squared;
    const int chosen = own.verdict.host()[0].units_used;
    is_right_count = chosen >= moduli_needed(rule, bound * (1 - 1e-6)) && chosen <= moduli_needed(rule, bound * 1.001);
    if (!in_one_launch) count = chosen;  // which encodes what lies beyond, too
  }
  for (int i = 0; i < 2 && !in_one_launch; ++i) {
    cuda::launch_encode(plan, job[i], cuda::EncodeJob(), c.plan.has_moduli() ? own.units() : nullptr, nullptr);
  }
  REQUIRE(cudaDeviceSynchronize());
  const std::string name =
      std::string(in_one_launch ? "apart, in one launch, " : "apart, ") + (is_b_first ? "B first " : "A first ") + c.name;
  report(name + ": scales", is_right_count && is_zero(counters) && own.shift_a.host() == expected.shift_a.host() &&
                                own.shift_b.host() == expected.shift_b.host() &&
                                own.special_a.host() == expected.special_a.host() &&
                                own.special_b.host() == expected.special_b.host());
  const std::string wrong_a =
      compare_planes(c, a, 0, c.rows, count, own.shift_a.host(), own.special_a.host(), job[0].planes, planes_a.host());
  const std::string wrong_b =
      compare_planes(c, b, 0, c.columns, count, own.shift_b.host(), own.special_b.host(), job[1].planes, planes_b.host());
  report(name, wrong_a.empty() && wrong_b.empty(), wrong_a + wrong_b);
}

void check_case(const Case& c) {
  if (!selected(c.name)) return;
  TestOperand a(c.type, c.rows, c.k, c.layout_a, c.extents_a, c.data), b(c.type, c.columns, c.k, c.layout_b, c.extents_b, c.data);
  Scratch scales(a.view, b.view);
  const bool has_scale = c.type != ElementType::int8;
  if (has_scale && !check_scale(c, a, b, scales)) return;
  const std::vector<std::int32_t> shift_a = has_scale ? scales.shift_a.host() : std::vector<std::int32_t>();
  const std::vector<std::int32_t> shift_b = has_scale ? scales.shift_b.host() : std::vector<std::int32_t>();
  const std::vector<std::uint8_t> special_a = has_scale ? scales.special_a.host() : std::vector<std::uint8_t>();
  const std::vector<std::uint8_t> special_b = has_scale ? scales.special_b.host() : std::vector<std::uint8_t>();

  const int lines = c.lines == 0 ? c.columns : c.lines;
  const auto plan = std::make_unique<cuda::EncodePlan>(cuda::make_encode_plan(c.plan));
  const cuda::ScaledOperand scaled_a = scales.a(a.view), scaled_b = scales.b(b.view);
  cuda::EncodeJob job_a{scaled_a, 0, c.rows, plane_layout(a.view, c.rows)};
  cuda::EncodeJob job_b{scaled_b, c.first_line, lines, plane_layout(b.view, lines)};
  DeviceArray<std::uint8_t> planes_a(static_cast<std::size_t>(job_a.planes.plane_stride * c.plan.planes_a));
  DeviceArray<std::uint8_t> planes_b(static_cast<std::size_t>(job_b.planes.plane_stride * c.plan.planes_b));
  job_a.planes.data = planes_a.data;
  job_b.planes.data = planes_b.data;
  const bool prefix = has_scale && c.plan.has_moduli();
  const int count = prefix ? scales.verdict.host()[0].units_used : c.plan.count();
  cuda::launch_encode(*plan, job_a, job_b, prefix ? scales.units() : nullptr, nullptr);
  REQUIRE(cudaDeviceSynchronize());
  const std::string wrong_a = compare_planes(c, a, 0, c.rows, count, shift_a, special_a, job_a.planes, planes_a.host());
  report("encode A " + c.name, wrong_a.empty(), wrong_a);
  if (has_scale && wrong_a.empty()) {  // once more right behind scale, while that may still run: the same bytes
    const std::vector<std::uint8_t> before_a = planes_a.host(), before_b = planes_b.host();
    for (DeviceArray<std::uint8_t>* planes : {&planes_a, &planes_b}) REQUIRE(cudaMemset(planes->data, kPoison, planes->size));
    for (DeviceArray<std::int32_t>* shifts : {&scales.shift_a, &scales.shift_b})
      REQUIRE(cudaMemset(shifts->data, kPoison, 4 * shifts->size));
    DeviceArray<char> scratch(static_cast<std::size_t>(cuda::scale_scratch_bytes(a.view, b.view)));
    PrefixRule rule;
    rule.least = rule.all = count;
    DeviceArray<char> counters(cuda::kScaleCounterBytes);
    REQUIRE(cudaMemset(counters.data, 0, counters.size));
    for (void* clear : {static_cast<char*>(nullptr), counters.data, counters.data}) {
      cuda::launch_scale({scaled_a, scaled_b}, {c.plan.bits}, {rule, scales.verdict.data, nullptr}, scratch.data, nullptr, clear);
    }
    cuda::launch_encode(*plan, job_a, job_b, prefix ? scales.units() : nullptr, nullptr, true);
    REQUIRE(cudaDeviceSynchronize());
    report("encode behind scale " + c.name, planes_a.host() == before_a && planes_b.host() == before_b);
    report("counters " + c.name, is_zero(counters));
  }
  const std::string wrong_b = compare_planes(c, b, c.first_line, lines, count, shift_b, special_b, job_b.planes, planes_b.host());
  report("encode B " + c.name, wrong_b.empty(), wrong_b);
  if (has_scale && wrong_a.empty() && cuda::can_scale_and_encode(*plan, a.view, b.view)) {
    check_both(c, *plan, a, b, scales, shift_a, shift_b, special_a, special_b);
  }
  if (has_scale && wrong_a.empty()) {
    for (const bool is_b_first : {false, true}) {
      check_apart(c, *plan, a, b, scales, is_b_first, false);
      if (cuda::can_scale_and_encode(*plan, a.view) && cuda::can_scale_and_encode(*plan, b.view)) {
        check_apart(c, *plan, a, b, scales, is_b_first, true);
      }
    }
  }
}

// ---- Cases --------------------------------------------------------------------------------------------------------------

Plan plan_of(Scheme scheme, Alphabet alphabet, const char* family, int bits, int k) {
  return make_plan({scheme, alphabet, family, bits, k});
}

struct NamedPlan {
  const char* name;
  Plan plan;
};

std::vector<NamedPlan> float_plans(int k) {
  return {{"int8", plan_of(Scheme::two, Alphabet::int8, "least", 53, k)},
          {"int8 c=24", plan_of(Scheme::two, Alphabet::int8, "least", 24, k)},
          {"fp4", plan_of(Scheme::two, Alphabet::fp4, "least", 53, k)},
          {"fp4 c=24", plan_of(Scheme::two, Alphabet::fp4, "least", 24, k)},
          {"fp4 paper", plan_of(Scheme::two, Alphabet::fp4, "paper", 53, k)},
          {"fp4 karatsuba", plan_of(Scheme::two, Alphabet::fp4, "paper-karatsuba", 40, k)},
          {"fp4 I", plan_of(Scheme::one, Alphabet::fp4, "least", 53, k)},
          {"fp4 I c=24", plan_of(Scheme::one, Alphabet::fp4, "least", 24, k)},
          {"int8 I", plan_of(Scheme::one, Alphabet::int8, "least", 53, k)},
          {"int8 I c=2", plan_of(Scheme::one, Alphabet::int8, "least", 2, k)},
          {"int8 c=160", plan_of(Scheme::two, Alphabet::int8, "least", 160, k)},
          {"fp4 c=104", plan_of(Scheme::two, Alphabet::fp4, "least", 104, k)}};
}

void check_all() {
  const ElementType types[] = {ElementType::float64, ElementType::float32};
  int number = 0;
  const auto add = [&](Case c) {
    c.name = "#" + std::to_string(++number) + " " + c.name +
             (c.type == ElementType::float32 ? " f32 "
              : c.type == ElementType::int8  ? " i8 "
                                             : " f64 ") +
             std::to_string(c.rows) + "x" + std::to_string(c.columns) + "x" + std::to_string(c.k) + " " +
             layout_names[static_cast<int>(c.layout_a)] + "/" + layout_names[static_cast<int>(c.layout_b)] + " " +
             data_names[static_cast<int>(c.data)];
    check_case(c);
  };
  // Every plan with every kind of data.
  for (const ElementType type : types) {
    for (const NamedPlan& plan : float_plans(300)) {
      for (int data = 0; data < 7; ++data) {
        Case c{plan.name, plan.plan, type, 37, 45, 300};
        c.data = static_cast<Data>(data);
        add(c);
      }
    }
  }
  // Every shape with every layout.
  const int sizes[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 64, 127, 128, 129, 257, 1000, 1800, 2048, 4100};
  const Plan int8 = plan_of(Scheme::two, Alphabet::int8, "least", 53, 70000);
  for (const ElementType type : types) {
    for (const int k : sizes) {
      for (int layout = 0; layout < kLayouts; ++layout) {
        Case c{"shapes", int8, type, sizes[random_int(0, 13)], sizes[random_int(0, 13)], k};
        c.layout_a = static_cast<Layout>(layout);
        c.layout_b = static_cast<Layout>((layout + 1 + random_int(0, 5)) % kLayouts);
        c.data = static_cast<Data>(random_int(0, 6));
        add(c);
      }
    }
  }
  // Few long lines, many short ones.
  for (int layout = 0; layout < kLayouts; ++layout) {
    Case c{"long", int8, ElementType::float64, 2, 1, 70001};
    c.layout_a = c.layout_b = static_cast<Layout>(layout);
    add(c);
    c.name = "tall";
    c.rows = 5000, c.k = 3;
    add(c);
    c.rows = 30000, c.k = 40;
    add(c);
  }
  // Stacks; a part of B's columns.
  for (int layout = 0; layout < kLayouts; ++layout) {
    Case c{"small stack", int8, ElementType::float64, 8, 8, 8};
    c.layout_a = static_cast<Layout>(layout), c.layout_b = static_cast<Layout>(kLayouts - 1 - layout);
    c.extents_a = std::vector<int>{64, 3, 2}, c.extents_b = std::vector<int>{7};
    add(c);
    c.name = "stack";
    c.plan = plan_of(Scheme::two, Alphabet::fp4, "least", 53, 130);
    c.type = ElementType::float32;
    c.rows = 33, c.columns = 50, c.k = 130;
    c.extents_a = std::vector<int>{2, 1, 3}, c.extents_b = std::vector<int>{2, 2, 1, 2};
    c.first_line = 11, c.lines = 30;
    add(c);
    c.type = ElementType::float64;
    c.first_line = 8, c.lines = 32;
    add(c);
  }
  // int8 operands.
  for (const int products : {6, 9}) {
    for (int layout = 0; layout < kLayouts; ++layout) {
      Case c{"int8 products", make_int8_matmul_plan(products), ElementType::int8, 70, 90, 16 * layout + 259};
      c.layout_a = static_cast<Layout>(layout), c.layout_b = static_cast<Layout>((layout + 1) % kLayouts);
      c.extents_a = std::vector<int>{2, 2};
      add(c);
    }
  }
  // Large enough that every block has several tiles.
  Case c{"large", int8, ElementType::float64, 1030, 2050, 1500};
  add(c);
  c.layout_a = Layout::line_contiguous, c.layout_b = Layout::k_contiguous;
  add(c);
  // Tiles of two steps.
  for (int layout = 0; layout < kLayouts; ++layout) {
    c.name = "huge";
    c.plan = plan_of(Scheme::one, Alphabet::int8, "least", 9, 4000);
    c.type = types[layout % 2];
    c.rows = 2050, c.columns = 2175, c.k = 4000;
    c.layout_a = static_cast<Layout>(layout), c.layout_b = static_cast<Layout>((layout + 4) % kLayouts);
    add(c);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (is_for_gpu(argc, argv)) {
    if (argc > 2) filter = argv[2];
    check_all();
  } else {
    check_scaled_integers<double>("scaled integers, FP64");
    check_scaled_integers<float>("scaled integers, FP32");
    check_byte_moduli();
    check_limb_words();
    check_wide_limb_words();
    check_line_sums<double>("line sums, FP64");
    check_line_sums<float>("line sums, FP32");
  }
  return finish();
}
