// How a product on the GPU is cut so that its workspace stays under a cap and every number in it fits the kernels. It is cut into
// turns of matrices, blocks of the output, pieces of K. All of it is worked out on the host, before anything is allocated or
// launched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "arith/multiples.hpp"
#include "cuda/layout/cuda_plan.hpp"
#include "cuda/layout/turns.hpp"
#include "cuda/layout/ways.hpp"

namespace ozfp4::cuda {

// Where an operand's parts lie in the workspace, in bytes from its start.
struct OperandPlace {
  std::int64_t shift = 0, special = 0, norm = 0, record = 0, planes = 0;
};

// Bytes of a line of a plane: whole lines of the cache for the multiply kernel, where it is long enough.
std::int64_t plane_pitch(Element element, std::int64_t inners);

// Where everything lies in the workspace, in bytes from its start. All turns, blocks and pieces use the same places.
struct CudaLayout {
  Turns turns;
  std::int32_t rows = 0, columns = 0;       // of a block of the output
  std::int32_t inners = 0;                  // entries of a piece of K
  std::vector<Schedule> pieces;             // where K is cut: of a piece, and of the rest at the end
  std::int64_t k_pitch = 0, out_pitch = 0;  // out_pitch in entries
  TileChoice tile;
  bool scales_and_encodes = false;  // in one launch, where the device has clusters
  Way way = Way::stages;            // the others make all of the product, without planes and outputs here
  std::int64_t thin = 0;            // where cuda/thin works, if it makes the product
  OperandPlace a, b;
  std::int64_t a_masks = 0, b_masks = 0;  // a bit for each entry of a block's lines, see MaskRoom; 0: no room
  std::int64_t decision = 0, scratch = 0, outputs = 0, bytes = 0;
  std::int64_t listed = 0, listed_pitch = 0;  // entries left to repair, see cuda/repair/listed.hpp; the pitch in words
  std::int64_t counts = 0;                    // RepairReport, then RepairCounts
  std::int64_t kept = 0;                      // KeptValues at out_pitch, of updates of "standard"
  bool has_magnitudes = false;                // chains have room for them where the outputs were
  std::int64_t partial = 0;                   // of the second piece of K and later ones: like outputs, then added to them
  double microseconds = 0;                    // of scale, encode and multiply by the models, on an H200: where there are planes

  bool is_without_planes() const { return way != Way::stages; }
};

// That of a product that one launch makes, of at most `cap` bytes; none where `direct` or the product is against it. The product
// of a complex plan is the real one, without parts. `factors`: what this device takes over what the models say, above 0.
// Precondition: as make_layout.
std::optional<CudaLayout> make_layout_without_planes(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu,
                                                     std::int64_t cap, const ForcedChoice& forced, WithoutPlanes direct,
                                                     const OfWays& factors = {1, 1, 1, 1});

// The whole product in one turn, block and piece where that stays at or below `cap` bytes (stacks: kMostTurnBytes). Else fewer
// matrices at a time. Then the fastest blocks of some thousand lines with all of K, or up to 32768 of it. Then the first of ever
// smaller cuts that fits. Throws WorkspaceError with the least workspace where even the smallest cut does not fit, or exceeds the
// kernels' limits; std::invalid_argument for forced splits that the schedule does not have.
CudaLayout make_layout(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu, std::int64_t cap,
                       const ForcedChoice& forced = {});

// A stack runs in several turns where it would need more at once: by then a turn keeps every GPU busy for long.
inline constexpr std::int64_t kMostTurnBytes = std::int64_t(1) << 34;

// A range of rows of A, columns of B or entries of K.
struct Range {
  std::int32_t first, count;
};

// The share of one launch of multiply: a block of the output and a piece of K.
struct Block {
  Range rows, columns, inners;
};

// Calls body(range) for the ranges of `length` that make `extent`; `ends`: for the first and the last alone.
template <class Body>
void for_ranges(std::int32_t extent, std::int32_t length, bool ends, const Body& body) {
  const std::int64_t last = (ceil_div(extent, length) - 1) * length;
  for (std::int64_t first = 0; first <= last; first = ends && first < last ? last : first + length) {
    body(Range{static_cast<std::int32_t>(first), static_cast<std::int32_t>(std::min<std::int64_t>(length, extent - first))});
  }
}

// Calls body(block) for all of a turn, the pieces of K innermost. `ends`: for the first and the last rows, columns and pieces
// alone, which are as good as all where their extents are what counts.
template <class Body>
void for_blocks(const CudaLayout& layout, const Turn& turn, bool ends, const Body& body) {
  for_ranges(turn.a.outer, layout.rows, ends, [&](Range rows) {
    for_ranges(turn.b.outer, layout.columns, ends, [&](Range columns) {
      for_ranges(turn.a.inner, layout.inners, ends, [&](Range inners) { body(Block{rows, columns, inners}); });
    });
  });
}

}  // namespace ozfp4::cuda
