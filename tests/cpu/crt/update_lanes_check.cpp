// alpha A B + beta C in pairs of FP64 numbers against the same in integers: entries that are not refused have the same bits,
// and few common ones are refused. With an error, both ends of the interval have these bits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "arith/update/update.hpp"
#include "check.hpp"
#include "cpu/crt/lanes.hpp"
#include "cpu/crt/near_update.hpp"
#include "plan/moduli/moduli.hpp"

namespace {

using namespace ozfp4;

constexpr int kWords = 5;
using Integer = WideInt<kWords>;
constexpr int kNearHalf = 116;  // means integers near half of the product of the moduli
const std::vector<std::int64_t> kModuli = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197};

// Below 2^bits in magnitude; the lowest `zeros` bits are 0.
Integer random_integer(int bits, int zeros) {
  Integer x = wide_zero<kWords>();
  for (int i = zeros; i < bits; ++i) x.word[i / 32] |= static_cast<std::uint32_t>(random_int(0, 1)) << (i % 32);
  return random_int(0, 1) != 0 ? wide_negate(x) : x;
}

double random_number(int least, int most) {
  return std::ldexp(1.0 + std::ldexp(static_cast<double>(random_int(std::int64_t(0), (std::int64_t(1) << 52) - 1)), -52),
                    random_int(least, most)) *
         (random_int(0, 1) != 0 ? 1.0 : -1.0);
}

enum class Kind { any, near, cancels, half, zero };

template <class T>
double addend_of_kind(Kind kind, const Integer& x, int exponent, double alpha, double beta) {
  const T product = round_scaled<T>(x, exponent);
  const double of_place = std::fabs(static_cast<double>(std::nextafter(product, std::numeric_limits<T>::infinity()) - product));
  switch (kind) {
    case Kind::any: return random_number(-450, 450);
    case Kind::near: return static_cast<double>(product) * random_number(-3, 3);
    case Kind::cancels: return -static_cast<double>(product) * alpha / beta;
    case Kind::half: return of_place / 2 * random_int(-3, 3);
    default: return 0.0;
  }
}

template <class T>
void check_lanes(const std::string& name, Kind kind, bool has_factors, int bits, int zeros, int exponent_from, int exponent_to,
                 bool has_error = false) {
  const CrtConstants<kWords> constants = make_crt_constants<kWords>(kModuli);
  const double alpha = has_factors ? random_number(-60, 60) : random_int(0, 1) != 0 ? 1.0 : -1.0;
  const double beta = has_factors ? random_number(-60, 60) : 1.0;
  const Update factors = Update::of(alpha, beta);
  Columns columns{kWords, {}};
  Integer x[kLanes];
  std::int32_t exponent[kLanes];
  double c[kLanes], error[kLanes] = {};
  T result[kLanes], expected[kLanes], upper[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    x[i] = random_integer(bits, zeros);
    if (bits == kNearHalf) {  // where quotients are in doubt
      Integer gap = wide_zero<kWords>();
      const int bit = random_int(1, 115);
      gap.word[bit / 32] = 1u << (bit % 32);
      x[i] = wide_sub(constants.product.half, gap);
    }
    exponent[i] = random_int(exponent_from, exponent_to);
    c[i] = addend_of_kind<T>(kind, x[i], exponent[i], alpha, beta);
    Integer width = wide_zero<kWords>();
    if (has_error) {
      const int bit = random_int(1, std::max(1, bits - random_int(40, 70)));
      width.word[bit / 32] = 1u << (bit % 32);
      error[i] = std::ldexp(1.0, bit);
    }
    const Addend addend = addend_of(factors, c[i]);
    expected[i] = round_update<T>(wide_sub(x[i], width), exponent[i], factors, addend, Rounding::nearest);
    upper[i] = round_update<T>(wide_add(x[i], width), exponent[i], factors, addend, Rounding::nearest);
    const bool is_negative = wide_is_negative(x[i]);
    const Integer magnitude = wide_magnitude(x[i], wide_sign_mask(x[i]));
    for (std::size_t g = 0; g < kModuli.size(); ++g) {
      const auto m = static_cast<std::uint32_t>(kModuli[g]);
      std::uint32_t rest = 0;
      wide_divide_small(magnitude, m, rest);
      const std::uint32_t r = is_negative && rest != 0 ? m - rest : rest;
      for (int k = 0; k < kWords; ++k) columns.sum[k][i] += static_cast<std::uint64_t>(r) * constants.weight[g].word[k];
    }
  }
  LanePairs pairs;
  LaneWords words;
  crt_lanes(columns, kLanes, constants.product, words, pairs.refused);
  pair_words(words, kWords, kLanes, kCertainBits - 1, pairs);
  update_lanes(pairs, error, kLanes, exponent, alpha, beta, c, result);
  int refused = 0;
  bool is_right = true;
  for (int i = 0; i < kLanes; ++i) {
    refused += pairs.refused[i] != 0;
    is_right = is_right && (pairs.refused[i] != 0 || (std::memcmp(&result[i], &expected[i], sizeof(T)) == 0 &&
                                                      std::memcmp(&result[i], &upper[i], sizeof(T)) == 0));
  }
  report(name, is_right,
         std::to_string(static_cast<int>(kind)) + ", bits " + std::to_string(bits) + " from " + std::to_string(zeros));
  // Sums of few bits are often ties, which only the integers decide.
  const bool is_common = kind == Kind::near && exponent_from == exponent_to && !has_error &&
                         (bits <= 53 ? !has_factors : bits >= 80 && bits < kNearHalf && zeros == 0);
  report("little is refused", !is_common || sizeof(T) == 4 || refused == 0,
         std::to_string(refused) + ", bits " + std::to_string(bits) + " from " + std::to_string(zeros) +
             (has_factors ? ", factors" : ""));
}

