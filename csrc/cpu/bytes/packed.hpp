// Planes of bytes in the tiles of the kernels: each is [panel of 16 lines][tile of 64 entries]. Behind a plane of B lies the
// start of its sums, an INT32 for each line. Lines and entries beyond the operand's are zeros.
#pragma once

#include <cstdint>

#include "cpu/bytes/tile.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

enum class Side { left, right };

// The shape of one operand, or of a block of it: extents in lines and entries of a plane.
struct PackedShape {
  Side side;
  std::int64_t outers, inners;

  std::int64_t panel_bytes() const { return tiles_of(inners) * kTileBytes; }
  std::int64_t starts_at() const { return panels_of(outers) * panel_bytes(); }  // in a plane
  std::int64_t plane_bytes() const {
    const std::int64_t starts = panels_of(outers) * kPanelLines * static_cast<std::int64_t>(sizeof(std::int32_t));
    return starts_at() + (side == Side::right ? starts : 0);
  }

  // The start values of a plane of B.
  std::int32_t* starts(char* plane) const { return reinterpret_cast<std::int32_t*>(plane + starts_at()); }
  const std::int32_t* starts(const char* plane) const { return reinterpret_cast<const std::int32_t*>(plane + starts_at()); }
};

// The longest K of one multiplication. Sums of K products of bytes, each at most 2^14, and a residue times a multiplier, below
// 2^16, stay in the range of fold_signed, 2^29.
inline constexpr std::int64_t kMostByteInner = 32704;

// Packs n entries of up to 16 lines, `pitch` bytes apart, as the tiles from `to` on of one panel. The remainder of the last tile
// and of its lines is zero. Precondition: 1 <= lines <= 16, n >= 1; entries in [-128, 127].
void pack_lines(Side side, const std::int8_t* entries, std::int64_t pitch, std::int64_t lines, std::int64_t n, void* to);

// The start of sums with the lines of one panel of B: -128 times the sum of each line's entries, which wraps as they do.
void start_values(const void* panel, std::int64_t tiles, std::int32_t* starts);

// All planes, [plane][outer][inner] with K side by side; lines lie `pitch` apart, planes outers * pitch.
void pack_planes(const PackedShape& shape, std::int64_t planes, const std::int8_t* entries, std::int64_t pitch, void* to);

// A block of what is packed, packed by itself. Precondition: outer0 is a multiple of kPanelLines, inner0 one of kTileDepth, and
// so are the block's extents where it ends before the operand does.
void copy_packed(const PackedShape& from_shape, const void* from, std::int64_t outer0, std::int64_t inner0,
                 const PackedShape& shape, std::int64_t planes, void* to);

}  // namespace ozfp4
