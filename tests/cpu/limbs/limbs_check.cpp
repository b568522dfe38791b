// Limbs of eight bits, against plain loops and arith/:
//   - entries to limbs by shuffles;
//   - sums of diagonals by AMX, if the CPU has it, and by the same loops over modelled tiles;
//   - the integers of these sums;
//   - their rounding without a join, its test by the error, and both without the lower diagonals.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "arith/accuracy/certificate.hpp"
#include "arith/limbs/signed_bytes.hpp"
#include "arith/scale_entry.hpp"
#include "arith/wide/round_wide.hpp"
#include "check.hpp"
#include "cpu/bytes/model_tiles.hpp"
#include "cpu/limbs/encode.hpp"
#include "cpu/limbs/join.hpp"
#include "cpu/limbs/round.hpp"
#include "cpu/limbs/walk.hpp"

namespace {

using namespace ozfp4;

constexpr int kCounts[] = {4, 7, 8, 9};

std::int64_t integer_below(int bits) {
  const std::int64_t most = std::int64_t(1) << (random_int(0, 3) == 0 ? bits : random_int(1, bits));
  return random_int(0, 9) == 0 ? (random_int(0, 1) == 0 ? most : -most) : random_int(-most, most);
}

// ---- encode ------------------------------------------------------------------------------------------------------------------

struct Laid {
  bool is_left;
  std::int64_t lines, inner;
  int limbs, raised;
};

// Below 2^bits, or that.
double some_integer(int bits) {
  return std::ldexp(static_cast<double>(integer_below(std::min(bits, 62))), random_int(0, std::max(0, bits - 62)));
}

double some_entry(int bits) {
  switch (random_int(0, 20)) {
    case 0: return std::numeric_limits<double>::quiet_NaN();
    case 1: return random_int(0, 1) == 0 ? HUGE_VAL : -HUGE_VAL;
    case 2: return 0x1p-1060 * random_int(-9, 9);
    case 3: return 0.5 + static_cast<double>(integer_below(20));  // ties
    case 4: return -0.0;
    // Halfway between integers of two parts, which nine limbs have: those of 40 bits and what is above.
    case 5: return std::ldexp(static_cast<double>(integer_below(std::max(bits - 40, 1))) + 0.5, bits > 62 ? 39 : 0);
    default: return some_integer(bits) * (random_int(0, 1) == 0 ? 1.0 : 0.37);
  }
}

// The integer of a line's entry, from its limbs.
double joined(const std::vector<std::int8_t>& panel, const Laid& laid, std::int64_t tiles, std::int64_t line, std::int64_t k) {
  __extension__ __int128 sum = 0;
  for (int i = laid.limbs - 1; i >= 0; --i) {
    const std::int64_t in_tile = laid.is_left ? line * kTileDepth + k % kTileDepth : k % kTileDepth / 4 * 64 + 4 * line + k % 4;
    const std::int8_t limb = panel[static_cast<std::size_t>((i * tiles + k / kTileDepth) * kTileBytes + in_tile)];
    sum = sum * 256 + limb;
  }
  return static_cast<double>(sum);  // exact, as it is that of an FP64 number
}

void check_encode(const Laid& laid) {
  const int bits = 8 * laid.limbs - 2 - laid.raised;
  const bool has_others = random_int(0, 1) == 0;  // NaN, infinities
  const std::int64_t tiles = tiles_of(laid.inner), bytes = laid.limbs * tiles * kTileBytes;
  const std::int64_t pitch = laid.is_left ? laid.inner + 3 : 32;
  std::vector<double> x(static_cast<std::size_t>(laid.is_left ? kPanelLines * pitch : laid.inner * pitch), 1e300);
  LimbLines lines{x.data(), laid.is_left ? pitch : 1, laid.is_left ? 1 : pitch, laid.lines, laid.inner, {}, {}, false, nullptr};
  const auto at = [&](std::int64_t line, std::int64_t k) { return static_cast<std::size_t>(line * lines.line_step + k * lines.inner_step); };
  for (std::int64_t line = 0; line < laid.lines; ++line) {
    const int power = random_int(-3, 3);
    lines.scale[line] = std::ldexp(1.0, power);
    lines.raised[line] = random_int(0, 2) == 0 ? random_int(0, laid.raised) : laid.raised;
    for (std::int64_t k = 0; k < laid.inner; ++k) {
      double entry = some_entry(bits);
      while (!has_others && !std::isfinite(entry)) entry = some_entry(bits);
      x[at(line, k)] = std::ldexp(entry, -power);
    }
  }
  const std::string name = std::string(laid.is_left ? "left " : "right ") + std::to_string(laid.lines) + " x " +
                           std::to_string(laid.inner) + ", " + std::to_string(laid.limbs) + " limbs, raised by " + std::to_string(laid.raised);
  // Aligned as buffers are.
  alignas(64) static std::int8_t memory[1 << 16];
  std::int64_t rounded[kPanelLines], plain_rounded[kPanelLines];
  std::vector<std::int8_t> plain(static_cast<std::size_t>(bytes), 77);
  lines.rounded = plain_rounded;
  (laid.is_left ? encode_left_limbs_plainly : encode_right_limbs_plainly)(lines, laid.limbs, tiles, plain.data());
  const bool are_finite = std::all_of(x.begin(), x.end(), [](double own) { return std::isfinite(own); });
  for (const int way : {0, 1, 2, 3}) {
    const bool counts = way % 2 != 0;
    lines.are_finite = way >= 2;
    if (lines.are_finite && !are_finite) continue;
    std::fill_n(memory, bytes, kPoison);
    lines.rounded = counts ? rounded : nullptr;
    (laid.is_left ? encode_left_limbs : encode_right_limbs)(lines, laid.limbs, tiles, memory);
    report("shuffled " + name, std::equal(plain.begin(), plain.end(), memory));
    if (counts) report("counted " + name, std::equal(rounded, rounded + laid.lines, plain_rounded));
  }
  bool is_right = true;
  for (std::int64_t line = 0; line < kPanelLines; ++line) {
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < tiles * kTileDepth; ++k) {
      const double entry = line < laid.lines && k < laid.inner ? x[at(line, k)] : 0.0;
      const double z = std::isfinite(entry) ? entry * lines.scale[line] : 0.0;
      is_right = is_right && joined(plain, laid, tiles, line, k) == std::ldexp(std::nearbyint(z), lines.raised[line]);
      count += std::isfinite(entry) && entry != 0 && (std::nearbyint(z) != z || z == 0);
    }
    is_right = is_right && (line >= laid.lines || count == plain_rounded[line]);
  }
  report("encoded " + name, is_right);
}

