// AMX's tiles as Intel's manual (volume 2: TILELOADD, TILESTORED, TILEZERO, TDPBUSD, TDPBSSD) describes them, for CPUs without
// them: eight of 16 rows of 64 bytes. Loops over tiles are inlined as a whole; these functions are not, to compile in seconds.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/bytes/tile.hpp"

struct ModelTiles {
  static inline std::uint8_t tile[8][ozfp4::kPanelLines][ozfp4::kTileDepth];

  template <int Tile>
  [[gnu::noinline]] static void load(const void* address, std::int64_t row_bytes) {
    for (std::int64_t r = 0; r < ozfp4::kPanelLines; ++r) {
      std::memcpy(tile[Tile][r], static_cast<const char*>(address) + r * row_bytes, ozfp4::kTileDepth);
    }
  }
  template <int Tile>
  [[gnu::noinline]] static void store(void* address, std::int64_t row_bytes) {
    for (std::int64_t r = 0; r < ozfp4::kPanelLines; ++r) {
      std::memcpy(static_cast<char*>(address) + r * row_bytes, tile[Tile][r], ozfp4::kTileDepth);
    }
  }
  template <int Tile>
  [[gnu::noinline]] static void zero() {
    std::memset(tile[Tile], 0, sizeof tile[Tile]);
  }
  template <int Sums, int Left, int Right>
  static void multiply() {
    multiply_bytes<std::uint8_t, Sums, Left, Right>();
  }
  template <int Sums, int Left, int Right>
  static void multiply_signed() {
    multiply_bytes<std::int8_t, Sums, Left, Right>();
  }

 private:
  // For every row m of sums, group k of the left tile and column n: four products by signed bytes, added modulo 2^32.
  template <class LeftByte, int Sums, int Left, int Right>
  [[gnu::noinline]] static void multiply_bytes() {
    for (int m = 0; m < 16; ++m) {
      for (int k = 0; k < 16; ++k) {
        for (int n = 0; n < 16; ++n) {
          std::uint32_t sum;
          std::memcpy(&sum, &tile[Sums][m][4 * n], 4);
          for (int i = 0; i < 4; ++i) {
            const int left = static_cast<LeftByte>(tile[Left][m][4 * k + i]);
            const int right = static_cast<std::int8_t>(tile[Right][k][4 * n + i]);
            sum += static_cast<std::uint32_t>(left * right);
          }
          std::memcpy(&tile[Sums][m][4 * n], &sum, 4);
        }
      }
    }
  }
};
