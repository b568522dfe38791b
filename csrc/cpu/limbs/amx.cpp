// AMX: TDPBSSD multiplies a tile of 16 x 64 signed bytes by one of 64 x 16.
#include "cpu/bytes/kernels/amx_tiles.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/limbs/unit.hpp"
#ifdef OZFP4_AMX_TILES
#include "cpu/limbs/walk.hpp"
#endif

namespace ozfp4 {
namespace {

// The tiles are the same as those of the kernel for bytes.
bool is_here() { return amx_kernel.is_here(); }
void begin() { amx_kernel.begin(); }
void end() { amx_kernel.end(); }

}  // namespace

#ifdef OZFP4_AMX_TILES
const LimbUnit amx_limbs = {"AMX INT8", is_here, begin, end, limb_walk<HardwareTiles>};
#else
const LimbUnit amx_limbs = {"AMX INT8", is_here, begin, end, [](const LimbTask&) {}};
#endif

}  // namespace ozfp4