// ---- diagonals ----------------------------------------------------------------------------------------------------------------

const LimbUnit model = {"modelled tiles", [] { return true; }, [] {}, [] {}, limb_walk<ModelTiles>};

enum class Bytes { random, least, largest };

void check_diagonals(const LimbUnit& unit, int limbs, std::int64_t tiles, Bytes bytes) {
  std::vector<std::int8_t> a(static_cast<std::size_t>(limbs * tiles * kTileBytes)), b(a.size());
  for (auto* panel : {&a, &b}) {
    for (auto& x : *panel)
      x = static_cast<std::int8_t>(bytes == Bytes::random ? random_int(-128, 127) : bytes == Bytes::least ? -128 : 127);
  }
  alignas(64) static std::int32_t expected[kMostSums], found[kMostSums];
  const auto run = [&](const LimbUnit& own, std::int32_t* sums, Diagonals diagonals) {
    own.begin();
    own.run({a.data(), b.data(), sums, tiles, limbs, diagonals});
    own.end();
  };
  const std::string name = std::to_string(limbs) + " limbs, " + std::to_string(tiles) + " tiles";
  std::memset(expected, kPoison, sizeof expected);
  std::memset(found, kPoison, sizeof found);
  run(portable_limbs, expected, Diagonals::all);
  run(unit, found, Diagonals::all);
  report(unit.name, std::equal(expected, expected + kMostSums, found), name);
  const int lower = lower_diagonals(limbs);
  report("upper diagonals", lower == (limbs < 8 ? 0 : diagonals_of(limbs) - 10), name);
  if (lower == 0) return;
  std::memset(found, kPoison, sizeof found);
  run(unit, found, Diagonals::upper);
  const std::int32_t* upper = found + lower * kDiagonalSums;
  const auto* bytes_below = reinterpret_cast<const unsigned char*>(found);
  report(unit.name, std::equal(upper, const_cast<const std::int32_t*>(found) + kMostSums, expected + lower * kDiagonalSums), "upper, " + name);
  report(unit.name, std::all_of(bytes_below, reinterpret_cast<const unsigned char*>(upper), [](unsigned char x) { return x == kPoison; }), "below upper, " + name);
  run(unit, found, Diagonals::lower);
  report(unit.name, std::equal(expected, expected + kMostSums, found), "upper and lower, " + name);
}

