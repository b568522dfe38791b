// Loops over the column sums of up to kLanes entries: written for one entry, vectorised over them. A function per type and
// width, because GCC clones functions but not templates. The long ones are clones as well: a plan of many moduli spends more
// time here than any other.
#pragma once

#include <cstdint>

#include "arith/wide/crt.hpp"
#include "arith/wide/word_counts.hpp"

namespace ozfp4 {

inline constexpr int kLanes = 64;

// column[k][i]: what the residues of entry i sum up to in word k.
template <int Words>
using Columns = std::uint64_t[Words][kLanes];

template <int Words>
inline WideInt<Words> integer_of_lane(const Columns<Words>& column, int lane, const CrtProduct<Words>& product) {
  std::uint64_t own[Words];
  for (int k = 0; k < Words; ++k) own[k] = column[k][lane];
  return crt_from_columns(own, product);
}

// Adds weight times residue to the sums.
#define OZFP4_LOOPS(Words)                                                                                     \
  void add_columns(const std::uint8_t* residues, int n, const WideInt<Words>& weight, Columns<Words>& column); \
  void add_columns(const std::uint32_t* residues, int n, const WideInt<Words>& weight, Columns<Words>& column);
OZFP4_WORD_COUNTS(OZFP4_LOOPS)
#undef OZFP4_LOOPS

}  // namespace ozfp4
