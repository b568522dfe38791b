// Facts of eight lanes of entries beside each other, at once where the CPU has AVX-512 and else as twice four.
#include <algorithm>

#include "cpu/runtime/avx512.hpp"
#include "cpu/words/entries.hpp"

#define OZFP4_TARGET OZFP4_AVX512

namespace ozfp4 {
namespace {

#if OZFP4_HAS_AVX512
static_assert(sizeof(LaneFacts::largest) == sizeof(__m512i));

constexpr std::int64_t kFractionBits = 52;

OZFP4_INLINE __m512i magnitude_at(const double* x) {
  return _mm512_and_si512(_mm512_loadu_si512(x), _mm512_set1_epi64(INT64_MAX));
}

// Each half of the magnitudes by itself, which Intel's vectors compare in half of the time: see LaneFacts.
OZFP4_TARGET void find_largest_in_eight(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts) {
  __m512i largest = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < count; ++i, x += step) largest = _mm512_max_epu32(largest, magnitude_at(x));
  _mm512_storeu_si512(facts.largest, largest);
}

// For entries all of which have a fraction, or nearly all: without its last bit an entry is less by the weight of that. False
// where one may have none, a power of two or 0 among them.
OZFP4_TARGET bool find_facts_in_eight(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts) {
  __m512i largest = _mm512_setzero_si512(), fields = largest;
  __m512d least = _mm512_set1_pd(__builtin_inf());
  __mmask8 has_all = 0xFF;  // the lanes all of whose entries have a fraction
  for (std::int64_t i = 0; i < count; ++i, x += step) {
    const __m512i magnitude = magnitude_at(x);
    const __m512i rest = _mm512_and_si512(magnitude, _mm512_add_epi64(magnitude, _mm512_set1_epi64(-1)));
    const __m512d weight = _mm512_sub_pd(_mm512_castsi512_pd(magnitude), _mm512_castsi512_pd(rest));
    has_all = _mm512_mask_test_epi64_mask(has_all, magnitude, _mm512_set1_epi64((std::int64_t(1) << kFractionBits) - 1));
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

void find_in_eight(const double* x, std::int64_t step, std::int64_t count, bool has_facts, LaneFacts& facts) {
#if OZFP4_HAS_AVX512
  if (has_avx512()) {
    if (!has_facts) return find_largest_in_eight(x, step, count, facts);
    if (find_facts_in_eight(x, step, count, facts)) return;
  }
#endif
  const auto find = has_facts ? find_facts : find_largest;
  for (std::int64_t first = 0; first < kEightLanes; first += kEntryLanes) find(x + first, step, count, facts, first);
}

void join(LaneFacts& facts, const LaneFacts& others, bool has_facts) {
  for (std::int64_t l = 0; l < kEightLanes; ++l) {
    facts.largest[l] = std::max(facts.largest[l], others.largest[l]);
    if (!has_facts) continue;
    facts.nonzeros[l] += others.nonzeros[l];
    facts.fields[l] += others.fields[l];
    facts.least[l] = std::min(facts.least[l], others.least[l]);
  }
}

}  // namespace ozfp4