// The plain loops against integers: the diagonals of one product each, and of many.
void check_plain_loops(int limbs) {
  std::vector<std::int8_t> a(static_cast<std::size_t>(limbs * kTileBytes)), b(a.size());
  std::int64_t left[16][64], right[16][64];
  const int bits = std::min(8 * limbs - 2, 29);
  for (std::int64_t line = 0; line < 16; ++line) {
    for (std::int64_t k = 0; k < 64; ++k) {
      left[line][k] = integer_below(bits), right[line][k] = integer_below(bits);
      std::int64_t of_left = left[line][k], of_right = right[line][k];
      for (int i = 0; i < limbs; ++i) {
        const auto low = static_cast<std::int8_t>(of_left & 0xFF), low_right = static_cast<std::int8_t>(of_right & 0xFF);
        a[static_cast<std::size_t>(i * kTileBytes + line * 64 + k)] = low;
        b[static_cast<std::size_t>(i * kTileBytes + k / 4 * 64 + 4 * line + k % 4)] = low_right;
        of_left = (of_left - low) / 256, of_right = (of_right - low_right) / 256;
      }
    }
  }
  alignas(64) static std::int32_t sums[kMostSums];
  portable_limbs.run({a.data(), b.data(), sums, 1, limbs, Diagonals::all});
  double top[256], middle[256], low[256];
  join_diagonals(sums, limbs, {top, middle, low, 16, 16});
  bool is_right = true;
  for (std::int64_t i = 0; i < 16; ++i) {
    for (std::int64_t j = 0; j < 16; ++j) {
      __extension__ __int128 sum = 0;
      for (std::int64_t k = 0; k < 64; ++k) sum += left[i][k] * right[j][k];
      const std::int64_t at = 16 * i + j;
      __extension__ const __int128 parts = static_cast<__int128>(top[at]) + static_cast<__int128>(middle[at]) + static_cast<__int128>(low[at]);
      is_right = is_right && parts == sum;
    }
  }
  report("products of integers", is_right, std::to_string(limbs) + " limbs");
}

