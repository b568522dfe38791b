#include "cpu/words/sums.hpp"

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <int Bridges>
inline void join_impl(const NearSums& sums, int n, LaneParts& parts) {
  for (int i = 0; i < n; ++i) {
    double residue[kMostBridges] = {};
    for (int b = 0; b < Bridges; ++b) residue[b] = sums.residue[b][i];
    parts.put(join_near_sum<Bridges>(sums.word[i], sums.near[i], residue), i);
  }
}

OZFP4_VECTORISED void join_0(const NearSums& sums, int n, LaneParts& parts) { join_impl<0>(sums, n, parts); }
OZFP4_VECTORISED void join_1(const NearSums& sums, int n, LaneParts& parts) { join_impl<1>(sums, n, parts); }
OZFP4_VECTORISED void join_2(const NearSums& sums, int n, LaneParts& parts) { join_impl<2>(sums, n, parts); }
OZFP4_VECTORISED void join_wide(const NearSums& sums, int n, LaneParts& parts) {
  for (int i = 0; i < n; ++i) parts.put(join_wide_sum(sums.word[i], sums.near[i], sums.wide[i]), i);
}

}  // namespace

void join_lanes(const NearSums& sums, Bridging bridging, int n, LaneParts& parts) {
  switch (bridging) {
    case Bridging::none: return join_0(sums, n, parts);
    case Bridging::one: return join_1(sums, n, parts);
    case Bridging::wide: return join_wide(sums, n, parts);
    case Bridging::two: return join_2(sums, n, parts);
  }
}

}  // namespace ozfp4
