// Sums of complex matrices times factors: what an approximate sum decides is what the exact one rounds to. Ties, zeros,
// what cancels, the whole range, NaN and infinity.
#include <cmath>
#include <limits>
#include <string>

#include "arith/update/part_sum.hpp"
#include "check.hpp"

using namespace ozfp4;

namespace {

// Integers of 53 bits; of 3; times powers of two that a few numbers reach; of any exponent; NaN and infinity among them.
enum class Kind { full, small, deep, wide, special };
constexpr Kind kKinds[] = {Kind::full, Kind::small, Kind::deep, Kind::wide, Kind::special};

template <class T>
T number(Kind kind) {
  constexpr int digits = std::numeric_limits<T>::digits;
  const std::int64_t most = kind == Kind::small ? 4 : (std::int64_t(1) << digits) - 1;
  const auto x = static_cast<T>(random_int(-most, most));
  if (kind == Kind::special && random_int(0, 5) == 0) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    const T specials[] = {infinity, -infinity, std::numeric_limits<T>::quiet_NaN(), T(0)};
    return specials[random_int(0, 3)];
  }
  if (kind == Kind::full || kind == Kind::small) return x;
  if (kind == Kind::deep) return std::ldexp(x, random_int(-60, 0));
  constexpr int top = std::numeric_limits<T>::max_exponent;
  return std::ldexp(x, random_int(-top - 60, top) - digits);
}

template <class T>
T factor(Kind kind) {
  return number<T>(kind == Kind::special || random_int(0, 1) == 0 ? Kind::small : kind);
}

int left_open = 0;  // though no operation could underflow or overflow

template <class T>
void check_part(Kind kind) {
  PartSum of;
  for (int i = 0; i < 2 * kMostSummed; ++i) of.put(i, number<T>(kind), factor<T>(kind));
  if (random_int(0, 2) == 0) of.put(1, -of.x[0], of.factor[0]);  // cancels
  if (!of.are_finite) return;
  ExactSum sum;
  const T exact = exact_sum<T>(of, sum.digit);
  T fused = 0, halves = 0;
  const bool is_settled = settle_sum<T, true>(of, fused);
  report("with and without an instruction that fuses", is_settled == (settle_sum<T, false>(of, halves)));
  left_open += !is_settled && of.is_safe;
  if (!is_settled) return;
  report("settled", float_bits(fused) == float_bits(exact) && float_bits(halves) == float_bits(exact),
         std::to_string(static_cast<double>(fused)) + " for " + std::to_string(static_cast<double>(exact)));
}

void check_parts() {
  for (int i = 0; i < 20000; ++i) {
    for (const Kind kind : kKinds) {
      check_part<double>(kind);
      check_part<float>(kind);
    }
  }
  report("little is left open", left_open < 20, std::to_string(left_open));
}

}  // namespace

int main() {
  check_parts();
  return finish();
}
