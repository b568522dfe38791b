#include "cpu/words/tile.hpp"

#include <algorithm>

#include "cpu/runtime/vectorise.hpp"
#include "cpu/words/shape.hpp"

namespace ozfp4 {
namespace {

// A function per type, because GCC clones functions but not templates. The sums are an array of one dimension, which GCC keeps in
// registers.
template <class Word>
inline void tile_impl(const Word* a, std::int64_t a_pitch, const Word* b, std::int64_t k, Word* sums, std::int64_t pitch) {
  Word sum[kWordRows * kWordColumns] = {};
  for (std::int64_t p = 0; p < k; ++p, ++a, b += kWordColumns) {
    for (std::int64_t i = 0; i < kWordRows; ++i) {
      for (std::int64_t j = 0; j < kWordColumns; ++j) sum[i * kWordColumns + j] += a[i * a_pitch] * b[j];
    }
  }
  for (std::int64_t i = 0; i < kWordRows; ++i) std::copy_n(sum + i * kWordColumns, kWordColumns, sums + i * pitch);
}

}  // namespace

OZFP4_VECTORISED void sum_words(const std::uint64_t* a, std::int64_t a_pitch, const std::uint64_t* b, std::int64_t k,
                                std::uint64_t* sums, std::int64_t pitch) {
  tile_impl(a, a_pitch, b, k, sums, pitch);
}
OZFP4_VECTORISED void sum_numbers(const double* a, std::int64_t a_pitch, const double* b, std::int64_t k, double* sums,
                                  std::int64_t pitch) {
  tile_impl(a, a_pitch, b, k, sums, pitch);
}

}  // namespace ozfp4
