#include "product/trust/cases.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <tuple>

namespace ozfp4::product {
namespace {

using Limbs = std::vector<std::int32_t>;

Limbs range(std::int32_t first, std::int32_t last) {
  Limbs all;
  for (std::int32_t limb = first; limb <= last; ++limb) all.push_back(limb);
  return all;
}

// Powers of two up to 2^most and their neighbours, of either sign.
Limbs around_powers(int most) {
  std::set<std::int32_t> found;
  for (int e = 0; e <= most; ++e) {
    for (const std::int32_t d : {-1, 0, 1}) {
      const std::int32_t limb = std::min((1 << e) + d, 1 << most);
      found.insert({-limb, limb});
    }
  }
  return {found.begin(), found.end()};
}

// 0 .. extent - 1, repeated after `period`.
Classes in_turn(std::int64_t extent, std::int64_t period) {
  Classes classes;
  for (std::int64_t i = 0; i < extent; ++i) classes.push_back(static_cast<int>(i % period));
  return classes;
}
Classes each(std::int64_t extent) { return in_turn(extent, std::max<std::int64_t>(extent, 1)); }

Limbs some_limbs(std::uint64_t seed, const CaseAlphabet& alphabet, std::int64_t count) {
  Limbs limbs;
  for (std::int64_t i = 0; i < count; ++i) {
    limbs.push_back(alphabet.limbs[scattered(seed, static_cast<std::uint64_t>(i)) % alphabet.limbs.size()]);
  }
  return limbs;
}

Limbs odd_limbs(const CaseAlphabet& alphabet, std::int32_t most) {
  Limbs odd;
  for (const std::int32_t limb : alphabet.limbs) {
    if (limb % 2 != 0 && std::abs(limb) <= most) odd.push_back(limb);
  }
  return odd;
}

// Every limb with every limb, the same pair in all of K.
Case every_pair(const CaseAlphabet& alphabet, std::int64_t k) {
  const Classes lines = each(static_cast<std::int64_t>(alphabet.limbs.size()));
  return {"every pair of limbs, K = " + std::to_string(k), alphabet.limbs, alphabet.limbs,
          Classes(static_cast<std::size_t>(k), 0),         lines,          lines};
}

// A single one in every row, at another k in each, against values that differ everywhere: shows each entry's place, and the scale
// of each block of entries along K.
Case every_place(const CaseAlphabet& alphabet, std::int64_t k, std::int64_t other, bool of_rows) {
  Limbs one_hot(static_cast<std::size_t>(k * k), 0);
  for (std::int64_t i = 0; i < k; ++i) one_hot[static_cast<std::size_t>(i * k + i)] = 1;
  const Limbs values = some_limbs(1, alphabet, other * k);
  const std::string name =
      std::string("each place along K and in ") + (of_rows ? "rows" : "columns") + ", K = " + std::to_string(k);
  if (of_rows) return {name, one_hot, values, each(k), each(k), each(other)};
  return {name, values, one_hot, each(k), each(other), each(k)};
}

// All limbs the largest, of either sign, but for three places with odd ones: sums at the limit, and odd ones near it.
Case near_the_limit(const CaseAlphabet& alphabet, std::int64_t k, std::int64_t rows, std::int64_t columns) {
  constexpr int kLines = 8, kPlaces = 4;
  const Limbs odd = odd_limbs(alphabet, 3);
  Limbs a, b;
  for (int i = 0; i < kLines; ++i) {
    const std::int32_t fill = i % 2 == 0 ? alphabet.low() : alphabet.high();
    for (int place = 0; place < kPlaces; ++place) {
      const bool is_full = place == 0 || i < 2;  // two rows and columns without odd limbs: the sum at the limit itself
      a.push_back(is_full ? fill : odd[static_cast<std::size_t>(i + place) % odd.size()]);
      b.push_back(is_full ? fill : odd[static_cast<std::size_t>(i * place) % odd.size()]);
    }
  }
  Classes k_class(static_cast<std::size_t>(k), 0);
  k_class[static_cast<std::size_t>(k / 3)] = 1;
  k_class[static_cast<std::size_t>(2 * k / 3)] = 2;
  k_class[static_cast<std::size_t>(k - 1)] = 3;
  return {"sums at the limit, K = " + std::to_string(k), a, b, k_class, in_turn(rows, kLines), in_turn(columns, kLines)};
}

// Largest limbs with signs that change along K, in runs from one entry to three quarters of it: sums that climb and fall. The
// last entry is odd times odd, so that every sum is odd where the largest limb is even.
Case alternating(const CaseAlphabet& alphabet, std::int64_t k, std::int64_t rows) {
  constexpr int kSigns = 8, kClasses = 1 << kSigns;
  constexpr std::array<int, 6> kRuns = {0, 2, 4, 5, 6, 8};  // log2 of their lengths, a bit of the class for each
  Classes k_class;
  for (std::int64_t place = 0; place < k; ++place) {
    int bits = (place >= k / 2 ? 64 : 0) | (place >= 3 * k / 4 ? 128 : 0);
    for (std::size_t bit = 0; bit < kRuns.size(); ++bit) bits |= static_cast<int>(place >> kRuns[bit] & 1) << bit;
    k_class.push_back(bits);
  }
  k_class.back() = kClasses;
  const Limbs odd = odd_limbs(alphabet, alphabet.high() + 1);
  const auto sign = [&](int bit, int of) { return (of >> bit & 1) != 0 ? alphabet.low() : alphabet.high(); };
  Limbs a, b;
  for (std::size_t line = 0; line < kSigns; ++line) {
    for (int of = 0; of < kClasses; ++of) b.push_back(sign(static_cast<int>(line), of));
    b.push_back(odd[line % odd.size()]);
  }
  for (std::size_t line = 0; line < 4; ++line) {
    for (int of = 0; of < kClasses; ++of) {
      a.push_back(line == 0 ? alphabet.high() : line == 1 ? alphabet.low() : sign(line == 2 ? 0 : 4, of));
    }
    a.push_back(odd[line % odd.size()]);
  }
  return {"alternating signs, K = " + std::to_string(k), a, b, k_class, in_turn(rows, 4), each(kSigns)};
}

// Limbs that look random in extents at and around the boundaries of tiles; rows repeat after 7, columns after 5.
Case any_limbs(const CaseAlphabet& alphabet, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t rows = std::min<std::int64_t>(m, 7), columns = std::min<std::int64_t>(n, 5);
  return {"extents " + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k),
          some_limbs(static_cast<std::uint64_t>(m), alphabet, rows * k),
          some_limbs(static_cast<std::uint64_t>(n) + 1000, alphabet, columns * k),
          each(k),
          in_turn(m, 7),
          in_turn(n, 5)};
}

constexpr int kMostRepeats = 12;

using Extents = std::tuple<int, int, int>;

// Each edge with others, in strides that meet different ones.
std::vector<Extents> edge_extents() {
  constexpr int kEdges[] = {1, 2, 7, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 193, 255, 256, 257};
  constexpr int kInner[] = {1,   2,   31,  32,  33,  63,  64,  65,  95,  96,  97,  127, 128, 129,  191, 192,
                            193, 255, 256, 257, 383, 384, 385, 511, 512, 513, 767, 768, 769, 1535, 1537};
  const std::size_t edges = std::size(kEdges), inners = std::size(kInner);
  std::vector<Extents> found;
  const auto add = [&](std::size_t m, std::size_t n, std::size_t k) {
    const Extents extents(kEdges[m % edges], kEdges[n % edges], kInner[k % inners]);
    if (std::find(found.begin(), found.end(), extents) == found.end()) found.push_back(extents);
  };
  for (std::size_t i = 0; i < edges; ++i) add(i, 5 * i + 3, 7 * i);
  for (std::size_t i = 0; i < inners; ++i) add(3 * i + 7, 2 * i, i);
  return found;
}

}  // namespace

