// Stage 4 on the GPU against cpu_reconstruct and cpu_patch_specials: equality, bit for bit.
//
//   reconstruct_check host                         the arithmetic
//   reconstruct_check gpu [part of a case's name]  whole results
//
// The arithmetic of arith/wide/column_crt.hpp and cuda/reconstruct/round_fast.hpp, with the constants and fragments of
// make_reconstruct_plan, against crt_from_columns() and round_scaled(), and the sums of the long form against the residues that
// they must have, for every plan and every prefix. Whole results are compared poison between the entries included.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "arith/multiples.hpp"
#include "arith/wide/column_crt.hpp"
#include "arith/wide/crt.hpp"
#include "arith/wide/round_wide.hpp"
#include "check.hpp"
#include "cpu/stages/reconstruct.hpp"
#include "cuda/elementwise/planes.hpp"
#include "cuda/gpu.hpp"
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

// ---- Part 1: arithmetic -------------------------------------------------------------------------------------------------

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

// What the proof of arith/wide/column_crt.hpp takes for granted: offset f in [2^15 + 3, 2^15 + 3.51), f = inverse / 2^32.
bool has_right_offset(std::uint32_t inverse, std::uint32_t offset) {
  const std::uint64_t product = std::uint64_t(offset) * inverse, least = ((std::uint64_t(1) << 15) + 3) << 32;
  return product >= least && product - least < (std::uint64_t(51) << 32) / 100;
}

struct Tally {
  long entries = 0, uncertain = 0, rare = 0;
};

