// Integers rounded from residues by dot products of bytes, against arith/'s rounding of the integers themselves.
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "arith/wide/round_wide.hpp"
#include "check.hpp"
#include "cpu/crt/integers_below.hpp"
#include "cpu/crt/round_bytes.hpp"

namespace {

using namespace ozfp4;

// Memory behind which nothing may be read.
class MemoryEnd {
 public:
  explicit MemoryEnd(std::size_t bytes) : bytes_(bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    memory_ = static_cast<std::uint8_t*>(mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, flags, -1, 0));
    report("a protected page", memory_ != MAP_FAILED && mprotect(memory_ + bytes, bytes, PROT_NONE) == 0);
  }
  std::uint8_t* last(std::size_t bytes) const { return memory_ + bytes_ - bytes; }

 private:
  std::size_t bytes_;
  std::uint8_t* memory_;
};

bool may_be_refused(const Integer& x, const CrtProduct<6>& product) { return may_be_refused(x, product, 39); }

// n of the integers at the given exponents; memory around the results stays as it was.
template <class T>
void check_group(const std::string& name, const std::vector<std::int64_t>& moduli, const CrtConstants<6>& constants,
                 const std::vector<Integer>& integers, std::size_t first, int n, int least, int most) {
  const SignedColumns columns = make_signed_columns(constants);
  const std::int64_t pitch = n + random_int(0, 9);
  // Residues end where the memory does; what lies between them is noise.
  static const MemoryEnd memory(1 << 16);
  const std::size_t bytes = (moduli.size() - 1) * static_cast<std::size_t>(pitch) + static_cast<std::size_t>(n);
  std::uint8_t* residues = memory.last(bytes);
  for (std::size_t i = 0; i < bytes; ++i) residues[i] = static_cast<std::uint8_t>(random_int(0, 255));
  std::vector<std::int32_t> exponent(static_cast<std::size_t>(n));
  std::vector<T> result(kByteLanes + 8), expected(kByteLanes + 8);
  std::memset(result.data(), kPoison, result.size() * sizeof(T));
  std::memset(expected.data(), kPoison, expected.size() * sizeof(T));
  for (int i = 0; i < n; ++i) {
    const Integer& x = integers[(first + static_cast<std::size_t>(i)) % integers.size()];
    for (std::size_t g = 0; g < moduli.size(); ++g)
      residues[g * static_cast<std::size_t>(pitch) + static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(residue_of(x, moduli[g]));
    exponent[static_cast<std::size_t>(i)] = random_int(least, most);
    expected[static_cast<std::size_t>(i)] = round_scaled<T>(x, exponent[static_cast<std::size_t>(i)]);
  }
  const std::uint64_t refused =
      round_bytes(columns, residues, pitch, static_cast<int>(moduli.size()), n, exponent.data(), result.data());
  bool is_right = n == kByteLanes || refused >> n == 0;
  for (int i = 0; i < n; ++i) {
    const Integer& x = integers[(first + static_cast<std::size_t>(i)) % integers.size()];
    if ((refused >> i & 1) == 0) continue;
    is_right = is_right && may_be_refused(x, constants.product);
    result[static_cast<std::size_t>(i)] = expected[static_cast<std::size_t>(i)];
  }
  is_right = is_right && std::memcmp(result.data(), expected.data(), result.size() * sizeof(T)) == 0;
  report(name, is_right, std::to_string(moduli.size()) + " moduli from " + std::to_string(moduli[0]) + ", " + std::to_string(n));
}

// Integers as pairs of FP64 numbers, up to 2^-52 of the second and the loss.
void check_pairs(const std::vector<std::int64_t>& moduli) {
  const CrtConstants<6> constants = make_crt_constants<6>(moduli);
  const SignedColumns columns = make_signed_columns(constants);
  const std::vector<Integer> integers = integers_below(constants.product);
  for (std::size_t first = 0; first < integers.size(); first += kByteLanes) {
    const int n = first % 3 == 0 ? kByteLanes : random_int(1, kByteLanes);
    const Integer* own = integers.data() + std::min(first, integers.size() - std::min<std::size_t>(integers.size(), kByteLanes));
    const int count = static_cast<int>(std::min<std::ptrdiff_t>(n, integers.data() + integers.size() - own));
    std::vector<std::uint8_t> residues(moduli.size() * kByteLanes);
    for (int i = 0; i < count; ++i) {
      for (std::size_t g = 0; g < moduli.size(); ++g)
        residues[g * kByteLanes + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(residue_of(own[i], moduli[g]));
    }
    double sum[kByteLanes + 1], rest[kByteLanes + 1];
    std::memset(sum, kPoison, sizeof sum);
    std::memset(rest, kPoison, sizeof rest);
    const double untouched = sum[count];
    const std::uint64_t refused =
        pair_bytes(columns, residues.data(), kByteLanes, static_cast<int>(moduli.size()), count, sum, rest);
    bool is_right = std::memcmp(&untouched, &sum[count], sizeof untouched) == 0 &&
                    std::memcmp(&untouched, &rest[count], sizeof untouched) == 0;
    for (int i = 0; i < count; ++i) {
      if ((refused >> i & 1) != 0) {
        is_right = is_right && may_be_refused(own[i], constants.product);
        continue;
      }
      is_right = is_right && std::floor(rest[i]) == rest[i] && is_pair_of(own[i], sum[i], rest[i], columns.loss);
    }
    report("pairs", is_right, std::to_string(moduli.size()) + " moduli from " + std::to_string(moduli[0]));
  }
}

template <class T>
void check_moduli(const std::string& name, const std::vector<std::int64_t>& moduli) {
  const CrtConstants<6> constants = make_crt_constants<6>(moduli);
  const std::vector<Integer> integers = integers_below(constants.product);
  for (std::size_t first = 0; first < integers.size(); first += kByteLanes) {
    check_group<T>(name, moduli, constants, integers, first, kByteLanes, -200, 200);
    // From before the least number of FP32 to beyond the largest, and to the ends of what is served.
    check_group<T>(name, moduli, constants, integers, first, kByteLanes, kLeastByteExponent, kMostByteExponent);
    check_group<T>(name, moduli, constants, integers, first, random_int(1, kByteLanes), kLeastByteExponent, kLeastByteExponent);
    check_group<T>(name, moduli, constants, integers, first, random_int(1, kByteLanes), kMostByteExponent, kMostByteExponent);
    check_group<T>(name, moduli, constants, integers, first, random_int(1, kByteLanes), -300, 10);
  }
  for (int n = 1; n <= kByteLanes; ++n) check_group<T>(name, moduli, constants, integers, 0, n, -100, 100);
}

// The signed byte that modulus g adds to column j of 16 bytes.
int weight_byte(const SignedColumns& columns, std::size_t g, int j) {
  const int column = j / 2, pair = column % 2 + (column < 4 ? 0 : 2), half = column / 2 % 2;
  const std::uint64_t lane = columns.weight[g / 4][pair][j % 2];
  return static_cast<std::int8_t>(lane >> (32 * half + 8 * (g % 4)));
}

// Residues: anything, each the largest or 0, those that make the sum of one column as small or as large as it comes.
enum class Pattern { any, ends, least, most };

std::int64_t pattern_residue(Pattern pattern, const SignedColumns& columns, std::size_t g, int j, std::int64_t m) {
  switch (pattern) {
    case Pattern::any: return random_int(0, m - 1);
    case Pattern::ends: return random_int(0, 1) * (m - 1);
    case Pattern::least: return weight_byte(columns, g, j) < 0 ? m - 1 : 0;
    default: return weight_byte(columns, g, j) > 0 ? m - 1 : 0;
  }
}

void check_largest_sums(const std::vector<std::int64_t>& moduli) {
  const CrtConstants<6> constants = make_crt_constants<6>(moduli);
  const SignedColumns columns = make_signed_columns(constants);
  const auto count = moduli.size();
  std::vector<std::uint8_t> residues(count * kByteLanes);
  std::vector<std::int32_t> exponent(kByteLanes, 0);
  double result[kByteLanes], rest[kByteLanes];
  for (int repeat = 0; repeat < 64; ++repeat) {
    const auto pattern = static_cast<Pattern>(repeat % 4);
    Integer x[kByteLanes];
    for (std::size_t i = 0; i < kByteLanes; ++i) {
      std::uint64_t own[6] = {};
      for (std::size_t g = 0; g < count; ++g) {
        const std::int64_t r = pattern_residue(pattern, columns, g, static_cast<int>(i % 16), moduli[g]);
        residues[g * kByteLanes + i] = static_cast<std::uint8_t>(r);
        for (int k = 0; k < 6; ++k) own[k] += static_cast<std::uint64_t>(r) * constants.weight[g].word[k];
      }
      x[i] = crt_from_columns(own, constants.product);
    }
    const int own_count = static_cast<int>(count);
    const std::uint64_t refused =
        columns.loss == 0 ? round_bytes(columns, residues.data(), kByteLanes, own_count, kByteLanes, exponent.data(), result)
                          : pair_bytes(columns, residues.data(), kByteLanes, own_count, kByteLanes, result, rest);
    bool is_right = true;
    for (int i = 0; i < kByteLanes; ++i) {
      const double expected = round_scaled<double>(x[i], 0);
      const bool is_found = columns.loss == 0 ? std::memcmp(&expected, &result[i], sizeof expected) == 0
                                              : is_pair_of(x[i], result[i], rest[i], columns.loss);
      is_right = is_right && ((refused >> i & 1) != 0 ? may_be_refused(x[i], constants.product) : is_found);
    }
    report("largest sums", is_right, std::to_string(count) + " moduli");
  }
}

void check_refusals() {
  const CrtConstants<6> constants = make_crt_constants<6>({251, 241});
  const SignedColumns columns = make_signed_columns(constants);
  const std::uint8_t residues[2 * kByteLanes] = {};
  double result[kByteLanes];
  for (const int n : {1, 17, 63, 64}) {
    const std::uint64_t all = n == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << n) - 1;
    for (const int beyond : {kLeastByteExponent - 1, kMostByteExponent + 1, -(1 << 29), 1 << 29}) {
      for (const int place : {0, n - 1}) {
        std::vector<std::int32_t> exponent(static_cast<std::size_t>(n), 0);
        exponent[static_cast<std::size_t>(place)] = beyond;
        report("exponents beyond the range", round_bytes(columns, residues, kByteLanes, 2, n, exponent.data(), result) == all);
      }
    }
  }
}

bool are_same(const SignedColumns& x, const SignedColumns& y) {
  return x.groups == y.groups && x.shift == y.shift && x.loss == y.loss && x.ratio == y.ratio && x.most == y.most &&
         std::memcmp(x.negated_product, y.negated_product, sizeof x.negated_product) == 0 &&
         std::memcmp(x.weight, y.weight, sizeof x.weight) == 0;
}

}  // namespace

