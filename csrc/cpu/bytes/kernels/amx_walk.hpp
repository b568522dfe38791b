// The walk of a task over the eight tiles of AMX, on the hardware's tiles or on a model of them (tests/cpu/bytes).
#pragma once

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/bytes/tile.hpp"

namespace ozfp4 {

// Tiles 0 to 3 hold sums, 4 and 5 panels of A, 6 and 7 panels of B. They are two by two panels, so that each tile that is loaded
// is used twice. Tiles offers load<tile>(address, bytes between rows), zero-cost names of multiply<sums, left, right>() and
// store<tile>(address, bytes between rows).
template <class Tiles, int Rows, int Columns>
void amx_walk_panels(const ByteTask& task, std::int64_t row, std::int64_t column) {
  std::int32_t* c = task.c + row * kPanelLines * task.c_pitch + column * kPanelLines;
  std::int32_t* below = c + kPanelLines * task.c_pitch;
  const std::int64_t c_bytes = task.c_pitch * static_cast<std::int64_t>(sizeof(std::int32_t));
  Tiles::template load<0>(c, c_bytes);
  if constexpr (Columns > 1) Tiles::template load<1>(c + kPanelLines, c_bytes);
  if constexpr (Rows > 1) Tiles::template load<2>(below, c_bytes);
  if constexpr (Rows > 1 && Columns > 1) Tiles::template load<3>(below + kPanelLines, c_bytes);
  const std::uint8_t* a = task.a + row * task.a_pitch;
  const std::int8_t* b = task.b + column * task.b_pitch;
  // A tile is loaded again as soon as its last product of this step is on its way. This takes 7 to 17 % less time than a load
  // where it is needed (8 and 16 threads of a Xeon).
  Tiles::template load<4>(a, kTileDepth);
  Tiles::template load<6>(b, kTileDepth);
  if constexpr (Columns > 1) Tiles::template load<7>(b + task.b_pitch, kTileDepth);
  if constexpr (Rows > 1) Tiles::template load<5>(a + task.a_pitch, kTileDepth);
  for (std::int64_t t = 1; t < task.tiles; ++t) {
    a += kTileBytes;
    b += kTileBytes;
    Tiles::template multiply<0, 4, 6>();
    if constexpr (Columns > 1) Tiles::template multiply<1, 4, 7>();
    Tiles::template load<4>(a, kTileDepth);
    if constexpr (Rows > 1) Tiles::template multiply<2, 5, 6>();
    Tiles::template load<6>(b, kTileDepth);
    if constexpr (Rows > 1 && Columns > 1) Tiles::template multiply<3, 5, 7>();
    if constexpr (Rows > 1) Tiles::template load<5>(a + task.a_pitch, kTileDepth);
    if constexpr (Columns > 1) Tiles::template load<7>(b + task.b_pitch, kTileDepth);
  }
  Tiles::template multiply<0, 4, 6>();
  if constexpr (Columns > 1) Tiles::template multiply<1, 4, 7>();
  if constexpr (Rows > 1) Tiles::template multiply<2, 5, 6>();
  if constexpr (Rows > 1 && Columns > 1) Tiles::template multiply<3, 5, 7>();
  Tiles::template store<0>(c, c_bytes);
  if constexpr (Columns > 1) Tiles::template store<1>(c + kPanelLines, c_bytes);
  if constexpr (Rows > 1) Tiles::template store<2>(below, c_bytes);
  if constexpr (Rows > 1 && Columns > 1) Tiles::template store<3>(below + kPanelLines, c_bytes);
}

template <class Tiles>
void amx_walk(const ByteTask& task) {
  for (std::int64_t j = 0; j < task.columns; j += 2) {
    const bool is_last_column = j + 1 == task.columns;
    for (std::int64_t i = 0; i < task.rows; i += 2) {
      const bool is_last_row = i + 1 == task.rows;
      if (is_last_row && is_last_column) amx_walk_panels<Tiles, 1, 1>(task, i, j);
      if (is_last_row && !is_last_column) amx_walk_panels<Tiles, 1, 2>(task, i, j);
      if (!is_last_row && is_last_column) amx_walk_panels<Tiles, 2, 1>(task, i, j);
      if (!is_last_row && !is_last_column) amx_walk_panels<Tiles, 2, 2>(task, i, j);
    }
  }
}

}  // namespace ozfp4
