// Integers from residues in FP64 numbers, against arith/'s rounding of the integers themselves.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "arith/wide/round_wide.hpp"
#include "check.hpp"
#include "cpu/crt/integers_below.hpp"
#include "cpu/crt/number_crt.hpp"
#include "plan/moduli/moduli.hpp"

namespace {

using namespace ozfp4;

std::string text(const std::vector<std::int64_t>& moduli) {
  return std::to_string(moduli.size()) + " moduli from " + std::to_string(moduli[0]);
}

bool may_be_refused(const Integer& x, const CrtProduct<6>& product) { return may_be_refused(x, product, 18); }

// Checks of some integers that their pairs make them and round to the right bits.
void check_lanes(const std::vector<std::int64_t>& moduli, const CrtConstants<6>& constants, const Integer* integers, int n,
                 int least, int most) {
  const NumberCrt numbers = make_number_crt(constants, moduli);
  const std::int64_t pitch = n + random_int(0, 9);
  std::vector<std::uint32_t> residues(moduli.size() * static_cast<std::size_t>(pitch), 0xffffffffu);
  std::vector<std::int32_t> exponent(static_cast<std::size_t>(n));
  double result[kLanes + 1];
  std::memset(result, kPoison, sizeof result);
  const double untouched = result[n];
  for (int i = 0; i < n; ++i) {
    for (std::size_t g = 0; g < moduli.size(); ++g)
      residues[g * static_cast<std::size_t>(pitch) + static_cast<std::size_t>(i)] = residue_of(integers[i], moduli[g]);
    exponent[static_cast<std::size_t>(i)] = random_int(least, most);
  }
  LanePairs pairs;
  number_lanes(numbers, residues.data(), pitch, n, pairs);
  round_lanes(pairs, n, exponent.data(), result);
  bool is_right = std::memcmp(&untouched, &result[n], sizeof untouched) == 0;
  for (int i = 0; i < n; ++i) {
    if (pairs.refused[i] != 0) {
      is_right = is_right && may_be_refused(integers[i], constants.product);
      continue;
    }
    const double expected = round_scaled<double>(integers[i], exponent[static_cast<std::size_t>(i)]);
    is_right = is_right && is_pair_of(integers[i], pairs.sum[i], pairs.rest[i], 0.0) &&
               std::memcmp(&expected, &result[i], sizeof expected) == 0;
  }
  report("lanes", is_right, text(moduli) + ", " + std::to_string(n));
}

void check_integers(const std::vector<std::int64_t>& moduli) {
  const CrtConstants<6> constants = make_crt_constants<6>(moduli);
  const std::vector<Integer> integers = integers_below(constants.product);
  const int size = static_cast<int>(integers.size());
  for (int first = 0; first < size; first += kLanes) {
    const int n = std::min(first % 3 == 0 ? kLanes : random_int(1, kLanes), size - first);
    check_lanes(moduli, constants, integers.data() + first, n, -200, 200);
    check_lanes(moduli, constants, integers.data() + first, n, kLeastPieceExponent, kLeastPieceExponent);
    check_lanes(moduli, constants, integers.data() + first, n, kMostPieceExponent, kMostPieceExponent);
  }
}

// Residues that make a digit's sum as large or as small as it comes; any; each the largest or 0.
enum class Pattern { any, ends, least, most };

void check_largest_sums(const std::vector<std::int64_t>& moduli) {
  const CrtConstants<6> constants = make_crt_constants<6>(moduli);
  const NumberCrt numbers = make_number_crt(constants, moduli);
  for (int repeat = 0; repeat < 64; ++repeat) {
    const auto pattern = static_cast<Pattern>(repeat % 4);
    std::vector<Integer> integers;
    for (int i = 0; i < kLanes; ++i) {
      std::uint64_t own[6] = {};
      for (std::size_t g = 0; g < moduli.size(); ++g) {
        const double weight = numbers.weight[g][static_cast<std::size_t>(i) % moduli.size()];
        const std::int64_t top = moduli[g] - 1;
        const std::int64_t r = pattern == Pattern::any     ? random_int(0, static_cast<int>(top))
                               : pattern == Pattern::ends  ? random_int(0, 1) * top
                               : pattern == Pattern::least ? (weight < 0 ? top : 0)
                                                           : (weight > 0 ? top : 0);
        for (int k = 0; k < 6; ++k) own[k] += static_cast<std::uint64_t>(r) * constants.weight[g].word[k];
      }
      integers.push_back(crt_from_columns(own, constants.product));
    }
    check_lanes(moduli, constants, integers.data(), kLanes, -10, 10);
  }
}

void check_zeros(const std::vector<std::int64_t>& moduli) {
  const CrtConstants<6> constants = make_crt_constants<6>(moduli);
  const std::vector<Integer> integers(kLanes, wide_zero<6>());
  check_lanes(moduli, constants, integers.data(), kLanes, -100, 100);
}

void check_exponents(const std::vector<std::int64_t>& moduli) {
  const NumberCrt numbers = make_number_crt(make_crt_constants<6>(moduli), moduli);
  const std::vector<std::uint32_t> residues(moduli.size() * kLanes, 1);
  LanePairs pairs;
  number_lanes(numbers, residues.data(), kLanes, kLanes, pairs);
  double result[kLanes];
  for (const int n : {1, 3, 63, 64}) {
    for (const int beyond : {kLeastPieceExponent - 1, kMostPieceExponent + 1, -(1 << 29), 1 << 29}) {
      for (const int place : {0, n - 1}) {
        std::vector<std::int32_t> exponent(static_cast<std::size_t>(n), 0);
        exponent[static_cast<std::size_t>(place)] = beyond;
        std::fill_n(pairs.refused, n, 0);
        round_lanes(pairs, n, exponent.data(), result);
        for (int i = 0; i < n; ++i) report("exponents beyond the range", (pairs.refused[i] != 0) == (i == place));
      }
    }
  }
}

bool serves(const std::vector<std::int64_t>& moduli) {
  return make_number_crt(make_crt_constants<6>(moduli), moduli).count == static_cast<int>(moduli.size());
}

}  // namespace

int main() {
  // The largest odd numbers without common factors that a plan takes, and small ones: the upper digits of their product are 0.
  const std::vector<std::int64_t> large = {11863283, 11863281, 11863279, 11863277, 11863273, 11863271};
  const std::vector<std::int64_t> small = {3, 5, 7, 11, 13, 17};
  for (const auto* moduli : {&large, &small}) {
    for (std::size_t count = 2; count <= moduli->size(); ++count) {
      const std::vector<std::int64_t> own(moduli->begin(), moduli->begin() + static_cast<std::ptrdiff_t>(count));
      report("moduli that are served", serves(own), text(own));
      check_integers(own);
      check_largest_sums(own);
      check_zeros(own);
      check_exponents(own);
    }
  }
  report("moduli that are not served", !serves({11863283}) && !serves({11863285, 3}) && !serves({3, 5, 7, 11, 13, 17, 19}));
  return finish();
}
