#include "cpu/integers/low_lanes.hpp"

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {

// A function per width, because GCC clones functions but not templates.
#define OZFP4_LOOPS(Words)                                                                                                  \
  OZFP4_VECTORISED void low_lanes(const Columns<Words>& column, int n, const CrtProduct<Words>& product, LowLanes& lanes) { \
    for (int i = 0; i < n; ++i) low_lane(integer_of_lane(column, i, product), i, lanes);                                    \
  }
OZFP4_WORD_COUNTS(OZFP4_LOOPS)
#undef OZFP4_LOOPS

}  // namespace ozfp4