const CaseAlphabet& case_alphabet(const std::string& name) {
  static const Limbs codes = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};
  static const CaseAlphabet all[] = {
      // Elements of GPU kernels: FP32 accumulators up to 2^24; INT32 ones as far as every kernel folds them. That is up to 2^31 -
      // 2^16, or 2^29 where the fold of signed sums adds an offset.
      {"e2m1", codes, 116508},
      {"u8", range(0, 255), 33024},
      {"s8", range(-128, 127), 32768},
      // Alphabets of the CPU: FP32 up to 2^24, FP64 up to 2^53.
      {"fp4", codes, 116508},
      {"int8", range(-128, 127), 1024},
      {"fp64", around_powers(22), 512},
      // Machine words: sums up to 2^62, which also wrap modulo 2^32.
      {"integers", around_powers(26), 1024},
  };
  for (const CaseAlphabet& alphabet : all) {
    if (alphabet.name == name) return alphabet;
  }
  throw std::invalid_argument("element: '" + name + "' has no cases");
}

std::size_t Case::places() const { return static_cast<std::size_t>(1 + *std::max_element(k_class.begin(), k_class.end())); }

std::vector<std::int64_t> Case::expected() const {
  const std::size_t width = places(), rows = a.size() / width, columns = b.size() / width;
  std::vector<std::int64_t> counts(width, 0), small(rows * columns, 0), whole;
  for (const int place : k_class) ++counts[static_cast<std::size_t>(place)];
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < width; ++k) {
        small[i * columns + j] += counts[k] * a[i * width + k] * b[j * width + k];
      }
    }
  }
  whole.reserve(row_class.size() * column_class.size());
  for (const int i : row_class) {
    for (const int j : column_class) whole.push_back(small[static_cast<std::size_t>(i) * columns + static_cast<std::size_t>(j)]);
  }
  return whole;
}

