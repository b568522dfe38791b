// The instructions on AMX's tiles, with numbers of tiles as arguments of templates. OZFP4_AMX_TILES: this compiler has them.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define OZFP4_AMX_TILES

#include <cstdint>

namespace ozfp4 {

// GCC's intrinsics take the numbers of tiles as literals, which arguments of templates are not: the instructions themselves.
struct HardwareTiles {
  template <int Tile>
  static void load(const void* address, std::int64_t row_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(address), "r"(row_bytes), "i"(Tile) : "memory");
  }
  template <int Tile>
  static void store(void* address, std::int64_t row_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(address), "r"(row_bytes), "i"(Tile) : "memory");
  }
  template <int Tile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(Tile));
  }
  // AT&T order: the right tile, the left one, the sums. Left bytes are unsigned, right ones signed; or both are signed.
  template <int Sums, int Left, int Right>
  static void multiply() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Left), "i"(Right));
  }
  template <int Sums, int Left, int Right>
  static void multiply_signed() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Left), "i"(Right));
  }
};

}  // namespace ozfp4

#endif
