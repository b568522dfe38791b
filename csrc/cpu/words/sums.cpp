#include "cpu/words/sums.hpp"

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <int Bridges>
inline SumParts join(const NearSums& sums, int i) {
  double residue[kMostBridges] = {};
  for (int b = 0; b < Bridges; ++b) residue[b] = sums.residue[b][i];
  return join_near_sum<Bridges>(sums.word[i], sums.near[i], residue);
}
inline SumParts take_parts(const NearSums& sums, int i) {
  return {reinterpret_cast<const double*>(sums.word)[i], sums.near[i], sums.residue[0][i]};
}

// A function per way, because GCC clones functions but not templates.
#define OZFP4_PAIRS(name, parts_of)                                           \
  OZFP4_VECTORISED void name(const NearSums& sums, int n, LanePairs& pairs) { \
    put_pairs(n, pairs, [&](int i, std::int64_t& refused) {                   \
      refused = 0;                                                            \
      return parts_of(sums, i);                                               \
    });                                                                       \
  }
OZFP4_PAIRS(pairs_0, join<0>)
OZFP4_PAIRS(pairs_1, join<1>)
OZFP4_PAIRS(pairs_2, join<2>)
OZFP4_PAIRS(pairs_of_parts, take_parts)
#undef OZFP4_PAIRS

}  // namespace

JoinWay join_way(int bridges) {
  switch (bridges) {
    case 0: return {join<0>, pairs_0};
    case 1: return {join<1>, pairs_1};
    default: return {join<2>, pairs_2};
  }
}

JoinWay join_way_of_parts() { return {take_parts, pairs_of_parts}; }

}  // namespace ozfp4
