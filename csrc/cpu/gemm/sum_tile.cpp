#include "cpu/gemm/sum_tile.hpp"

#include <algorithm>

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// A function per type, because GCC clones functions but not templates. The sums are an array of one dimension, which GCC keeps in
// registers.
template <class T>
inline void tile_impl(const T* a, std::int64_t a_pitch, const T* b, std::int64_t k, T* sums, std::int64_t pitch) {
  T sum[kSumRows * kSumColumns] = {};
  for (std::int64_t p = 0; p < k; ++p, ++a, b += kSumColumns) {
    for (std::int64_t i = 0; i < kSumRows; ++i) {
      for (std::int64_t j = 0; j < kSumColumns; ++j) sum[i * kSumColumns + j] += a[i * a_pitch] * b[j];
    }
  }
  for (std::int64_t i = 0; i < kSumRows; ++i) std::copy_n(sum + i * kSumColumns, kSumColumns, sums + i * pitch);
}

}  // namespace

OZFP4_VECTORISED void sum_products(const std::uint32_t* a, std::int64_t a_pitch, const std::uint32_t* b, std::int64_t k,
                                   std::uint32_t* sums, std::int64_t pitch) {
  tile_impl(a, a_pitch, b, k, sums, pitch);
}
OZFP4_VECTORISED void sum_products(const std::uint64_t* a, std::int64_t a_pitch, const std::uint64_t* b, std::int64_t k,
                                   std::uint64_t* sums, std::int64_t pitch) {
  tile_impl(a, a_pitch, b, k, sums, pitch);
}
OZFP4_VECTORISED void sum_products(const double* a, std::int64_t a_pitch, const double* b, std::int64_t k, double* sums,
                                   std::int64_t pitch) {
  tile_impl(a, a_pitch, b, k, sums, pitch);
}

}  // namespace ozfp4
