// Flags of a line (a row of A or a column of B) that holds what is not finite.
#pragma once

#include <cstdint>

namespace ozfp4 {

enum Special : std::uint8_t { kFinite = 0, kHasInfinity = 1, kHasNan = 2 };

}  // namespace ozfp4