// Sums of any size against their definition, in four digits of 2^32 and what is above.
void check_join(int limbs, std::int32_t most) {
  alignas(64) static std::int32_t sums[kMostSums];
  for (auto& x : sums) {
    // With nine limbs the uppermost diagonal has products of uppermost limbs alone.
    const std::int32_t own = &x - sums < 16 * kDiagonalSums ? most : std::min(most, static_cast<std::int32_t>(kMostLimbInner * 65 * 65));
    x = random_int(0, 4) == 0 ? (random_int(0, 1) == 0 ? own : -own) : random_int(-own, own);
  }
  std::vector<double> parts[3];
  const std::int64_t pitch = 37, rows = random_int(1, 16);
  for (auto& x : parts) x.assign(16 * pitch, -7.5);
  join_diagonals(sums, limbs, {parts[0].data(), parts[1].data(), parts[2].data(), pitch, rows});
  bool is_right = true;
  for (std::int64_t i = 0; i < 16; ++i) {
    for (std::int64_t j = 0; j < pitch; ++j) {
      const auto at = static_cast<std::size_t>(i * pitch + j);
      if (i >= rows || j >= 16) {
        is_right = is_right && parts[0][at] == -7.5 && parts[1][at] == -7.5 && parts[2][at] == -7.5;
        continue;
      }
      // Twelve diagonals lie within 2^(96 + 31); what is above 2^96 of all of them is exact in 64 bits.
      __extension__ __int128 lower = 0;
      std::int64_t upper = 0;
      for (int d = std::min(diagonals_of(limbs), 12) - 1; d >= 0; --d) lower = lower * 256 + sums[d * kDiagonalSums + 16 * i + j];
      for (int d = diagonals_of(limbs) - 1; d >= 12; --d) upper = upper * 256 + sums[d * kDiagonalSums + 16 * i + j];
      __extension__ const __int128 unit = static_cast<__int128>(1) << 96;
      __extension__ const __int128 low = ((lower % unit) + unit) % unit;
      upper += static_cast<std::int64_t>((lower - low) / unit);
      // The lowest byte above 2^96 is the middle part's.
      const std::int64_t byte = upper & 0xFF;
      is_right = is_right && parts[0][at] == static_cast<double>((upper - byte) / 256) * 0x1p104 &&
                 static_cast<__int128>(parts[1][at]) + static_cast<__int128>(parts[2][at]) == low + byte * unit &&
                 parts[2][at] < 0x1p52 && parts[2][at] >= 0 && std::fmod(parts[1][at], 0x1p52) == 0;
    }
  }
  report("joined", is_right, std::to_string(limbs) + " limbs, sums up to " + std::to_string(most));
}

// ---- results -----------------------------------------------------------------------------------------------------------------

using Sum = WideInt<6>;

Sum times_power_of_two(Sum x, int power) {
  for (int i = 0; i < power; ++i) x = wide_add(x, x);
  return x;
}

Sum integer_of_sums(const std::int32_t* sums, int limbs) {
  Sum x = wide_zero<6>();
  for (int d = diagonals_of(limbs) - 1; d >= 0; --d) {
    for (int i = 0; i < 8; ++i) x = wide_add(x, x);
    x = wide_add(x, wide_from<6>(sums[d * kDiagonalSums]));
  }
  return x;
}

// Puts an integer into the sums as its digits of eight bits, what is above the uppermost diagonal into that.
void put_digits(std::int64_t value, int lowest, int limbs, std::int32_t* sums) {
  const int last = diagonals_of(limbs) - 1;
  for (int d = lowest; d <= last && value != 0; ++d) {
    const std::int64_t digit = d == last ? value : ((value + 128) & 255) - 128;
    sums[d * kDiagonalSums] += static_cast<std::int32_t>(digit);
    value = (value - digit) / 256;
  }
}

// Sums of every length: zeros, all digits the largest, single bits, ties of two results or `beside` off a tie, any others.
void put_sums(int limbs, std::int64_t inner, std::int64_t beside, std::int32_t* sums) {
  const int diagonals = diagonals_of(limbs), kind = random_int(0, 5), kept = random_int(0, diagonals);
  for (int d = 0; d < diagonals; ++d) sums[d * kDiagonalSums] = 0;
  if (kind <= 1) {
    const auto most = static_cast<std::int32_t>(most_diagonal(limbs, inner));
    for (int d = 0; d < kept; ++d) {
      const std::int32_t own = d == diagonals - 1 ? static_cast<std::int32_t>(inner * 65 * 65) : most;
      sums[d * kDiagonalSums] = kind == 0 ? (random_int(0, 1) == 0 ? own : -own) : random_int(-own, own);
    }
    return;
  }
  const std::int64_t sign = random_int(0, 1) == 0 ? 1 : -1;
  // With many products so high that the integers have more than 128 bits.
  const int lowest = random_int(0, std::max(0, diagonals - (inner < 1000 ? 8 : 5)));
  if (kind == 2) {  // also where one word ends
    put_digits(sign * (std::int64_t(1) << random_int(0, 60)), lowest, limbs, sums);
    return put_digits(random_int(-1, 1) * beside, 0, limbs, sums);
  }
  if (kind == 3 && random_int(0, 3) == 0) return;
  // 53 bits, the one that ties below them, and perhaps something far below.
  const std::int64_t tie = (std::int64_t(1) << 53) + 2 * random_int(std::int64_t(0), (std::int64_t(1) << 52) - 1) + 1;
  put_digits(sign * tie, lowest, limbs, sums);
  if (kind == 5 && lowest > 0) put_digits(random_int(-1, 1), random_int(0, lowest - 1), limbs, sums);
  if (kind == 4) put_digits(random_int(-1, 1) * beside, 0, limbs, sums);
}

