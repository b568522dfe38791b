// AMX: TDPBUSD multiplies a tile of 16 x 64 unsigned bytes by one of 64 x 16 signed ones.
#include "cpu/bytes/kernels/amx_tiles.hpp"
#include "cpu/bytes/kernels/kernel.hpp"

#ifdef OZFP4_AMX_TILES
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu/bytes/kernels/amx_walk.hpp"

namespace ozfp4 {
namespace {

// Linux withholds the tiles from a process until it requests them; the permission is that of all its threads.
constexpr int kAskForPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr int kTileData = 18;              // XFEATURE_XTILEDATA

bool is_here() {
  static const bool found = has_amx_instructions() && syscall(SYS_arch_prctl, kAskForPermission, kTileData) == 0;
  return found;
}

// Palette 1, and every tile 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {kTileDepth, kTileDepth, kTileDepth, kTileDepth, kTileDepth, kTileDepth, kTileDepth, kTileDepth};
  std::uint8_t rows[16] = {kPanelLines, kPanelLines, kPanelLines, kPanelLines,
                           kPanelLines, kPanelLines, kPanelLines, kPanelLines};
};
static_assert(sizeof(TileConfig) == 64);

void begin() {
  static const TileConfig config;
  asm volatile("ldtilecfg %0" ::"m"(config));
}

void end() { asm volatile("tilerelease"); }

// Two panels of B stay in the first-level cache while those of A go by.
constexpr std::int64_t kChunkTiles = 8;

}  // namespace

// Leaf 7: EDX bit 24, tiles, and bit 25, their products of bytes.
bool has_amx_instructions() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx >> 24 & 3) == 3;
}

const ByteKernel amx_kernel = {"AMX INT8", "amx", is_here, begin, end, amx_walk<HardwareTiles>, kChunkTiles};

}  // namespace ozfp4

#else

namespace ozfp4 {
bool has_amx_instructions() { return false; }
const ByteKernel amx_kernel = {"AMX INT8", "amx", [] { return false; }, [] {}, [] {}, [](const ByteTask&) {}};
}  // namespace ozfp4

#endif
