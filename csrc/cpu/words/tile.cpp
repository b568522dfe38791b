#include "cpu/words/tile.hpp"

#include <algorithm>

#include "cpu/runtime/vectorise.hpp"
#include "cpu/words/shape.hpp"

namespace ozfp4 {
namespace {

// A function per type, because GCC clones functions but not templates. The sums are an array of one dimension, which GCC keeps in
// registers.
template <class Word>
inline void add_products(const Word* a, std::int64_t a_pitch, const Word* b, std::int64_t k, Word* sum) {
  for (std::int64_t p = 0; p < k; ++p, ++a, b += kWordColumns) {
    for (std::int64_t i = 0; i < kWordRows; ++i) {
      for (std::int64_t j = 0; j < kWordColumns; ++j) sum[i * kWordColumns + j] += a[i * a_pitch] * b[j];
    }
  }
}

template <class Word>
inline void store_tile(const Word* sum, Word* sums, std::int64_t pitch) {
  for (std::int64_t i = 0; i < kWordRows; ++i) std::copy_n(sum + i * kWordColumns, kWordColumns, sums + i * pitch);
}

template <class Word>
inline void tile_impl(const Word* a, std::int64_t a_pitch, const Word* b, std::int64_t k, Word* sums, std::int64_t pitch) {
  Word sum[kWordRows * kWordColumns] = {};
  add_products(a, a_pitch, b, k, sum);
  store_tile(sum, sums, pitch);
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
OZFP4_VECTORISED void sum_numbers_in_blocks(const double* a, std::int64_t a_pitch, const double* b, std::int64_t k, double* sums,
                                            std::int64_t pitch) {
  double total[kWordRows * kWordColumns] = {};
  for (std::int64_t first = 0; first < k; first += kNearBlock) {
    double sum[kWordRows * kWordColumns] = {};
    add_products(a + first, a_pitch, b + first * kWordColumns, std::min(kNearBlock, k - first), sum);
    for (std::int64_t i = 0; i < kWordRows * kWordColumns; ++i) total[i] += sum[i];
  }
  store_tile(total, sums, pitch);
}

}  // namespace ozfp4