template <int Words>
bool check_arithmetic(const NamedPlan& named, const ReconstructPlan& plan, Tally& tally) {
  for (int count = plan.least; count <= plan.all; ++count) {
    const int prefix = count - plan.least;
    const auto constants = column_constants<Words>(plan, prefix);
    if (!has_right_offset(constants.inverse, constants.offset)) return false;
    const Wide product = moduli_product(named.plan, count);
    const auto crt_constants = make_crt_constants<kMaxWords>(first_moduli(named.plan, count));
    for (int entry = 0; entry < 400; ++entry) {
      std::vector<int> value(static_cast<std::size_t>(count));
      std::uint32_t column[2 * Words];
      const bool is_random = one_in(4);
      const Wide x = random_integer(product);
      for (int i = 0; i < count; ++i) {
        const auto m = static_cast<int>(named.plan.modulus(i));
        int& r = value[static_cast<std::size_t>(i)];
        r = is_random ? random_int(0, m - 1) : static_cast<int>(modulo(x, m));
        if (entry == 0) r = m - 1;
      }
      std::uint64_t sums[kMaxWords] = {};
      for (int i = 0; i < count; ++i) {
        const int r = value[static_cast<std::size_t>(i)];
        const Wide& weight = crt_constants.weight[static_cast<std::size_t>(i)];
        for (int k = 0; k < kMaxWords; ++k) sums[k] += static_cast<std::uint64_t>(r) * weight.word[k];
      }
      const Wide reference = crt_from_columns(sums, crt_constants.product);
      Wide expected = reference;
      if (!is_random && entry != 0 && !is_same(x, reference)) return false;
      for (int i = 0; i < constants.shift; ++i) expected = wide_add(expected, expected);
      sum_columns<Words>(plan, prefix, value, column);
      const std::uint32_t estimate = column_estimate(column, constants);
      const WideInt<Words> actual = exact_column_integer(column, constants);
      tally.uncertain += is_uncertain(estimate);
      const Wide twice = wide_add(reference, reference);  // +-P / 2 has two representatives
      const bool is_half = is_same(twice, product) || is_same(wide_negate(twice), product);
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

// The long form as its kernel uses it: any residues or digits, the largest and smallest first.
template <int Words>
bool check_long(const NamedPlan& named, const ReconstructPlan& plan, Tally& tally) {
  const LongTable& table = plan.long_table;
  for (int count = plan.least; count <= plan.all; ++count) {
    const int prefix = count - plan.least;
    const CrtProduct<Words> product{table.product[prefix].inverse, wide_resize<Words>(table.product[prefix].number),
                                    wide_resize<Words>(table.product[prefix].half)};
    for (int entry = 0; entry < 400; ++entry, ++tally.entries) {
      const bool is_exact = !plan.positional && entry >= 2 && one_in(2);
      const Wide x = is_exact ? random_integer(moduli_product(named.plan, count)) : wide_zero<kMaxWords>();
      std::uint64_t column[Words];
      for (int k = 0; k < Words; ++k) column[k] = table.start.word[k];
      std::vector<std::int64_t> value(static_cast<std::size_t>(count));
      Wide digits = wide_zero<kMaxWords>(), weight = wide_from<kMaxWords>(1);
      for (int i = 0; i < count; ++i, weight = wide_mul_small(weight, static_cast<std::uint32_t>(plan.base))) {
        const bool is_last = i + 1 == count;
        const std::int64_t m = named.plan.modulus(plan.positional ? 0 : i);
        const std::int64_t most = !plan.positional ? m - 1 : is_last ? 255 : plan.base - 1;
        std::int64_t& r = value[static_cast<std::size_t>(i)];
        r = entry == 0 ? most : entry == 1 ? 0 : random_int(std::int64_t(0), most);
        if (is_exact) r = modulo(x, m);
        for (int k = 0; k < Words; ++k) {
          column[k] +=
              static_cast<std::uint64_t>(r) * table.weight[static_cast<std::size_t>((prefix * plan.all + i) * Words + k)];
        }
        const std::int64_t digit = r - (is_last ? 128 : 0);
        const Wide part = wide_mul_small(weight, static_cast<std::uint32_t>(std::abs(digit)));
        digits = digit < 0 ? wide_sub(digits, part) : wide_add(digits, part);
      }
      const WideInt<Words> found = crt_from_columns(column, product);
      if (plan.positional) {
        if (!is_same(found, digits)) return false;
        continue;
      }
      if (is_exact && !is_same(found, x)) return false;
      const Wide y = wide_resize<kMaxWords>(found);
      const Wide twice = wide_magnitude(wide_add(y, y), wide_sign_mask(y));
      if (wide_is_negative(wide_sub(moduli_product(named.plan, count), twice))) return false;
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

// ---- Part 2: kernels ----------------------------------------------------------------------------------------------------

enum class Layout { contiguous, padded, transposed, spread, misaligned, reversed };
enum class Size { normal, subnormal, overflow };

struct Case {
  std::string name;
  const NamedPlan* plan = nullptr;
  int rows = 1, columns = 1, splits = 1;
  int count = -1;  // -1: no pointer
  ElementType type = ElementType::float64;
  Layout layout = Layout::contiguous;
  Size size = Size::normal;
  int rank = 0;
  int extent[3] = {1, 1, 1};
  bool a_broadcast[3] = {}, b_broadcast[3] = {};
  int first_column = 0, more_columns = 0;  // of the whole operand, before and behind
  int specials = 0;                        // how many entries of A and of B become non-finite
  ElementType operand_type = ElementType::float64;
  bool has_flags = true;
};

template <class T>
T* to_device(const std::vector<T>& x) {
  T* device = nullptr;
  REQUIRE(cudaMalloc(&device, std::max<std::size_t>(1, x.size()) * sizeof(T)));
  REQUIRE(cudaMemcpy(device, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

// Outputs of multiply for all entries of all matrices and what cpu_reconstruct wants in their place.
struct Outputs {
  std::int64_t pitch, matrix_stride, split_stride, plane_stride;
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> residues;  // [matrix][unit][row][column]
  std::vector<std::int64_t> sums;      // [matrix][group][row][column]
};

Outputs make_outputs(const Case& test, const ReconstructPlan& plan, int matrices) {
  const Plan& source = test.plan->plan;
  const int count = test.count >= 0 ? test.count : plan.all;
  Outputs out;
  out.pitch = round_up(test.columns, 16) + 16 * random_int(0, 2);
  out.matrix_stride = test.rows * out.pitch + 16 * random_int(0, 1);
  out.split_stride = matrices * out.matrix_stride;
  out.plane_stride = test.splits * out.split_stride;
  out.bytes.resize(static_cast<std::size_t>(plan.all * source.width() * out.plane_stride));
  for (std::uint8_t& byte : out.bytes) byte = static_cast<std::uint8_t>(generator());
  const std::int64_t entries = std::int64_t(test.rows) * test.columns;
  const int groups = static_cast<int>(source.groups.size());
  (plan.positional ? out.sums.resize(static_cast<std::size_t>(matrices * groups * entries))
                   : out.residues.resize(static_cast<std::size_t>(matrices * source.groups_of(count) * entries)));
  const Wide product = plan.positional ? wide_zero<kMaxWords>() : moduli_product(source, count);

  for (int matrix = 0; matrix < matrices; ++matrix) {
    for (std::int64_t entry = 0; entry < entries; ++entry) {
      const auto byte = [&](int plane, int split) -> std::uint8_t& {
        return out
            .bytes[static_cast<std::size_t>(plane * out.plane_stride + split * out.split_stride + matrix * out.matrix_stride +
                                            entry / test.columns * out.pitch + entry % test.columns)];
      };
      if (plan.positional) {
        for (int split = 0; split < test.splits; ++split) {
          std::vector<std::int64_t> sums(static_cast<std::size_t>(groups));
          const bool is_small = one_in(4);
          for (int g = 0; g < groups; ++g) {
            // Together below 2^(2 bits) k / splits.
            const double room = std::ldexp(static_cast<double>(test.plan->k), 2 * source.bits) / 64 / test.splits /
                                std::pow(double(plan.base), g);
            const double limit = std::min(room, is_small ? (g < 2 ? 100.0 : 0.0) : 0x1p40);
            sums[static_cast<std::size_t>(g)] =
                static_cast<std::int64_t>(std::uniform_real_distribution<double>(-limit, limit)(generator));
            out.sums[static_cast<std::size_t>((matrix * groups + g) * entries + entry)] += sums[static_cast<std::size_t>(g)];
          }
          std::int64_t acc = 0;
          for (int plane = 0; plane < plan.digits; ++plane) {
            if (plane < groups) acc += sums[static_cast<std::size_t>(plane)];
            if (plane + 1 == plan.digits) {
              if (acc < -128 || acc > 127) std::printf("%s: a carry of %lld\n", test.name.c_str(), static_cast<long long>(acc));
              byte(plane, split) = static_cast<std::uint8_t>(acc);
            } else {
              const std::int64_t digit = ((acc % plan.base) + plan.base) % plan.base;
              byte(plane, split) = static_cast<std::uint8_t>(digit);
              acc = (acc - digit) / plan.base;
            }
          }
        }
      } else {
        const bool is_random = entries > 100000 ? !one_in(8) : one_in(2);
        const Wide x = is_random ? wide_zero<kMaxWords>() : random_integer(product);
        const int units = source.groups_of(count);
        for (int unit = 0; unit < units; ++unit) {
          const Group& group = source.groups[static_cast<std::size_t>(unit)];
          const auto m = static_cast<int>(group.modulus);
          int rest = is_random ? random_int(0, m - 1) : static_cast<int>(modulo(x, m));
          out.residues[static_cast<std::size_t>((matrix * units + unit) * entries + entry)] = static_cast<std::uint8_t>(rest);
          for (int split = test.splits - 1; split >= 0; --split) {
            const int part = split == 0 ? rest : one_in(3) ? m - 1 : random_int(0, m - 1);
            byte(unit, split) = static_cast<std::uint8_t>(part);
            rest = (rest - part + m) % m;
          }
        }
      }
    }
  }
  return out;
}

// A stack of operands with their shifts and flags.
struct Operand {
  int lines = 1, inner = 1, matrices = 1;
  ElementType type = ElementType::float64;
  std::int64_t matrix_bytes = 0, outer_stride = 0, inner_stride = 0, origin = 0;
  std::vector<std::uint8_t> data;
  std::vector<std::int32_t> shift;
  std::vector<std::uint8_t> special;

  const char* matrix(int index) const { return reinterpret_cast<const char*>(data.data()) + origin + index * matrix_bytes; }
  OperandView view(int index) const { return {matrix(index), type, lines, inner, outer_stride, inner_stride}; }
};

Operand make_operand(const Case& test, int lines, int inner, int matrices, int centre) {
  Operand operand;
  operand.lines = lines;
  operand.inner = inner;
  operand.matrices = matrices;
  operand.type = test.operand_type;
  const std::int64_t entry = operand.type == ElementType::float64 ? 8 : 4;
  const bool transposed = one_in(2);
  operand.outer_stride = transposed ? entry : inner * entry;
  operand.inner_stride = transposed ? lines * entry : entry;
  operand.matrix_bytes = lines * inner * entry;
  if (one_in(3)) {  // backwards along K
    operand.origin = (inner - 1) * operand.inner_stride;
    operand.inner_stride = -operand.inner_stride;
  }
  operand.data.resize(static_cast<std::size_t>(matrices * operand.matrix_bytes));
  operand.special.assign(static_cast<std::size_t>(matrices * lines), kFinite);
  const auto put = [&](std::int64_t matrix, std::int64_t line, std::int64_t k, double value) {
    std::uint8_t* address = operand.data.data() + operand.origin + matrix * operand.matrix_bytes + line * operand.outer_stride +
                            k * operand.inner_stride;
    if (operand.type == ElementType::float64) {
      std::memcpy(address, &value, 8);
    } else {
      const auto narrow = static_cast<float>(value);
      std::memcpy(address, &narrow, 4);
    }
  };
  for (int matrix = 0; matrix < matrices; ++matrix) {
    for (int line = 0; line < lines; ++line) {
      for (int k = 0; k < inner; ++k) put(matrix, line, k, random_int(-2, 2));
    }
  }
  for (int i = 0; i < test.specials; ++i) {
    const int matrix = random_int(0, matrices - 1), line = random_int(0, lines - 1);
    const double inf = std::numeric_limits<double>::infinity();
    const double value = one_in(6) ? std::nan("") : one_in(2) ? inf : -inf;
    for (int repeat = random_int(1, 3); repeat > 0; --repeat) put(matrix, line, random_int(0, inner - 1), value);
  }
  for (int matrix = 0; matrix < matrices; ++matrix) {
    for (int line = 0; line < lines; ++line) {
      for (int k = 0; k < inner; ++k) {
        const char* address = operand.matrix(matrix) + line * operand.outer_stride + k * operand.inner_stride;
        double x;
        float narrow;
        std::memcpy(operand.type == ElementType::float64 ? static_cast<void*>(&x) : &narrow, address,
                    static_cast<std::size_t>(entry));
        if (operand.type != ElementType::float64) x = narrow;
        auto& flags = operand.special[static_cast<std::size_t>(matrix * lines + line)];
        flags = static_cast<std::uint8_t>(flags | (std::isnan(x) ? kHasNan : std::isinf(x) ? kHasInfinity : kFinite));
      }
      operand.shift.push_back(centre + random_int(-30, 30));
    }
  }
  return operand;
}

// The part of a schedule that launch_add_bytes reads.
Schedule sums_of(const ReconstructPlan& plan, const Plan& source) {
  Schedule schedule;
  schedule.out_planes = plan.all;
  for (int i = 0; i < plan.all; ++i) {
    const std::int64_t modulus = !plan.positional ? source.modulus(i) : i + 1 == plan.all ? 256 : plan.base;
    schedule.steps.push_back(make_step(0, 0, 0, 1, plan.positional ? Action::store_digit : Action::store_residue,
                                       static_cast<std::uint32_t>(modulus), 1, i));
  }
  return schedule;
}

bool run_case(const Case& test, cudaStream_t stream) {
  const ReconstructPlan plan = make_reconstruct_plan(test.plan->plan, test.plan->k);
  int matrices = 1;
  for (int d = 0; d < test.rank; ++d) matrices *= test.extent[d];
  const Outputs outputs = make_outputs(test, plan, matrices);

  // The result in its buffer.
  const std::int64_t entry = test.type == ElementType::float64 ? 8 : 4;
  ReconstructJob job;
  DeviceResult& result = job.result;
  result.type = test.type;
  result.rows = test.rows;
  result.columns = test.columns;
  std::int64_t matrix_bytes = 0, origin = 0;
  const auto set_strides = [&](std::int64_t row, std::int64_t column, std::int64_t bytes, std::int64_t first) {
    result.row_stride = row;
    result.column_stride = column;
    matrix_bytes = bytes;
    origin = first;
  };
  const std::int64_t pitch = (test.columns + random_int(1, 9)) * entry, even_pitch = round_up(test.columns, 4) * entry;
  switch (test.layout) {
    case Layout::contiguous: set_strides(test.columns * entry, entry, test.rows * test.columns * entry, 0); break;
    case Layout::padded: set_strides(even_pitch, entry, test.rows * even_pitch, 0); break;
    case Layout::transposed: set_strides(entry, test.rows * entry, test.rows * test.columns * entry, 0); break;
    case Layout::spread: set_strides(3 * pitch, 3 * entry, test.rows * 3 * pitch, 0); break;
    case Layout::misaligned: set_strides(pitch, entry, test.rows * pitch + 8 * entry, entry); break;
    case Layout::reversed: set_strides(-pitch, entry, test.rows * pitch, (test.rows - 1) * pitch); break;
  }
  result.stack.rank = test.rank;
  std::int64_t stride = matrix_bytes;
  int a_matrices = 1, b_matrices = 1;
  for (int d = test.rank - 1; d >= 0; --d) {
    result.stack.extent[d] = test.extent[d];
    result.stack.stride[d] = stride;
    stride *= test.extent[d];
    result.a_step[d] = test.a_broadcast[d] ? 0 : a_matrices;
    result.b_step[d] = test.b_broadcast[d] ? 0 : b_matrices;
    a_matrices *= test.a_broadcast[d] ? 1 : test.extent[d];
    b_matrices *= test.b_broadcast[d] ? 1 : test.extent[d];
  }
  if (test.rank > 0 && one_in(3)) {  // matrices in reversed order along the first axis
    origin += (test.extent[0] - 1) * result.stack.stride[0];
    result.stack.stride[0] = -result.stack.stride[0];
  }

  // Operands: x is around 2^bits, and x 2^-(s + t) where the case wants it.
  int length = test.plan->plan.bits * 2 + 10;
  if (!plan.positional) length = wide_bit_length(moduli_product(test.plan->plan, test.count >= 0 ? test.count : plan.all));
  const bool is_double = test.type == ElementType::float64;
  const int wanted = test.size == Size::normal      ? 0
                     : test.size == Size::subnormal ? (is_double ? -1040 : -135)
                                                    : (is_double ? 1023 : 127);
  const int inner = random_int(1, 100);
  const Operand a = make_operand(test, test.rows, inner, a_matrices, (length - wanted) / 2);
  const Operand b =
      make_operand(test, test.first_column + test.columns + test.more_columns, inner, b_matrices, (length - wanted) / 2);

  // The reference.
  std::vector<std::uint8_t> expected(static_cast<std::size_t>(matrices * matrix_bytes), kPoison);
  const std::int64_t entries = std::int64_t(test.rows) * test.columns;
  const int count = test.count >= 0 ? test.count : plan.all;
  for (int matrix = 0; matrix < matrices; ++matrix) {
    int rest = matrix, a_matrix = 0, b_matrix = 0;
    std::int64_t offset = origin;
    for (int d = test.rank - 1; d >= 0; --d) {
      a_matrix += rest % test.extent[d] * result.a_step[d];
      b_matrix += rest % test.extent[d] * result.b_step[d];
      offset += rest % test.extent[d] * result.stack.stride[d];
      rest /= test.extent[d];
    }
    const ResultView view{reinterpret_cast<char*>(expected.data()) + offset,
                          test.type,
                          test.rows,
                          test.columns,
                          result.row_stride,
                          result.column_stride};
    const std::int32_t* shift_a = a.shift.data() + a_matrix * a.lines;
    const std::int32_t* shift_b = b.shift.data() + b_matrix * b.lines + test.first_column;
    if (plan.positional) {
      const int groups = static_cast<int>(test.plan->plan.groups.size());
      cpu_reconstruct(test.plan->plan, groups, outputs.sums.data() + matrix * groups * entries, shift_a, shift_b, view);
    } else {
      cpu_reconstruct(test.plan->plan, count, outputs.residues.data() + matrix * test.plan->plan.groups_of(count) * entries,
                      shift_a, shift_b, view);
    }
    if (!test.has_flags) continue;
    Scales scale_a, scale_b;
    scale_a.special.assign(a.special.begin() + a_matrix * a.lines, a.special.begin() + (a_matrix + 1) * a.lines);
    scale_b.special.assign(b.special.begin() + b_matrix * b.lines + test.first_column,
                           b.special.begin() + (b_matrix + 1) * b.lines);
    OperandView b_view = b.view(b_matrix);
    b_view.data += test.first_column * b.outer_stride;
    b_view.outer = test.columns;
    cpu_patch_specials(a.view(a_matrix), scale_a, b_view, scale_b, {view});
  }

  // The kernel.
  std::uint8_t* device_bytes = to_device(outputs.bytes);
  std::uint8_t* device_result = to_device(std::vector<std::uint8_t>(expected.size(), kPoison));
  std::uint8_t *device_a = to_device(a.data), *device_b = to_device(b.data);
  int* device_units = test.count >= 0 ? to_device(std::vector<int>{test.count}) : nullptr;
  job.residues = {device_bytes, outputs.pitch, outputs.matrix_stride, outputs.plane_stride * test.plan->plan.width()};
  job.a.shift = to_device(a.shift);
  job.b.shift = to_device(b.shift);
  job.a.special = test.has_flags ? to_device(a.special) : nullptr;
  job.b.special = test.has_flags ? to_device(b.special) : nullptr;
  job.units_used = device_units;
  const auto describe = [](const Operand& operand, const std::uint8_t* data) {
    DeviceOperand device;
    device.data = reinterpret_cast<const char*>(data) + operand.origin;
    device.type = operand.type;
    device.outer = operand.lines;
    device.inner = operand.inner;
    device.outer_stride = operand.outer_stride;
    device.inner_stride = operand.inner_stride;
    device.stack.rank = 1;
    device.stack.extent[0] = operand.matrices;
    device.stack.stride[0] = operand.matrix_bytes;
    return device;
  };
  job.a.view = describe(a, device_a);
  job.b.view = describe(b, device_b);
  job.first_column = test.first_column;
  job.overlap_previous = one_in(2);
  result.data = reinterpret_cast<char*>(device_result) + origin;
  if (const char* error = find_reconstruct_error(job)) {
    std::printf("%s: %s\n", test.name.c_str(), error);
    std::exit(1);
  }
  if (test.splits > 1) {
    launch_add_bytes(sums_of(plan, test.plan->plan),
                     {device_bytes, device_bytes + outputs.split_stride, outputs.split_stride, test.splits - 1,
                      outputs.plane_stride, outputs.split_stride, device_units},
                     stream);
  }
  launch_reconstruct(plan, job, stream);
  require(cudaStreamSynchronize(stream), test.name.c_str());
  std::vector<std::uint8_t> actual(expected.size());
  REQUIRE(cudaMemcpy(actual.data(), device_result, actual.size(), cudaMemcpyDeviceToHost));
  for (const void* pointer :
       {static_cast<const void*>(device_bytes), static_cast<const void*>(device_result), static_cast<const void*>(device_a),
        static_cast<const void*>(device_b), static_cast<const void*>(device_units), static_cast<const void*>(job.a.shift),
        static_cast<const void*>(job.b.shift), static_cast<const void*>(job.a.special),
        static_cast<const void*>(job.b.special)}) {
    REQUIRE(cudaFree(const_cast<void*>(pointer)));
  }

  // NaN is NaN; everything else, poison included, is equal.
  int wrong = 0;
  for (int matrix = 0; matrix < matrices; ++matrix) {
    int rest = matrix;
    std::int64_t offset = origin;
    for (int d = test.rank - 1; d >= 0; --d) {
      offset += rest % test.extent[d] * result.stack.stride[d];
      rest /= test.extent[d];
    }
    for (std::int64_t i = 0; i < entries; ++i) {
      const std::int64_t at = offset + i / test.columns * result.row_stride + i % test.columns * result.column_stride;
      std::uint8_t *found = actual.data() + at, *right = expected.data() + at;
      double x, y;
      if (is_double) {
        std::memcpy(&x, found, 8);
        std::memcpy(&y, right, 8);
      } else {
        float narrow[2];
        std::memcpy(&narrow[0], found, 4);
        std::memcpy(&narrow[1], right, 4);
        x = narrow[0], y = narrow[1];
      }
      const bool same = (std::isnan(x) && std::isnan(y)) || std::memcmp(found, right, static_cast<std::size_t>(entry)) == 0;
      if (!same && ++wrong < 4) {
        std::printf("%s: matrix %d row %lld column %lld: %a, expected %a\n", test.name.c_str(), matrix,
                    static_cast<long long>(i / test.columns), static_cast<long long>(i % test.columns), x, y);
      }
      std::memcpy(found, right, static_cast<std::size_t>(entry));
    }
  }
  if (actual != expected) {
    std::printf("%s: bytes between the entries were written\n", test.name.c_str());
    ++wrong;
  }
  return wrong == 0;
}

void name_case(Case& test) {
  constexpr const char* layouts[] = {"contiguous", "padded", "transposed", "spread", "misaligned", "reversed"};
  constexpr const char* sizes[] = {"normal", "subnormal", "overflow"};
  char text[300];
  std::snprintf(text, sizeof text, "%s: %dx%d%s rank %d (%d %d %d) splits %d count %d %s %s first %d specials %d%s",
                test.plan->name.c_str(), test.rows, test.columns, test.type == ElementType::float32 ? " float32" : "", test.rank,
                test.extent[0], test.extent[1], test.extent[2], test.splits, test.count, layouts[static_cast<int>(test.layout)],
                sizes[static_cast<int>(test.size)], test.first_column, test.specials, test.has_flags ? "" : " no flags");
  test.name = text;
}

std::vector<Case> make_cases(const std::vector<NamedPlan>& plans) {
  std::vector<Case> cases;
  for (const NamedPlan& plan : plans) {
    const ReconstructPlan reconstruct = make_reconstruct_plan(plan.plan, plan.k);
    for (int repeat = 0; repeat < 10; ++repeat) {
      Case test;
      test.plan = &plan;
      test.rows = random_int(1, repeat == 0 ? 300 : 40);
      test.columns = repeat == 0 ? random_int(1, 40) : repeat == 1 ? 128 * random_int(1, 3) : random_int(1, 600);
      test.type = repeat % 2 == 0 ? ElementType::float64 : ElementType::float32;
      test.operand_type = one_in(2) ? ElementType::float64 : ElementType::float32;
      test.layout = repeat == 1 ? Layout::contiguous : static_cast<Layout>(random_int(0, 5));
      test.size = static_cast<Size>(repeat < 4 ? 0 : random_int(0, 2));
      if (repeat == 2 || repeat == 5) test.splits = repeat == 2 ? random_int(2, 5) : random_int(2, kMaxSplits);
      if (!reconstruct.positional && repeat != 3) {
        // Small products have a chance to meet +-P / 2, which has two representatives.
        int least = reconstruct.least;
        while (least < reconstruct.all && wide_bit_length(moduli_product(plan.plan, least)) < 40) ++least;
        test.count = random_int(least, reconstruct.all);
        if (wide_bit_length(moduli_product(plan.plan, test.count)) < 40) continue;
      }
      if (repeat == 6 || repeat == 7) {
        test.rank = random_int(1, 3);
        test.rows = random_int(1, 9);
        test.columns = random_int(1, 140);
        for (int d = 0; d < test.rank; ++d) {
          test.extent[d] = random_int(1, 4);
          test.a_broadcast[d] = one_in(3);
          test.b_broadcast[d] = one_in(3);
        }
      }
      if (one_in(3)) {
        test.first_column = random_int(0, 50);
        test.more_columns = random_int(0, 50);
      }
      if (repeat >= 7) test.specials = random_int(1, 12);
      test.has_flags = test.specials > 0 || one_in(2);
      if (test.splits > 16) test.rows = random_int(1, 8);
      name_case(test);
      cases.push_back(test);
    }
  }
  // Tall ones, where a warp works on many rows, ordinary, special and out of range.
  for (const NamedPlan& plan : plans) {
    if (plan.name != "II int8 least bits 53 k 300" && plan.name != "II fp4 least bits 24 k 300") continue;
    for (const ElementType type : {ElementType::float64, ElementType::float32}) {
      for (const Size size : {Size::normal, Size::subnormal}) {
        Case test;
        test.plan = &plan;
        test.rows = 9000;
        test.columns = 140;
        test.type = type;
        test.size = size;
        test.layout = Layout::padded;
        test.specials = 60;
        name_case(test);
        cases.push_back(test);
      }
    }
  }
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  const bool on_gpu = is_for_gpu(argc, argv);
  const std::string filter = argc > 2 ? argv[2] : "";
  const std::vector<NamedPlan> plans = all_plans();
  if (!on_gpu) {
    for (const NamedPlan& plan : plans) report(plan.name, check_plan(plan));
    return finish();
  }
  cudaStream_t stream;
  REQUIRE(cudaStreamCreate(&stream));
  for (const Case& test : make_cases(plans)) {
    if (test.name.find(filter) != std::string::npos) report(test.name, run_case(test, stream));
  }
  return finish();
}
