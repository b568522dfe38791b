// Two entries of a lane have sums of their own, as each waits for the one before: the least weight takes four cycles an entry.
#include "cpu/words/lines/eight_lanes.hpp"

#include <algorithm>

#include "cpu/runtime/avx512.hpp"

#define OZFP4_TARGET OZFP4_AVX512

namespace ozfp4 {
namespace {

#if OZFP4_HAS_AVX512
static_assert(kEightLanes == 8 && sizeof(LaneFacts::largest) == sizeof(__m256i));

constexpr std::int64_t kFractionBits = 52;

OZFP4_INLINE __m512i magnitude_at(const double* x) {
  return _mm512_and_si512(_mm512_loadu_si512(x), _mm512_set1_epi64(INT64_MAX));
}

OZFP4_INLINE __m256i lower(__m512i all) { return _mm512_castsi512_si256(all); }
OZFP4_INLINE __m256i upper(__m512i all) { return _mm512_extracti64x4_epi64(all, 1); }

template <class T>
OZFP4_INLINE void store(__m256i lanes, T (&to)[kEntryLanes]) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), lanes);
}

// Of magnitudes either half by itself, which Intel's vectors compare in half of the time: see LaneFacts.
OZFP4_INLINE __m512i largest_in_eight(const double* x, std::int64_t step, std::int64_t count) {
  __m512i even = _mm512_setzero_si512(), odd = even;
  for (std::int64_t i = 0; i + 1 < count; i += 2, x += 2 * step) {
    even = _mm512_max_epu32(even, magnitude_at(x));
    odd = _mm512_max_epu32(odd, magnitude_at(x + step));
  }
  if (count % 2 != 0) even = _mm512_max_epu32(even, magnitude_at(x));
  return _mm512_max_epu32(even, odd);
}

OZFP4_TARGET void find_largest_in_eight(const double* x, std::int64_t step, std::int64_t count, LaneFacts (&facts)[2]) {
  const __m512i largest = largest_in_eight(x, step, count);
  store(lower(largest), facts[0].largest);
  store(upper(largest), facts[1].largest);
}

OZFP4_TARGET void find_largest_in_row(const double* x, std::int64_t count, LaneFacts& facts) {
  const __m512i largest = largest_in_eight(x, kEightLanes, count);
  store(_mm256_max_epu32(lower(largest), upper(largest)), facts.largest);
}

// What is found of some entries of each lane, all of which have a fraction, or nearly all: without its last bit an entry is less
// by the weight of that.
struct OfFractions {
  __m512i largest, fields;
  __m512d least;
  __mmask8 has_all;  // the lanes all of whose entries have a fraction: no power of two is among them, and no 0

  OZFP4_INLINE void begin() {
    largest = fields = _mm512_setzero_si512();
    least = _mm512_set1_pd(__builtin_inf());
    has_all = 0xFF;
  }
  OZFP4_INLINE void add(const double* x) {
    const __m512i magnitude = magnitude_at(x);
    const __m512i rest = _mm512_and_si512(magnitude, _mm512_add_epi64(magnitude, _mm512_set1_epi64(-1)));
    const __m512d weight = _mm512_sub_pd(_mm512_castsi512_pd(magnitude), _mm512_castsi512_pd(rest));
    has_all = _mm512_mask_test_epi64_mask(has_all, magnitude, _mm512_set1_epi64((std::int64_t(1) << kFractionBits) - 1));
    largest = _mm512_max_epu32(largest, magnitude);
    fields = _mm512_add_epi64(fields, _mm512_srli_epi64(magnitude, kFractionBits));
    least = _mm512_min_pd(weight, least);
  }
  OZFP4_INLINE void join(const OfFractions& others) {
    largest = _mm512_max_epu32(largest, others.largest);
    fields = _mm512_add_epi64(fields, others.fields);
    least = _mm512_min_pd(least, others.least);
    has_all &= others.has_all;
  }
};

OZFP4_INLINE OfFractions facts_in_eight(const double* x, std::int64_t step, std::int64_t count) {
  OfFractions even, odd;
  even.begin();
  odd.begin();
  for (std::int64_t i = 0; i + 1 < count; i += 2, x += 2 * step) {
    even.add(x);
    odd.add(x + step);
  }
  if (count % 2 != 0) even.add(x);
  even.join(odd);
  return even;
}

// False where the facts are to be found otherwise.
OZFP4_TARGET bool find_facts_in_eight(const double* x, std::int64_t step, std::int64_t count, LaneFacts (&facts)[2]) {
  const OfFractions found = facts_in_eight(x, step, count);
  if (found.has_all != 0xFF) return false;
  const __m512i least = _mm512_castpd_si512(found.least);
  store(lower(found.largest), facts[0].largest), store(upper(found.largest), facts[1].largest);
  store(lower(found.fields), facts[0].fields), store(upper(found.fields), facts[1].fields);
  store(lower(least), facts[0].least), store(upper(least), facts[1].least);
  for (LaneFacts& own : facts) store(_mm256_set1_epi64x(count), own.nonzeros);
  return true;
}

OZFP4_TARGET bool find_facts_in_row(const double* x, std::int64_t count, LaneFacts& facts) {
  const OfFractions found = facts_in_eight(x, kEightLanes, count);
  if (found.has_all != 0xFF) return false;
  store(_mm256_max_epu32(lower(found.largest), upper(found.largest)), facts.largest);
  store(_mm256_add_epi64(lower(found.fields), upper(found.fields)), facts.fields);
  const __m256d least = _mm256_min_pd(_mm512_castpd512_pd256(found.least), _mm512_extractf64x4_pd(found.least, 1));
  store(_mm256_castpd_si256(least), facts.least);
  store(_mm256_set1_epi64x(2 * count), facts.nonzeros);
  return true;
}
#endif

}  // namespace

void find_in_eight(const double* x, std::int64_t step, std::int64_t count, bool has_facts, LaneFacts (&facts)[2]) {
#if OZFP4_HAS_AVX512
  if (has_avx512()) {
    if (!has_facts) return find_largest_in_eight(x, step, count, facts);
    if (find_facts_in_eight(x, step, count, facts)) return;
  }
#endif
  const auto find = has_facts ? find_facts : find_largest;
  find(x, step, count, facts[0]);
  find(x + kEntryLanes, step, count, facts[1]);
}

void find_in_row(const double* x, std::int64_t count, bool has_facts, LaneFacts& facts) {
#if OZFP4_HAS_AVX512
  if (has_avx512()) {
    if (!has_facts) return find_largest_in_row(x, count, facts);
    if (find_facts_in_row(x, count, facts)) return;
  }
#endif
  const auto find = has_facts ? find_facts : find_largest;
  find(x, kEntryLanes, 2 * count, facts);
}

void join(LaneFacts& facts, const LaneFacts& others, bool has_facts) {
  for (std::int64_t l = 0; l < kEntryLanes; ++l) {
    facts.largest[l] = std::max(facts.largest[l], others.largest[l]);
    if (!has_facts) continue;
    facts.nonzeros[l] += others.nonzeros[l];
    facts.fields[l] += others.fields[l];
    facts.least[l] = std::min(facts.least[l], others.least[l]);
  }
}

}  // namespace ozfp4
