// A sum is found from its lower word, a number near it and residues, as far from that number as is allowed; and rounded once.
#include <cmath>
#include <cstdint>
#include <string>

#include "arith/scale_entry.hpp"
#include "arith/wide/round_wide.hpp"
#include "check.hpp"
#include "cpu/words/near_sum.hpp"

using namespace ozfp4;

namespace {

constexpr int kWords = 8;
using Wide = WideInt<kWords>;
__extension__ using Int128 = __int128;

Wide wide_of(Int128 v) {
  const Wide low = wide_from<kWords>(static_cast<std::int64_t>(v & 0x7FFFFFFFFFFFFFFF));
  Wide high = wide_from<kWords>(static_cast<std::int64_t>(v >> 63));
  for (int i = 0; i < 63; ++i) high = wide_add(high, high);
  return wide_add(low, high);
}

// v modulo m in [0, m).
std::int64_t modulo(const Wide& v, std::int64_t m) {
  std::int64_t rest = wide_is_negative(v) ? m - 1 : 0;
  for (int i = kWords - 1; i >= 0; --i) {
    const std::int64_t word = wide_is_negative(v) ? ~v.word[i] : v.word[i];
    rest = i == kWords - 1 ? word % m : (rest * (std::int64_t(1) << 32) + word) % m;
  }
  return wide_is_negative(v) ? m - 1 - rest : rest;  // -(x + 1)
}

Int128 random_within(double limit) {
  const Int128 v = (static_cast<Int128>(random_int(std::int64_t(0), INT64_MAX)) << 64) | generator();
  return static_cast<Int128>(static_cast<double>(v % (Int128(1) << 100)) * 0x1p-100 * limit) * (random_int(0, 1) == 0 ? 1 : -1);
}

template <int Bridges>
void check_one() {
  double most = Bridges == 0 ? 0x1.ffp62 : 0x1p62;
  for (int i = 0; i < Bridges; ++i) most *= kBridges[i].modulus;
  const int length = random_int(1, static_cast<int>(std::log2(most)) + 51);
  const double near =
      std::nearbyint(std::ldexp(static_cast<double>(random_int(-(std::int64_t(1) << 53), std::int64_t(1) << 53)), length - 53));
  const double allowed = most * (1 - 0x1p-20) - std::fabs(near) * 0x1p-52 - 0x1p12;
  const int kind = random_int(0, 3);  // ends, anywhere, close by, and the number itself
  Int128 off = kind == 3 ? 0 : random_within(kind == 2 ? 1000.0 : allowed);
  if (kind == 0) off = static_cast<Int128>(allowed) * (off < 0 ? -1 : 1) + random_int(-3, 3);
  const Wide v = wide_add(scaled_wide<kWords>(near, 0), wide_of(off));
  const std::uint64_t word = v.word[0] | static_cast<std::uint64_t>(v.word[1]) << 32;
  double residue[kMostBridges] = {};
  for (int i = 0; i < Bridges; ++i) {
    const std::int64_t m = kBridge[i];
    const std::int64_t times = random_int(-(std::int64_t(1) << 51) / m + 2, (std::int64_t(1) << 51) / m - 2);
    residue[i] = static_cast<double>(modulo(v, m) + times * m);
  }
  const SumParts parts = join_near_sum<Bridges>(word, near, residue);
  Wide found = scaled_wide<kWords>(parts.top, 0);
  for (const double part : {parts.middle, parts.low}) found = wide_add(found, scaled_wide<kWords>(part, 0));
  bool is_same = true;
  for (int i = 0; i < kWords; ++i) is_same = is_same && found.word[i] == v.word[i];
  const std::string name = "bridges " + std::to_string(Bridges) + " length " + std::to_string(length);
  report(name, is_same);
  const SumOfPieces sum = sum_of_parts(parts);
  report("rounded, " + name, sum.sum + sum.rest == round_scaled<double>(v, 0));
  const auto single = static_cast<float>(sum_to_odd(sum.sum, sum.rest));
  report("rounded to single precision, " + name, single == round_scaled<float>(v, 0));
}

// Entries in both forms and modulo the bridges, against integers.
void check_entry() {
  const double z =
      std::ldexp(static_cast<double>(random_int(-(std::int64_t(1) << 53), std::int64_t(1) << 53)), random_int(-60, 23));
  double value;
  std::uint64_t word;
  split_near_entry(z, value, word);
  const Wide v = scaled_wide<kWords>(z, 0);
  const Wide of_value = scaled_wide<kWords>(value, 0);
  bool is_same = word == (v.word[0] | static_cast<std::uint64_t>(v.word[1]) << 32);
  for (int i = 0; i < kWords; ++i) is_same = is_same && v.word[i] == of_value.word[i];
  report("entry", is_same, std::to_string(z));
  for (int i = 0; i < kMostBridges; ++i) {
    const double r = near_residue(value, kBridges[i]);
    const std::int64_t rest = (static_cast<std::int64_t>(r) % kBridge[i] + kBridge[i]) % kBridge[i];
    report("residue", rest == modulo(v, kBridge[i]) && std::fabs(r) <= static_cast<double>(kBridge[i]) / 2);
  }
}

}  // namespace

int main() {
  for (int i = 0; i < 200000; ++i) {
    check_one<0>();
    check_one<1>();
    check_one<2>();
    check_entry();
  }
  report("no bridge for small norms", bridges_needed(0x1p100, 64) == 0);
  report("two for longer ones", bridges_needed(0x1p260, 64) == 2);
  report("none serves large norms", !bridges_needed(0x1p322, 64).has_value() && !bridges_needed(0x1p316, 1 << 12).has_value());
  return finish();
}
