// The magnitudes of all lines of a block's operands, where there is room for them, and which pieces of them are all zeros.
#pragma once

#include "cuda/standard/chain_entry.cuh"
#include "cuda/standard/shared.cuh"

namespace ozfp4::cuda::chaining {

// Where those of A's lines begin, or of B's.
__device__ __forceinline__ std::uint8_t* plane_of(const Parameters& p, bool is_b, std::int32_t matrix) {
  const std::int64_t before = is_b ? p.a_parts.all_lines : 0;
  const std::int64_t line = before + std::int64_t(matrix) * (is_b ? p.b_parts.lines : p.a_parts.lines);
  return reinterpret_cast<std::uint8_t*>(p.job.magnitudes) + line * magnitude_pitch(p.job.a.view.inner);
}

// Behind them a byte for each piece of a group of lines: kHasEntries if it has a nonzero entry, and kHasMagnitudes if it has one
// of magnitude 1 or more.
inline constexpr std::uint32_t kHasEntries = 1, kHasMagnitudes = 2;
__device__ __forceinline__ std::uint8_t* flags_of(const Parameters& p, bool is_b, std::int32_t matrix, std::int32_t group) {
  const PlaneParts& work = is_b ? p.b_parts : p.a_parts;
  const std::int64_t lines = p.a_parts.all_lines + p.b_parts.all_lines;
  const std::int64_t before = is_b ? p.a_parts.all_groups : 0;
  return reinterpret_cast<std::uint8_t*>(p.job.magnitudes) + lines * magnitude_pitch(p.job.a.view.inner) +
         (before + std::int64_t(matrix) * work.groups + group) * work.pieces;
}

// Entries of a piece that a thread turns into bytes.
using PieceEntries = ThreadEntries<kPartLines, kPieceInner, kThreads>;

// All threads: one part, by way of shared memory, so that neighbours are written together.
__device__ __forceinline__ void make_part(Shared& shared, const Parameters& p, bool is_b, std::int64_t index) {
  const PlaneParts& work = is_b ? p.b_parts : p.a_parts;
  const std::int64_t inner = p.job.a.view.inner, pitch = magnitude_pitch(inner);
  const std::int64_t of_matrix = std::int64_t(work.groups) * work.along();
  const auto matrix = static_cast<std::int32_t>(index / of_matrix), rest = static_cast<std::int32_t>(index % of_matrix);
  const std::int32_t group = rest / work.along(), first_line = group * kPartLines;
  const std::int32_t first_piece = rest % work.along() * kPartPieces, last = min(first_piece + kPartPieces, work.pieces);
  const std::int32_t count = min(kPartLines, work.lines - first_line);
  RepairLines lines = lines_of(is_b ? p.job.b : p.job.a, matrix, (is_b ? p.job.first_column : 0) + first_line);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < 2) shared.piece_has[thread] = 0;
  if (thread < kPartLines) shared.exponent[thread] = thread < count ? lines.record[thread].exponent : 0;
  PieceEntries even(lines, count), odd(lines, count);  // two pieces are on their way
  even.load(std::int64_t(first_piece) * kPieceInner, inner);
  odd.load(std::int64_t(first_piece + 1) * kPieceInner, inner);
  __syncthreads();
  auto& bytes = *shared.area<PartBytes>();
  const int own_line = thread / (kPieceInner / 16), at = thread % (kPieceInner / 16) * 16;
  static_assert(kPartLines * kPieceInner / 16 == kThreads && kPartPieces % 2 == 0);
  std::uint8_t* const plane = plane_of(p, is_b, matrix) + (std::int64_t(first_line) + own_line) * pitch + at;
  const auto make = [&](PieceEntries& entries, std::int32_t piece) {
    const std::int64_t first_k = std::int64_t(piece) * kPieceInner;
    auto& to = bytes[piece % 2];  // the other one is still being read
    std::uint32_t has = 0, bytes_of_all = 0;
#pragma unroll
    for (int i = 0; i < PieceEntries::kEntries; ++i) {
      const std::int32_t line = entries.line_of(i);
      const std::uint32_t byte = magnitude_byte(entries.x[i], shared.exponent[line]);
      has |= entries.x[i] != 0.0 ? kHasEntries : 0;
      bytes_of_all |= byte;
      to[line][entries.k_of(i)] = static_cast<std::uint8_t>(byte);
    }
    has = __reduce_or_sync(0xFFFFFFFFu, has | (bytes_of_all != 0 ? kHasMagnitudes : 0));
    if (has != 0 && thread % 32 == 0) atomicOr(&shared.piece_has[piece % 2], has);
    entries.load(first_k + 2 * kPieceInner, piece + 2 < last ? inner : 0);
    __syncthreads();
    if (own_line < count && first_k + at < pitch) {
      *reinterpret_cast<uint4*>(plane + first_k) = *reinterpret_cast<const uint4*>(&to[own_line][at]);
    }
    if (thread == 0) {
      flags_of(p, is_b, matrix, group)[piece] = static_cast<std::uint8_t>(shared.piece_has[piece % 2]);
      shared.piece_has[piece % 2] = 0;
    }
  };
#pragma unroll 1
  for (std::int32_t piece = first_piece; piece < last; piece += 2) {
    make(even, piece);
    if (piece + 1 < last) make(odd, piece + 1);
  }
}

