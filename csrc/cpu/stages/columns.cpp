#include "cpu/stages/columns.hpp"

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

template <int Words, class Residue>
inline void add_columns_impl(const Residue* residues, int n, const WideInt<Words>& weight, Columns<Words>& column) {
  for (int k = 0; k < Words; ++k) {
    const std::uint64_t w = weight.word[k];
    for (int i = 0; i < n; ++i) column[k][i] += residues[i] * w;
  }
}

}  // namespace

#define OZFP4_ADD_COLUMNS(Residue, Words)                                                                                   \
  OZFP4_VECTORISED void add_columns(const Residue* residues, int n, const WideInt<Words>& weight, Columns<Words>& column) { \
    add_columns_impl(residues, n, weight, column);                                                                          \
  }
#define OZFP4_LOOPS(Words)               \
  OZFP4_ADD_COLUMNS(std::uint8_t, Words) \
  OZFP4_ADD_COLUMNS(std::uint32_t, Words)
OZFP4_WORD_COUNTS(OZFP4_LOOPS)
#undef OZFP4_LOOPS
#undef OZFP4_ADD_COLUMNS

}  // namespace ozfp4