void for_each_case(const CaseAlphabet& alphabet, bool is_short, const std::function<void(const Case&)>& visit) {
  const std::int64_t limit = alphabet.k_limit;
  std::vector<Extents> extents = {{1, 1, 1}, {17, 1, 65}, {1, 33, 127}, {65, 129, 33}, {130, 67, 257}}, large = {{130, 257, 192}};
  visit(every_pair(alphabet, 1));
  if (is_short) {
    // Few rows: what such a long K takes is mostly memory that is touched for the first time.
    visit(near_the_limit(alphabet, limit, 4, 4));
    visit(alternating(alphabet, limit, 2));
  } else {
    visit(every_pair(alphabet, 129));
    for (const std::int64_t k : {limit, limit - 1, limit / 2 + 1, std::min<std::int64_t>(limit, 4097)}) {
      visit(near_the_limit(alphabet, k, 8, 8));
      visit(alternating(alphabet, k, 4));
    }
    visit(near_the_limit(alphabet, limit, 67, 130));
    visit(alternating(alphabet, limit, 70));
    extents = edge_extents();
    large = {{300, 520, 1000}, {513, 257, 640}, {1025, 769, 384}};
  }
  for (const int k : {64, 128, 256, 512}) {
    if ((k == 128) != is_short) continue;
    for (const bool of_rows : {true, false}) visit(every_place(alphabet, k, is_short ? 24 : 96, of_rows));
  }
  // The smallest outputs that take the widest tiles of Hopper's kernel.
  if (alphabet.name == "u8" || alphabet.name == "s8") large.emplace_back(200, 300, 1024);
  // The limit may be shorter than the longest of these extents.
  for (const auto& [m, n, k] : extents) visit(any_limbs(alphabet, m, n, std::min<std::int64_t>(k, limit)));
  for (const auto& [m, n, k] : large) {
    Case many = any_limbs(alphabet, m, n, std::min<std::int64_t>(k, limit));
    many.repeats = kMostRepeats;
    visit(many);
  }
  if (alphabet.name == "u8" || alphabet.name == "s8" || alphabet.name == "e2m1") {  // those of GPUs
    Case tiles = any_limbs(alphabet, 257, 270, 1100);
    tiles.every_tile = true;
    visit(tiles);
  }
  if (alphabet.name == "e2m1") {
    Case minus = any_limbs(alphabet, 40, 24, 200);
    minus.minus_zero = true;
    visit(minus);
  }
}

std::uint64_t scattered(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t x = (i + 1 + (seed << 32)) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace ozfp4::product