int main() {
  // The largest moduli of a byte; as many primes as there may be, with a square.
  const std::vector<std::int64_t> large = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
                                           223, 217, 211, 199, 197, 193, 191, 181, 179, 173};
  const std::vector<std::int64_t> primes = {97, 89, 83, 79, 73, 71, 67, 61,  59, 53, 47, 43, 41,
                                            37, 31, 29, 23, 19, 17, 13, 121, 7,  5,  3,  2};
  report("moduli that are served", make_signed_columns(make_crt_constants<6>(primes)).groups == 7);
  report("moduli of which something is cut",
         make_signed_columns(make_crt_constants<6>(large)).loss == 0x1p43 &&
             make_signed_columns(make_crt_constants<6>({large.begin(), large.end() - 4})).loss == 0);
  report("constants of five words",
         are_same(make_signed_columns(make_crt_constants<6>(primes)), make_signed_columns(make_crt_constants<5>(primes))));
  if (!can_round_bytes()) {
    std::printf("this CPU has no instructions for the rest\n");
    return finish();
  }
  for (const auto* moduli : {&large, &primes}) {
    for (std::size_t count = 1; count <= moduli->size(); ++count) {
      const std::vector<std::int64_t> own(moduli->begin(), moduli->begin() + static_cast<std::ptrdiff_t>(count));
      if (make_signed_columns(make_crt_constants<6>(own)).loss == 0) {
        check_moduli<double>("double", own);
        check_moduli<float>("float", own);
      }
      check_largest_sums(own);
      check_pairs(own);
    }
  }
  for (const std::int64_t m : {2, 3, 128, 255}) {
    check_moduli<double>("double", {m});
    check_moduli<float>("float", {m});
  }
  check_refusals();
  return finish();
}