template <class T>
void check_type(const std::string& name, int repeats) {
  for (const Kind kind : {Kind::any, Kind::near, Kind::cancels, Kind::half, Kind::zero}) {
    for (const bool has_factors : {false, true}) {
      for (const int bits : {1, 8, 53, 60, 80, 110, 114, kNearHalf}) {
        for (const int zeros : {0, bits > 30 ? bits - 30 : 0, bits > 54 ? bits - 54 : 0, bits > 25 ? bits - 25 : 0}) {
          for (int repeat = 0; repeat < repeats; ++repeat) {
            check_lanes<T>(name, kind, has_factors, bits, zeros, -104, -104);
            check_lanes<T>(name, kind, has_factors, bits, zeros, -450, 300);
            check_lanes<T>(name, kind, has_factors, bits, zeros, -160, -100);
            check_lanes<T>(name + ", errors", kind, has_factors, bits, zeros, -160, -100, true);
          }
        }
      }
    }
  }
}

void check_refusals() {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double c : {infinity, -infinity, nan, 0x1p401, 0x1p-401, -0x1p-1074}) {
    std::int64_t refused = 0;
    near_update<double>(3.0, 0.0, 0.0, 0, 1.0, 1.0, c, refused);
    report("addends beyond the range", refused != 0);
  }
  for (const int exponent : {kLeastNearExponent - 1, kMostNearExponent + 1, -(1 << 28), 1 << 28}) {
    std::int64_t refused = 0;
    near_update<double>(3.0, 0.0, 0.0, exponent, 1.0, 1.0, 1.0, refused);
    report("exponents beyond the range", refused != 0);
  }
  std::int64_t refused = 0;
  const double zero = near_update<double>(3.0, 0.0, 0.0, 0, -1.0, 3.0, 1.0, refused);
  report("an exact zero", refused == 0 && zero == 0.0 && !std::signbit(zero));
  const double zeros = near_update<double>(0.0, 0.0, 0.0, 0, -1.0, 3.0, -0.0, refused);
  report("a sum of zeros", refused == 0 && zeros == 0.0 && !std::signbit(zeros));
  report("factors", are_near_factors(1.0, 0.0) && are_near_factors(-0x1p200, 0x1p-200) && !are_near_factors(0x1p201, 1.0) &&
                        !are_near_factors(1.0, 0x1p-201) && !are_near_factors(0x1p-201, 0.0) && !are_near_factors(1.0, -0x1p201));
}

}  // namespace

int main(int count, char** arguments) {
  const int repeats = is_few(count, arguments) ? 2 : 20;
  check_type<double>("double", repeats);
  check_type<float>("float", repeats);
  check_refusals();
  return finish();
}