// Lines of which some entries are rounded, with the shifts of integers that some of are raised.
struct RoundedLines {
  std::vector<LineRecord> records;
  std::vector<int> raised;
  std::vector<double> numbers[5];

  RoundedLines(const std::vector<std::int32_t>& shifts, std::int64_t inner, int most_capacity, int least_capacity = 2) {
    for (const std::int32_t shift : shifts) {
      LineRecord own;
      own.capacity = random_int(least_capacity, most_capacity);
      own.nonzeros = random_int(0, 3) == 0 ? random_int(std::int64_t(0), inner) : inner;
      own.rounded = static_cast<std::uint64_t>(random_int(0, 3) == 0 ? 0 : random_int(std::int64_t(0), own.nonzeros));
      records.push_back(own);
      numbers[0].push_back(static_cast<double>(own.rounded));
      numbers[1].push_back(static_cast<double>(own.nonzeros));
      raised.push_back(random_int(0, 1) == 0 ? 0 : random_int(1, 7));
      numbers[2].push_back(std::ldexp(1.0, own.capacity - 1 - shift + raised.back()));
      numbers[3].push_back(std::ldexp(1.0, -shift + raised.back()));
      numbers[4].push_back(std::ldexp(1.0, -shift));
    }
  }

  // The error of the raised integer.
  Sum error(std::size_t row, const RoundedLines& columns, std::size_t column) const {
    return times_power_of_two(error_bound<6>(records[row], columns.records[column]), raised[row] + columns.raised[column]);
  }

  LineErrors errors() const { return {numbers[0].data(), numbers[1].data(), numbers[2].data(), numbers[3].data(), numbers[4].data()}; }
};

// Whether all numbers within `error` of x round to one.
bool round_alike(const Sum& x, const Sum& error, std::int32_t exponent) {
  const auto round = [&](const Sum& value) { return round_wide<double>(value, exponent, Rounding::nearest); };
  return float_bits(round(wide_sub(x, error))) == float_bits(round(wide_add(x, error)));
}

// The rounding test passes no result that is not certain. It passes all results that stay certain with errors larger by `factor`
// and an integer, unless the error is nearly a quarter of the result's last place or more.
bool is_tested_right(const Sum& x, const Sum& error, std::int32_t exponent, bool is_uncertain, double factor = 1 + 0x1p-16, double and_more = 0) {
  const double bound = round_scaled<double>(error, 0), size = std::fabs(round_scaled<double>(x, 0));
  if (!is_uncertain) return round_alike(x, error, exponent);
  const Sum more = scaled_wide<6>(std::ceil(bound * factor) + std::ceil(size * 0x1p-91) + and_more, 0);
  return bound * factor + and_more >= size * 0x1p-56 || !round_alike(x, more, exponent);
}

std::int64_t certain = 0, uncertain = 0, decided = 0, undecided = 0;

