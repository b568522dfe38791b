// How the operands of a product in words lie, and the wide integers from the sums that multiply leaves: what Integers is to
// planes.
#pragma once

#include <cstdint>

#include "arith/modes.hpp"
#include "arith/multiples.hpp"
#include "arith/scale_entry.hpp"
#include "arith/wide/round_wide.hpp"
#include "cpu/crt/columns.hpp"
#include "cpu/crt/lanes.hpp"
#include "cpu/gemm/sum_tile.hpp"
#include "cpu/words/near_sum.hpp"

namespace ozfp4 {

// Extents, padded to tiles. A's entries lie [row][k], B's [panel][k][kSumColumns], sums [row][column]: of each plane, which are
// the integers in FP64, the integers modulo 2^64, and the residues by each bridge.
struct WordShape {
  std::int64_t rows, columns, inner;

  WordShape(std::int64_t m, std::int64_t n, std::int64_t k)
      : rows(round_up(m, kSumRows)), columns(round_up(n, kSumColumns)), inner(k) {}

  std::int64_t entries_a() const { return rows * inner; }
  std::int64_t entries_b() const { return columns * inner; }
  std::int64_t entries() const { return rows * columns; }
  // Bytes of all planes of all three.
  std::int64_t bytes(int bridges) const { return (entries_a() + entries_b() + entries()) * 8 * (2 + bridges); }
};

// Sums of one entry and of its neighbours.
struct NearSums {
  const std::uint64_t* word;
  const double* near;
  const double* residue[kMostBridges];
};

// How sums become integers: that of entry i, and those of n entries as pairs.
struct JoinWay {
  SumParts (*one)(const NearSums& sums, int i);
  void (*pairs)(const NearSums& sums, int n, LanePairs& pairs);
};

JoinWay join_way(int bridges);
// The way for the parts of the integers themselves: top, middle and low in the place of words and of near sums and of residues.
JoinWay join_way_of_parts();

class WordSums {
 public:
  static constexpr int kWords = 6;
  static_assert(kMostNearBits < 32 * kWords - 2, "every integer fits, and so does its error");

  // `planes`: sums in words, in FP64 and of residues, each [row][column] of the padded extents.
  WordSums(const char* planes, const WordShape& shape, JoinWay way) : planes_(planes), shape_(shape), way_(way) {}

  std::int64_t at(std::int64_t row, std::int64_t column) const { return row * shape_.columns + column; }

  template <class Use>
  void for_refused(std::int64_t first, int n, const std::int64_t* refused, const Use& use) const {
    if (!is_any(refused, n)) return;
    const auto wide = [](double x) { return scaled_wide<kWords>(x, 0); };
    for (int i = 0; i < n; ++i) {
      if (refused[i] == 0) continue;
      const SumParts own = way_.one(sums(first), i);
      use(i, wide_add(wide_add(wide(own.top), wide(own.middle)), wide(own.low)));
    }
  }

  template <class T>
  void round(std::int64_t first, int n, const std::int32_t* exponent, T* result) const {
    LanePairs pairs;
    pair(first, n, 0, pairs);
    round_lanes(pairs, n, exponent, result);
    for_refused(first, n, pairs.refused,
                [&](int i, const WideInt<kWords>& own) { result[i] = round_scaled<T>(own, exponent[i]); });
  }

  PairCut pair(std::int64_t first, int n, int, LanePairs& pairs) const {
    way_.pairs(sums(first), n, pairs);
    return {};
  }

 private:
  NearSums sums(std::int64_t first) const {
    return {reinterpret_cast<const std::uint64_t*>(planes_) + first, plane(1) + first, {plane(2) + first, plane(3) + first}};
  }
  const double* plane(int index) const { return reinterpret_cast<const double*>(planes_) + index * shape_.entries(); }

  const char* planes_;
  const WordShape& shape_;
  JoinWay way_;
};

}  // namespace ozfp4
