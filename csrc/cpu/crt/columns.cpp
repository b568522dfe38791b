#include "cpu/crt/columns.hpp"

#include <algorithm>

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <class Residue>
inline void add_columns_impl(const Residue* residues, int n, const std::uint32_t* weight, Columns& columns) {
  for (int k = 0; k < columns.words; ++k) {
    const std::uint64_t w = weight[k];
    for (int i = 0; i < n; ++i) columns.sum[k][i] += residues[i] * w;
  }
}

}  // namespace

OZFP4_VECTORISED void add_columns(const std::uint8_t* residues, int n, const std::uint32_t* weight, Columns& columns) {
  add_columns_impl(residues, n, weight, columns);
}
OZFP4_VECTORISED void add_columns(const std::uint32_t* residues, int n, const std::uint32_t* weight, Columns& columns) {
  add_columns_impl(residues, n, weight, columns);
}

OZFP4_VECTORISED void crt_lanes(const Columns& columns, int n, double inverse, const std::uint32_t* product, LaneWords& x,
                                std::int64_t* refused) {
  double sum[kLanes];
  std::fill_n(sum, n, 0.0);
  for (int k = columns.words - 1; k >= 0; --k) {
    for (int i = 0; i < n; ++i) {
      sum[i] = sum[i] * 4294967296.0 + static_cast<double>(static_cast<std::int64_t>(columns.sum[k][i]));
    }
  }
  std::int64_t quotient[kLanes];
  for (int i = 0; i < n; ++i) {
    const double ratio = sum[i] * inverse;
    quotient[i] = static_cast<std::int64_t>(ratio + 0.5);
    const double distance = ratio - static_cast<double>(quotient[i]);
    refused[i] = static_cast<std::int64_t>(distance > 0.5 - 0x1p-16) | static_cast<std::int64_t>(distance < -0.5 + 0x1p-16);
  }
  // A column less quotient times word lies in (-2^63, 2^63), with the carry below 2^31 as well.
  std::int64_t carry[kLanes];
  std::fill_n(carry, n, 0);
  for (int k = 0; k < columns.words; ++k) {
    const auto own = static_cast<std::int64_t>(product[k]);
    for (int i = 0; i < n; ++i) {
      carry[i] += static_cast<std::int64_t>(columns.sum[k][i]) - quotient[i] * own;
      x.word[k][i] = static_cast<std::uint32_t>(carry[i]);
      carry[i] >>= 32;
    }
  }
}

// By Horner's rule, the highest group first.
OZFP4_VECTORISED void join_digits(std::uint32_t base, int groups, const std::int64_t* sums, std::int64_t pitch, int n, int words,
                                  LaneWords& x) {
  for (int k = 0; k < words; ++k) std::fill_n(x.word[k], n, 0);
  for (int g = groups - 1; g >= 0; --g) {
    std::uint64_t carry[kLanes];
    std::fill_n(carry, n, 0);
    for (int k = 0; k < words; ++k) {
      const int place = k < 2 ? 32 * k : 63;  // of the sum's own words, or all of its sign
      for (int i = 0; i < n; ++i) {
        const auto own = static_cast<std::uint32_t>(sums[g * pitch + i] >> place);
        carry[i] += static_cast<std::uint64_t>(x.word[k][i]) * base + own;
        x.word[k][i] = static_cast<std::uint32_t>(carry[i]);
        carry[i] >>= 32;
      }
    }
  }
}

}  // namespace ozfp4