// Memory around the tile stays as it was, and so do sums without a result.
void check_round(int limbs, std::int64_t inner, std::int32_t least, std::int32_t most, bool is_turned) {
  alignas(64) static std::int32_t sums[kMostSums];
  std::fill_n(sums, kMostSums, std::int32_t(1) << 29);
  const std::int64_t rows = random_int(0, 2) == 0 ? random_int(1, 16) : 16, columns = random_int(0, 2) == 0 ? random_int(1, 16) : 16;
  std::vector<std::int32_t> row_shift(static_cast<std::size_t>(rows)), column_shift(static_cast<std::size_t>(columns));
  const std::int32_t middle = -(least + most) / 2, half = (most - least) / 4;
  for (auto& x : row_shift) x = random_int(0, 1) == 0 ? random_int(-half, half) : random_int(0, 1) == 0 ? half : -half;
  for (auto& x : column_shift) x = middle + (random_int(0, 1) == 0 ? random_int(-half, half) : random_int(0, 1) == 0 ? half : -half);
  constexpr std::int64_t pitch = 19;
  std::vector<double> found(pitch * pitch);
  std::memset(found.data(), kPoison, found.size() * sizeof(double));
  std::vector<double> expected = found;
  const std::int64_t row_step = is_turned ? 1 : pitch, column_step = is_turned ? pitch : 1;
  const int most_capacity = random_int(0, 3) == 0 ? random_int(2, 70) : random_int(2, 12);
  const RoundedLines of_rows(row_shift, inner, most_capacity), of_columns(column_shift, inner, most_capacity);
  const auto error_of = [&](std::int64_t i, std::int64_t j) {
    const Sum error = of_rows.error(static_cast<std::size_t>(i), of_columns, static_cast<std::size_t>(j));
    return round_scaled<double>(error, 0);
  };
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const double error = std::min(error_of(i, j), 0x1p60);
      put_sums(limbs, inner, random_int(0, 1) == 0 ? 1 : static_cast<std::int64_t>(error) + random_int(-2, 2), sums + 16 * i + j);
      const std::int32_t exponent = -(row_shift[static_cast<std::size_t>(i)] + column_shift[static_cast<std::size_t>(j)]);
      expected[static_cast<std::size_t>(i * row_step + j * column_step)] =
          round_scaled<double>(integer_of_sums(sums + 16 * i + j, limbs), exponent);
    }
  }
  const ResultView result{reinterpret_cast<char*>(found.data()), ElementType::float64, rows, columns, 8 * row_step, 8 * column_step};
  const RoundedTile tile{row_shift.data(), column_shift.data(), result};
  round_diagonals({sums, limbs, inner, Diagonals::all}, tile);
  const std::string name = std::to_string(limbs) + " limbs, K = " + std::to_string(inner) + ", exponents from " +
                           std::to_string(least) + " to " + std::to_string(most);
  report("rounded", std::memcmp(found.data(), expected.data(), found.size() * sizeof(double)) == 0, name);
  std::memset(found.data(), kPoison, found.size() * sizeof(double));
  CertainEntries tested;
  round_diagonals_certain({sums, limbs, inner, Diagonals::all}, tile, of_rows.errors(), of_columns.errors(), tested);
  report("rounded with a test", std::memcmp(found.data(), expected.data(), found.size() * sizeof(double)) == 0, name);
  bool is_right = true;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto row = static_cast<std::size_t>(i), column = static_cast<std::size_t>(j);
      const bool is_exact = (tested.exact[i] >> j & 1) != 0, is_uncertain = (tested.uncertain[i] >> j & 1) != 0;
      certain += !is_exact && !is_uncertain, uncertain += is_uncertain;
      const Sum error = of_rows.error(row, of_columns, column);
      is_right = is_right && is_exact == (error_of(i, j) == 0.0) && !(is_exact && is_uncertain) &&
                 is_tested_right(integer_of_sums(sums + 16 * i + j, limbs), error, -(row_shift[row] + column_shift[column]),
                                 is_uncertain);
    }
    is_right = is_right && tested.uncertain[i] >> columns == 0;
  }
  report("tested", is_right, name);
}

