#include "cpu/crt/lane_words.hpp"

#include "arith/wide/crt.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <int Words>
inline void find_words_impl(const Columns<Words>& column, int n, const CrtProduct<Words>& product, LaneWords<Words>& lanes) {
  for (int i = 0; i < n; ++i) {
    std::uint64_t own[Words];
    for (int k = 0; k < Words; ++k) own[k] = column[k][i];
    bool is_uncertain = false;
    const WideInt<Words> x = crt_without_correction(own, product, is_uncertain);
    for (int k = 0; k < Words; ++k) lanes.word[k][i] = x.word[k];
    lanes.refused[i] = static_cast<std::int64_t>(is_uncertain);
  }
}

}  // namespace

#define OZFP4_FIND_WORDS(Words)                                                                           \
  OZFP4_VECTORISED void find_words(const Columns<Words>& column, int n, const CrtProduct<Words>& product, \
                                   LaneWords<Words>& lanes) {                                             \
    find_words_impl(column, n, product, lanes);                                                           \
  }
OZFP4_WORD_COUNTS(OZFP4_FIND_WORDS)
#undef OZFP4_FIND_WORDS

}  // namespace ozfp4
