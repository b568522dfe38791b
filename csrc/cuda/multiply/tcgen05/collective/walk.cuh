// Which K blocks of which planes an output matrix of a pass sums: what the scheduling and the loading warps agree on.
#pragma once

#include <cstdint>

#include "arith/host_device.hpp"
#include "cuda/multiply/tcgen05/pass.hpp"
#include "cuda/multiply/walk/steps.cuh"

namespace ozfp4::cuda::tcgen05 {

// An output matrix by its number, plane * matrices + split * batches + batch.
struct OutputMatrix {
  std::int32_t plane, split;
  Tile tile;  // its `matrix` is split * batches + batch
};
OZFP4_HD OutputMatrix output_matrix(const Pass& pass, std::int32_t number) {
  const std::uint32_t plane = divide(static_cast<std::uint32_t>(number), pass.matrices);
  const std::uint32_t matrix = static_cast<std::uint32_t>(number) - plane * pass.matrices.constants.modulus;
  return {static_cast<std::int32_t>(plane), static_cast<std::int32_t>(divide(matrix, pass.batches)), Tile{plane, matrix, 0, 0}};
}

// The number of the index-th matrix that a launch of the pass computes.
OZFP4_HD std::int32_t matrix_number(const Pass& pass, std::int32_t index) {
  const auto matrices = static_cast<std::int32_t>(pass.matrices.constants.modulus);
  index += pass.first_matrix;
  const auto ordinal = static_cast<std::int32_t>(divide(static_cast<std::uint32_t>(index), pass.matrices));
  return pass.plane[ordinal] * matrices + (index - ordinal * matrices);
}

// K blocks to multiply, at least 1: the collectives cannot leave an accumulator untouched. Units beyond those `used` get
// one block, too: their results are never read.
template <int kBlockEntries>
OZFP4_HD std::int32_t count_blocks(const Pass& pass, const OutputMatrix& matrix, std::int32_t used) {
  std::int32_t count = 0;
  for (int t = pass.first_term[matrix.plane]; t < pass.term_end[matrix.plane]; ++t) {
    const PassTerm& term = pass.terms[t];
    count += block_range<kBlockEntries>(term.k_begin, term.k_end, matrix.split, pass.blocks_per_split).count;
  }
  return count == 0 || pass.unit_of_plane[matrix.plane] >= used ? 1 : count;
}

// Blocks that lie side by side along K in one plane of A and one of B.
struct LoadRange {
  std::int32_t a_plane, b_plane, first, count;
};

// Walks the ranges that make up `count` blocks of a matrix' sum from the block `begin` on.
// Precondition: begin + count <= count_blocks.
template <int kBlockEntries>
class RangeWalk {
 public:
  OZFP4_HD RangeWalk(const Pass& pass, const OutputMatrix& matrix, std::int32_t begin, std::int32_t count)
      : pass_(pass),
        split_(matrix.split),
        term_(pass.first_term[matrix.plane]),
        end_(pass.term_end[matrix.plane]),
        begin_(begin),
        count_(count) {}

  // False after the last range.
  OZFP4_HD bool next(LoadRange* range) {
    for (; count_ > 0 && term_ < end_; ++term_) {
      const PassTerm& term = pass_.terms[term_];
      const BlockRange blocks = block_range<kBlockEntries>(term.k_begin, term.k_end, split_, pass_.blocks_per_split);
      const std::int32_t left = blocks.count - begin_;
      if (left <= 0) {
        begin_ = -left;
        continue;
      }
      *range = {term.a_plane, term.b_plane, blocks.first + begin_, left < count_ ? left : count_};
      begin_ += range->count;
      count_ -= range->count;
      return true;
    }
    if (count_ <= 0) return false;
    *range = {0, 0, kBeyondK, count_};  // a sum without terms
    count_ = 0;
    return true;
  }

 private:
  // Loads beyond K give zeros. No K reaches this block, and the next few end in 32 bits.
  static constexpr std::int32_t kBeyondK = kLongestExtent / kBlockEntries;

  const Pass& pass_;
  std::int32_t split_, term_, end_;
  std::int32_t begin_;  // blocks of the current term, or of it and later ones, to leave out
  std::int32_t count_;  // blocks to come
};

// Position in a sum, or along K: an iterator as the collectives want it.
struct BlockIterator {
  std::int32_t block = 0;
  OZFP4_HD std::int32_t operator*() const { return block; }
  OZFP4_HD BlockIterator& operator++() {
    ++block;
    return *this;
  }
};

}  // namespace ozfp4::cuda::tcgen05