// Results of the upper diagonals, one by one and all of a tile: the lower ones are the most that they can be.
void check_upper(int limbs, std::int64_t inner) {
  alignas(64) static std::int32_t sums[kMostSums];
  std::fill_n(sums, kMostSums, std::int32_t(1) << 29);
  const int lower = lower_diagonals(limbs), least = -200, most = 200;
  std::int32_t row_shift[16], column_shift[16];
  for (auto& x : row_shift) x = random_int(least / 2, most / 2);
  for (auto& x : column_shift) x = random_int(least / 2, most / 2);
  // Errors of any size, or larger than what the lower diagonals come to.
  const int least_capacity = random_int(0, 1) == 0 ? 2 : 62, most_capacity = random_int(least_capacity, 70);
  const RoundedLines of_rows({row_shift, row_shift + 16}, inner, most_capacity, least_capacity);
  const RoundedLines of_columns({column_shift, column_shift + 16}, inner, most_capacity, least_capacity);
  const Sum dropped = times_power_of_two(wide_from<6>(most_of_lower(limbs, inner)), 8 * lower);
  const bool is_any = random_int(0, 1) == 0;  // or numbers as products have them
  bool is_right = true, are_certain = true, is_whole_right = true;
  double found[16][16], whole[16][16];
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      std::int32_t* own = sums + 16 * i + j;
      if (is_any) {
        // Halfway, but for something of the size of what is left out.
        put_sums(limbs, inner, 1, own);
        const auto largest = static_cast<std::int32_t>(most_diagonal(limbs, inner));
        std::int32_t& least_one = own[lower * kDiagonalSums];
        least_one = std::clamp(least_one + random_int(-2, 2) * static_cast<std::int32_t>(most_of_lower(limbs, inner)), -largest, largest);
      } else {
        const auto size = static_cast<std::int32_t>(1 + 2000 * std::sqrt(static_cast<double>(inner)));
        for (int d = lower; d < diagonals_of(limbs); ++d) own[d * kDiagonalSums] = random_int(-size, size);
      }
      for (int d = 0; d < lower; ++d) own[d * kDiagonalSums] = static_cast<std::int32_t>(inner * (d + 1) << 14) * (random_int(0, 1) == 0 ? 1 : -1);
      alignas(64) static std::int32_t upper[kMostSums];
      for (int d = 0; d < diagonals_of(limbs); ++d) upper[d * kDiagonalSums] = d < lower ? 0 : own[d * kDiagonalSums];
      const Sum x = integer_of_sums(upper, limbs), below = wide_sub(integer_of_sums(own, limbs), x);
      is_right = is_right && wide_is_negative(wide_sub(below, dropped)) && !wide_is_negative(wide_add(below, dropped));
      const std::int32_t exponent = -(row_shift[i] + column_shift[j]);
      const RoundedTile one{row_shift + i, column_shift + j, {reinterpret_cast<char*>(&found[i][j]), ElementType::float64, 1, 1, 8, 8}};
      const TileSums only{upper, limbs, inner, Diagonals::upper};
      const bool is_certain = round_diagonals(only, one);
      ++(is_certain ? certain : uncertain);
      are_certain = are_certain && is_certain;
      const double more = std::ldexp(4096.0, 8 * lower);
      is_right = is_right && is_tested_right(x, dropped, exponent, !is_certain, 2.0, more);
      is_right = is_right && (!is_certain || found[i][j] == round_scaled<double>(integer_of_sums(own, limbs), exponent));
      CertainEntries tested;
      const LineErrors row = of_rows.errors(), column = of_columns.errors();
      const auto from = [](const LineErrors& lines, int at) {
        return LineErrors{lines.rounded + at, lines.nonzeros + at, lines.half + at, lines.power + at, lines.raised_power + at};
      };
      round_diagonals_certain(only, one, from(row, i), from(column, j), tested);
      const Sum error = of_rows.error(static_cast<std::size_t>(i), of_columns, static_cast<std::size_t>(j));
      is_right = is_right && ((tested.exact[0] & 1) != 0) == (round_scaled<double>(error, 0) == 0.0) &&
                 is_tested_right(x, wide_add(error, dropped), exponent, tested.uncertain[0] == 1);
      // Decided entries are so for all lower diagonals. The others are so at most for some values up to twice as large.
      if (tested.uncertain[0] == 1 && tested.undecided[0] == 0) {
        ++decided;
        is_right = is_right && !round_alike(wide_sub(x, dropped), error, exponent) && !round_alike(x, error, exponent) &&
                   !round_alike(wide_add(x, dropped), error, exponent);
      }
      is_right = is_right && (tested.undecided[0] & ~tested.uncertain[0]) == 0;
      undecided += tested.undecided[0];
    }
  }
  const ResultView result{reinterpret_cast<char*>(whole), ElementType::float64, 16, 16, sizeof whole[0], 8};
  const RoundedTile tile{row_shift, column_shift, result};
  is_whole_right = round_diagonals({sums, limbs, inner, Diagonals::upper}, tile) == are_certain && std::memcmp(found, whole, sizeof found) == 0;
  const std::string name = std::to_string(limbs) + " limbs, K = " + std::to_string(inner) + (is_any ? ", any" : ", as products");
  report("upper diagonals", is_right, name);
  report("upper diagonals of a tile", is_whole_right, name);
}

