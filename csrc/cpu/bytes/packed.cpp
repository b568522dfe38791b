#include "cpu/bytes/packed.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/transpose_block.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kPackGrain = 1 << 18;  // bytes that a thread packs at least
constexpr std::int64_t kGroup = 4;            // entries of K side by side in a tile of B
static_assert(kTileDepth / kGroup == kPanelLines);

// A full tile of A.
OZFP4_VECTORISED void pack_left(const std::int8_t* entries, std::int64_t pitch, std::uint8_t* tile) {
  for (std::int64_t line = 0; line < kPanelLines; ++line) {
    for (std::int64_t k = 0; k < kTileDepth; ++k) {
      tile[line * kTileDepth + k] = static_cast<std::uint8_t>(entries[line * pitch + k] + kLeftOffset);
    }
  }
}

// A full tile of B: groups of four entries as words, transposed.
void pack_right(const std::int8_t* entries, std::int64_t pitch, std::int8_t* tile) {
  const auto* from = reinterpret_cast<const char*>(entries);
  auto* to = reinterpret_cast<char*>(tile);
  for (std::int64_t line = 0; line < kPanelLines; line += 4) {
    for (std::int64_t group = 0; group < kPanelLines; group += 4) {
      transpose_block<std::int32_t>(from + line * pitch + group * kGroup, pitch, to + (group * kPanelLines + line) * kGroup,
                                    kPanelLines * kGroup);
    }
  }
}

// Sums of the entries of each line; four bytes of a line lie side by side.
// Precondition: at most 2^24 entries a line, of magnitude up to 128; beyond, sums would overflow.
OZFP4_VECTORISED void sum_lines(const std::int8_t* panel, std::int64_t tiles, std::int32_t* sums) {
  std::int32_t parts[kPanelLines * kGroup] = {};
  for (std::int64_t group = 0; group < tiles * kPanelLines; ++group) {
    for (std::int64_t i = 0; i < kPanelLines * kGroup; ++i) parts[i] += panel[group * kPanelLines * kGroup + i];
  }
  for (std::int64_t line = 0; line < kPanelLines; ++line) {
    sums[line] = parts[kGroup * line] + parts[kGroup * line + 1] + parts[kGroup * line + 2] + parts[kGroup * line + 3];
  }
}

void pack_tile(Side side, const std::int8_t* entries, std::int64_t pitch, void* to) {
  if (side == Side::left) return pack_left(entries, pitch, static_cast<std::uint8_t*>(to));
  pack_right(entries, pitch, static_cast<std::int8_t*>(to));
}

}  // namespace

void pack_lines(Side side, const std::int8_t* entries, std::int64_t pitch, std::int64_t lines, std::int64_t n, void* to) {
  auto* tile = static_cast<char*>(to);
  for (std::int64_t k = 0; k < n; k += kTileDepth, tile += kTileBytes) {
    const std::int64_t depth = std::min(kTileDepth, n - k);
    if (lines == kPanelLines && depth == kTileDepth) {
      pack_tile(side, entries + k, pitch, tile);
      continue;
    }
    std::int8_t part[kTileBytes] = {};
    for (std::int64_t line = 0; line < lines; ++line) {
      std::memcpy(part + line * kTileDepth, entries + line * pitch + k, static_cast<std::size_t>(depth));
    }
    pack_tile(side, part, kTileDepth, tile);
  }
}

void start_values(const void* panel, std::int64_t tiles, std::int32_t* starts) {
  sum_lines(static_cast<const std::int8_t*>(panel), tiles, starts);
  for (std::int64_t line = 0; line < kPanelLines; ++line) {
    starts[line] =
        static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(kLeftOffset) * static_cast<std::uint32_t>(starts[line]));
  }
}

void pack_planes(const PackedShape& shape, std::int64_t planes, const std::int8_t* entries, std::int64_t pitch, void* to) {
  const std::int64_t panels = panels_of(shape.outers), bytes = shape.panel_bytes();
  parallel_for(planes * panels, kPackGrain / bytes + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t plane = at / panels, outer = at % panels * kPanelLines;
      char* own = static_cast<char*>(to) + plane * shape.plane_bytes();
      char* panel = own + outer / kPanelLines * bytes;
      pack_lines(shape.side, entries + (plane * shape.outers + outer) * pitch, pitch, std::min(kPanelLines, shape.outers - outer),
                 shape.inners, panel);
      if (shape.side == Side::right) start_values(panel, tiles_of(shape.inners), shape.starts(own) + outer);
    }
  });
}

void copy_packed(const PackedShape& from_shape, const void* from, std::int64_t outer0, std::int64_t inner0,
                 const PackedShape& shape, std::int64_t planes, void* to) {
  const std::int64_t panels = panels_of(shape.outers), bytes = shape.panel_bytes();
  const char* first = static_cast<const char*>(from) + outer0 / kPanelLines * from_shape.panel_bytes() + inner0 * kPanelLines;
  parallel_for(planes * panels, kPackGrain / bytes + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t plane = at / panels, panel = at % panels;
      char* own = static_cast<char*>(to) + plane * shape.plane_bytes();
      std::memcpy(own + panel * bytes, first + plane * from_shape.plane_bytes() + panel * from_shape.panel_bytes(),
                  static_cast<std::size_t>(bytes));
      if (shape.side == Side::right) {
        start_values(own + panel * bytes, tiles_of(shape.inners), shape.starts(own) + panel * kPanelLines);
      }
    }
  });
}

}  // namespace ozfp4
