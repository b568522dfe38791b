#include "cpu/scale/facts.hpp"

#include <cmath>

#include "arith/scale_entry.hpp"
#include "cpu/runtime/avx512.hpp"
#include "cpu/runtime/vectorise.hpp"
#include "cpu/runtime/vectors.hpp"

#define OZFP4_TARGET OZFP4_AVX512

namespace ozfp4 {
namespace {

constexpr std::int64_t kFractionBits = 52;
constexpr std::uint64_t kFraction = (std::uint64_t(1) << kFractionBits) - 1, kMagnitude = ~std::uint64_t(0) >> 1;

// The weights of the lowest bits that are set, as numbers: of the last one of the fraction, or the leading one. Precondition: the
// magnitude bits of normal numbers; of others something below 2^kLeastPlainWeight.
inline void least_bits(const Words& magnitude, Numbers& weight) {
  const Words fraction = magnitude & kFraction, last = fraction & (0 - fraction), power_bits = magnitude ^ fraction;
  const Words sum_bits = power_bits | last;
  Numbers power, sum;
  take_bits(power_bits, power);
  take_bits(sum_bits, sum);
  weight = last == 0 ? power : sum - power;
}

// The largest entries of kEntryLanes lanes, with facts from lane `to` on.
OZFP4_VECTORISED void find_largest(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts, std::int64_t to) {
  Counts largest = {};  // signed: below AVX-512 vectors compare no others
  for (std::int64_t i = 0; i < count; ++i, x += step) {
    Counts bits;
    load_lanes(x, bits);
    const Counts magnitude = bits & static_cast<std::int64_t>(kMagnitude);
    largest = magnitude > largest ? magnitude : largest;
  }
  store_lanes(largest, facts.largest + to);
}

OZFP4_VECTORISED void find_facts(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts, std::int64_t to) {
  const Numbers none = std::numeric_limits<double>::infinity() - Numbers{};
  Words largest = {}, fields = {};
  Counts nonzeros = {};
  Numbers least = none;
  for (std::int64_t i = 0; i < count; ++i, x += step) {
    Words bits;
    load_lanes(x, bits);
    const Words magnitude = bits & kMagnitude;
    Numbers weight;
    least_bits(magnitude, weight);
    weight = magnitude == 0 ? none : weight;
    largest = magnitude > largest ? magnitude : largest;
    least = weight < least ? weight : least;
    nonzeros -= magnitude != 0;  // a comparison gives -1
    fields += magnitude >> kFractionBits;
  }
  store_lanes(largest, facts.largest + to);
  store_lanes(nonzeros, facts.nonzeros + to);
  store_lanes(fields, facts.fields + to);
  store_lanes(least, facts.least + to);
}

#if OZFP4_HAS_AVX512
static_assert(sizeof(LaneFacts::largest) == sizeof(__m512i));

OZFP4_INLINE __m512i magnitude_at(const double* x) {
  return _mm512_and_si512(_mm512_loadu_si512(x), _mm512_set1_epi64(INT64_MAX));
}

// Each half of the magnitudes by itself, which Intel's vectors compare in half of the time: see LaneFacts.
OZFP4_TARGET void find_largest_at_once(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts) {
  __m512i largest = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < count; ++i, x += step) largest = _mm512_max_epu32(largest, magnitude_at(x));
  _mm512_storeu_si512(facts.largest, largest);
}

// For entries all of which have a fraction, or nearly all: without its last bit an entry is less by the weight of that. False
// where one may have none, a power of two or 0 among them.
OZFP4_TARGET bool find_facts_at_once(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts) {
  __m512i largest = _mm512_setzero_si512(), fields = largest;
  __m512d least = _mm512_set1_pd(__builtin_inf());
  __mmask8 has_all = 0xFF;  // the lanes with a fraction in all of their entries
  for (std::int64_t i = 0; i < count; ++i, x += step) {
    const __m512i magnitude = magnitude_at(x);
    const __m512i rest = _mm512_and_si512(magnitude, _mm512_add_epi64(magnitude, _mm512_set1_epi64(-1)));
    const __m512d weight = _mm512_sub_pd(_mm512_castsi512_pd(magnitude), _mm512_castsi512_pd(rest));
    has_all = _mm512_mask_test_epi64_mask(has_all, magnitude, _mm512_set1_epi64(kFraction));
    largest = _mm512_max_epu32(largest, magnitude);
    fields = _mm512_add_epi64(fields, _mm512_srli_epi64(magnitude, kFractionBits));
    least = _mm512_min_pd(weight, least);
  }
  if (has_all != 0xFF) return false;
  _mm512_storeu_si512(facts.largest, largest);
  _mm512_storeu_si512(facts.fields, fields);
  _mm512_storeu_pd(facts.least, least);
  _mm512_storeu_si512(facts.nonzeros, _mm512_set1_epi64(count));
  return true;
}
#endif

}  // namespace

void find_lanes(const double* x, std::int64_t step, std::int64_t count, bool has_facts, LaneFacts& facts) {
#if OZFP4_HAS_AVX512
  if (has_avx512()) {
    if (!has_facts) return find_largest_at_once(x, step, count, facts);
    if (find_facts_at_once(x, step, count, facts)) return;
  }
#endif
  const auto find = has_facts ? find_facts : find_largest;
  for (std::int64_t first = 0; first < kFactLanes; first += kEntryLanes) find(x + first, step, count, facts, first);
}

void find_line(const double* x, std::int64_t n, bool has_facts, LaneFacts& facts) {
  const std::int64_t whole = n / kFactLanes * kFactLanes;
  find_lanes(x, kFactLanes, n / kFactLanes, has_facts, facts);
  if (whole == n) return;
  double rest[kFactLanes] = {};
  std::copy(x + whole, x + n, rest);
  LaneFacts others;
  find_lanes(rest, kFactLanes, 1, has_facts, others);
  for (std::int64_t l = 0; l < kFactLanes; ++l) {
    facts.largest[l] = std::max(facts.largest[l], others.largest[l]);
    if (!has_facts) continue;
    facts.nonzeros[l] += others.nonzeros[l];
    facts.fields[l] += others.fields[l];
    facts.least[l] = std::min(facts.least[l], others.least[l]);
  }
}

void add_entries(PieceFacts& line, const double* x, std::int64_t n, bool has_facts) {
  LaneFacts lanes;
  find_line(x, n, has_facts, lanes);
  LineFacts found;
  if (take_lanes(lanes, 0, kFactLanes, has_facts, found)) {
    line.facts = combine(line.facts, found);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) add_entry(line, x[i]);
}

// As scaled_integer_by_multiplication, a product is exact, or so small that it is no integer, or 0 though the entry is not.
OZFP4_VECTORISED std::int64_t count_rounded(const double* x, std::int64_t n, int shift) {
  const ShiftHalves halves = halves_of(shift);
  const double first = exact_power_of_two<double>(halves.first), second = exact_power_of_two<double>(halves.second);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double entry = magnitude_bits(x[i]) < kInfinityBits<double> ? x[i] : 0.0;
    const double scaled = entry * first * second;
    count += static_cast<std::int64_t>(std::nearbyint(scaled) != scaled) |
             (static_cast<std::int64_t>(scaled == 0.0) & static_cast<std::int64_t>(entry != 0.0));
  }
  return count;
}

}  // namespace ozfp4