void check_rounding(int limbs) {
  if (!can_round_diagonals()) return;
  for (const std::int64_t inner : {1, 63, 64, 72, 73, 84, 85, 169, 170, 1000, 4096}) {
    for (int i = 0; i < 8 && lower_diagonals(limbs) > 0; ++i) check_upper(limbs, inner);
  }
  if (lower_diagonals(limbs) > 0) {
    report("upper diagonals say both", certain > 3000 && uncertain > 3000, std::to_string(certain) + " and " + std::to_string(uncertain));
    report("and decide", decided > 200 && undecided > 1000, std::to_string(decided) + " and " + std::to_string(undecided));
    decided = undecided = 0;
  }
  certain = uncertain = 0;
  for (const std::int64_t inner : {1, 63, 64, 72, 73, 84, 85, 169, 170, 1000, 4096}) {
    for (int i = 0; i < 60; ++i) {
      check_round(limbs, inner, -200, 200, i % 4 == 0);
      check_round(limbs, inner, kLeastLimbExponent, kMostLimbExponent, i % 4 == 0);
    }
  }
  // With four limbs few integers exceed their error by more than 55 bits.
  report("tests say both", certain > (limbs > 4 ? 10000 : 100) && uncertain > 10000, std::to_string(certain) + " and " + std::to_string(uncertain));
  certain = uncertain = 0;
}

// One integer by itself, against its definition.
void check_one(int limbs) {
  alignas(64) static std::int32_t sums[kMostSums];
  for (int i = 0; i < 300; ++i) {
    put_sums(limbs, random_int(1, 4096), 1, sums);
    const Sum x = integer_of_sums(sums, limbs), found = join_diagonals(sums, limbs, 0);
    report("one integer", std::equal(x.word, x.word + 6, found.word), std::to_string(limbs) + " limbs");
    // One that was raised.
    const int raised = random_int(1, std::min(2 * kMostRaised, 8 * (diagonals_of(limbs) - 5)));
    const std::int64_t value = integer_below(30);
    for (int d = 0; d < diagonals_of(limbs); ++d) sums[d * kDiagonalSums] = 0;
    put_digits(value * (std::int64_t(1) << raised % 24), raised / 24 * 3, limbs, sums);
    const Sum lowered = join_diagonals(sums, limbs, raised), expected = wide_from<6>(value);
    report("one raised integer", std::equal(lowered.word, lowered.word + 6, expected.word), std::to_string(limbs) + " limbs by " + std::to_string(raised));
  }
}

}  // namespace

int main() {
  for (const int limbs : kCounts) {
    for (const std::int64_t lines : {1, 7, 8, 9, 16}) {
      for (const std::int64_t inner : {1, 3, 8, 63, 64, 65, 200}) {
        for (const int raised : {0, random_int(1, 7), std::min(8 * limbs - 24, kMostRaised)}) {
          check_encode({true, lines, inner, limbs, raised});
          check_encode({false, lines, inner, limbs, raised});
        }
      }
    }
    for (const std::int64_t tiles : {1, 2, 3, 5}) {
      for (const Bytes bytes : {Bytes::random, Bytes::least, Bytes::largest}) {
        check_diagonals(model, limbs, tiles, bytes);
        if (amx_limbs.is_here()) check_diagonals(amx_limbs, limbs, tiles, bytes);
      }
    }
    check_plain_loops(limbs);
    for (const std::int32_t most : {1, 1000, 1 << 20, 1 << 29}) {
      for (int i = 0; i < 20; ++i) check_join(limbs, most);
    }
    check_one(limbs);
    check_rounding(limbs);
  }
  return finish();
}