// All threads of all blocks.
__device__ __forceinline__ void make_all_planes(Shared& shared, const Parameters& p) {
  RepairCounts& counts = *p.job.listed.counts;
  const std::int64_t all = p.a_parts.parts + p.b_parts.parts;
  const std::int64_t made = for_taken(shared, counts.parts_taken, all, [&](std::int64_t part) {
    const bool is_b = part >= p.a_parts.parts;
    make_part(shared, p, is_b, is_b ? part - p.a_parts.parts : part);
  });
  wait_until_made(counts.parts_made, made, all);
}

// Where along K a row and a column have products of nonzero entries, as far as the pieces of their groups say.
__device__ __forceinline__ KRange range_of_products(const Parameters& p, const RepairMatrix& matrix, std::int64_t row,
                                                    std::int64_t column) {
  KRange range{0, p.job.a.view.inner};
  if (!p.knows_pieces()) return range;
  const std::uint8_t* a = flags_of(p, false, matrix.a_matrix, static_cast<std::int32_t>(row / kPartLines));
  const std::uint8_t* b = flags_of(p, true, matrix.b_matrix, static_cast<std::int32_t>(column / kPartLines));
  std::int32_t first = 0, last = p.a_parts.pieces - 1;
  const auto has_products = [&](std::int32_t piece) { return (__ldcg(a + piece) & __ldcg(b + piece)) != 0; };
  while (first <= last && !has_products(first)) ++first;
  while (last >= first && !has_products(last)) --last;
  range.begin = std::int64_t(first) * kPieceInner;
  range.end = min(range.end, (std::int64_t(last) + 1) * kPieceInner);
  return range;
}

// The flags together that the `count` groups of lines from `flags` on have of a piece.
__device__ __forceinline__ std::uint32_t flags_of_tile(const std::uint8_t* flags, std::int32_t count, std::int32_t pieces,
                                                       std::int32_t piece) {
  std::uint32_t any = 0;
#pragma unroll
  for (std::int32_t i = 0; i < kRows / kPartLines; ++i) any |= i < count ? __ldcg(flags + i * pieces + piece) : 0u;
  return any;
}
static_assert(kRows == kColumns);

// All threads: leaves in `shared` the pieces of K in which a tile has products of entries with a flag, as far as that is known.
__device__ __noinline__ void find_pieces(Shared& shared, const Parameters& p, const RepairMatrix& matrix, const Tile& tile,
                                         std::uint32_t flag) {
  __syncthreads();
  if (!p.knows_pieces()) {
    if (threadIdx.x == 0) shared.pieces = -1;
  } else if (threadIdx.x < 32) {
    const std::int32_t lane = static_cast<std::int32_t>(threadIdx.x), pieces = p.a_parts.pieces;
    const std::int32_t group_a = tile.first_row / kPartLines, group_b = tile.first_column / kPartLines;
    const std::uint8_t* a = flags_of(p, false, matrix.a_matrix, group_a);
    const std::uint8_t* b = flags_of(p, true, matrix.b_matrix, group_b);
    std::int32_t count = 0;
#pragma unroll 1
    for (std::int32_t first = 0; first < pieces; first += 32) {
      const std::int32_t piece = first + lane;
      const bool has_products = piece < pieces && (flags_of_tile(a, p.a_parts.groups - group_a, pieces, piece) &
                                                   flags_of_tile(b, p.b_parts.groups - group_b, pieces, piece) & flag) != 0;
      const std::uint32_t found = __ballot_sync(0xFFFFFFFFu, has_products);
      if (has_products) shared.piece[count + __popc(found & ((1u << lane) - 1))] = static_cast<std::uint16_t>(piece);
      count += __popc(found);
    }
    if (lane == 0) shared.pieces = count;
  }
  __syncthreads();
}

}  // namespace ozfp4::cuda::chaining
