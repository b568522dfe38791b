// The wide integers of a product in words, from the sums that multiply left: what Integers is to planes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arith/accuracy/modes.hpp"
#include "arith/scale_entry.hpp"
#include "arith/wide/round_wide.hpp"
#include "cpu/accuracy/lanes.hpp"
#include "cpu/stages/columns.hpp"
#include "cpu/words/near_sum.hpp"
#include "cpu/words/shape.hpp"

namespace ozfp4 {

// Sums of one entry and of those beside it.
struct NearSums {
  const std::uint64_t* word;
  const double* near;
  const double* residue[kMostBridges];
  const std::uint64_t* wide;  // of residues by the wide bridge
};

// Fills the room of the parts.
void join_lanes(const NearSums& sums, Bridging bridging, int n, LaneParts& parts);

class WordSums {
 public:
  static constexpr int kWords = 6;
  using Lanes = LaneParts;
  static_assert(kMostNearBits < 32 * kWords - 2, "every integer fits, and so does its error");

  // `planes`: sums in words, in FP64 and of residues, each [row][column] of the padded extents.
  WordSums(const char* planes, const WordShape& shape, Bridging bridging) : planes_(planes), shape_(shape), bridging_(bridging) {}

  // `planes`: the parts of the integers themselves, top, middle and low.
  WordSums(const char* parts, const WordShape& shape) : planes_(parts), shape_(shape), are_parts_(true) {}

  std::int64_t at(std::int64_t row, std::int64_t column) const { return row * shape_.columns + column; }

  void load(std::int64_t first, int n, Lanes& parts) const {
    if (are_parts_) {
      parts.top = plane(0) + first;
      parts.middle = plane(1) + first;
      parts.low = plane(2) + first;
      return;
    }
    const auto* words = reinterpret_cast<const std::uint64_t*>(planes_) + first;
    join_lanes({words, plane(1) + first, {plane(2) + first, plane(3) + first}, words + 2 * shape_.entries()}, bridging_, n,
               parts);
  }

  WideInt<kWords> lane(const Lanes& parts, std::int64_t, int i) const {
    const auto wide = [](double x) { return scaled_wide<kWords>(x, 0); };
    return wide_add(wide_add(wide(parts.top[i]), wide(parts.middle[i])), wide(parts.low[i]));
  }

  template <class T>
  void round(std::int64_t first, int n, const std::int32_t* exponent, T* result) const {
    Lanes parts;
    load(first, n, parts);
    std::int64_t refused[kLanes] = {};
    round_lanes(parts, n, exponent, result, refused);
    if (!is_any(refused, n)) return;
    for (int i = 0; i < n; ++i) {
      if (refused[i] != 0) result[i] = round_scaled<T>(lane(parts, first, i), exponent[i]);
    }
  }

  PairCut pair(std::int64_t first, int n, int, LanePairs& lanes) const {
    Lanes parts;
    load(first, n, parts);
    pair_lanes(parts, n, lanes);
    std::fill_n(lanes.refused, n, 0);
    return {};
  }

 private:
  const double* plane(int index) const { return reinterpret_cast<const double*>(planes_) + index * shape_.entries(); }

  const char* planes_;
  const WordShape& shape_;
  Bridging bridging_ = Bridging::none;
  bool are_parts_ = false;
};

}  // namespace ozfp4
