#include "cpu/direct/tile.hpp"

#include <algorithm>

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// A function per width, because GCC clones functions but not templates. The sums are an array of one dimension, which GCC keeps
// in registers.
template <class Word>
inline void tile_impl(const Word* a, const Word* b, std::int64_t k, Word* sums) {
  Word sum[kDirectRows * kDirectColumns] = {};
  for (std::int64_t p = 0; p < k; ++p, a += kDirectRows, b += kDirectColumns) {
    for (std::int64_t i = 0; i < kDirectRows; ++i) {
      for (std::int64_t j = 0; j < kDirectColumns; ++j) sum[i * kDirectColumns + j] += a[i] * b[j];
    }
  }
  std::copy_n(sum, kDirectRows * kDirectColumns, sums);
}

}  // namespace

OZFP4_VECTORISED void multiply_tile(const std::uint32_t* a, const std::uint32_t* b, std::int64_t k, std::uint32_t* sums) {
  tile_impl(a, b, k, sums);
}
OZFP4_VECTORISED void multiply_tile(const std::uint64_t* a, const std::uint64_t* b, std::int64_t k, std::uint64_t* sums) {
  tile_impl(a, b, k, sums);
}

}  // namespace ozfp4
