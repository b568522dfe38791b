// A tile: where its lines lie, and its way from global to shared memory.
#pragma once

#include <cstdint>

#include "cuda/encode/arguments.cuh"
#include "cuda/entries.cuh"
#include "cuda/multiply/ptx/warp.cuh"

namespace ozfp4::cuda {

// ---- Addresses ---------------------------------------------------------------------------------------------------------

// One line of a tile: its first entry of the tile in memory, the offset of that entry's byte in a plane, and the
// line's shift. Null where the line lies beyond the operand.
struct alignas(16) TileLine {
  const char* source;
  std::int64_t target;
  const std::int32_t* shift_source;  // null for int8 operands
  std::int32_t shift;                // there once load_shifts has brought it
};

// A tile's operand, its first entry along K, and how many lines of it there are.
struct TileOrigin {
  std::uint32_t is_b, k0, lines;
};

// A tile's addresses, in shared memory.
struct TilePlace {
  TileOrigin* origin;
  TileLine* line;
};

// Bands of `band` tiles along the lines, K next, bands last: a band's reads across lines are neighbours in memory, and so
// are its writes along K.
struct TileCoordinates {
  std::uint32_t line, k;
};
__device__ __forceinline__ TileCoordinates tile_coordinates(const EncodeOperand& operand, std::uint32_t tile) {
  const std::uint32_t whole = operand.band * operand.k_tiles;
  const std::uint32_t band = tile / whole, rest = tile - band * whole;
  const std::uint32_t first = band * operand.band, width = min(operand.band, operand.line_tiles - first);
  const std::uint32_t k = operand.band == 1 ? rest : rest / width;
  return {first + rest - k * width, k};
}

// Called by all threads; the addresses are there after the next barrier.
__device__ __forceinline__ void find_tile(const EncodeArguments& arguments, std::uint32_t tile, const TilePlace& place) {
  const bool is_b = tile >= arguments.tiles_a;
  const EncodeOperand& operand = arguments.operand[is_b];
  const std::uint32_t lines = 1u << operand.log_tile_lines;
  if (threadIdx.x >= lines) return;
  const TileCoordinates at = tile_coordinates(operand, is_b ? tile - arguments.tiles_a : tile);
  const std::uint32_t k0 = at.k << operand.log_tile_k;
  const std::uint32_t first_line = at.line * lines, stacked_line = first_line + threadIdx.x;
  TileLine line{nullptr, 0, nullptr, 0};
  if (stacked_line < operand.total_lines) {
    const LinePlace in = place_of(stacked_line, operand.lines);
    const std::uint32_t whole_line = operand.first_line + in.line;
    line.source = operand.data + line_offset(operand.stack, in, whole_line, operand.outer_stride) + k0 * operand.inner_stride;
    line.target = in.matrix * operand.plane_matrix_stride + in.line * operand.plane_pitch + (k0 >> operand.log_entries_per_byte);
    if (operand.shift != nullptr) line.shift_source = operand.shift + std::int64_t(in.matrix) * operand.outer + whole_line;
  }
  place.line[threadIdx.x] = line;
  if (threadIdx.x == 0) *place.origin = {is_b, k0, min(lines, operand.total_lines - first_line)};
}

// ---- The layout in shared memory ------------------------------------------------------------------------------------------

// Byte of an entry. The 16-byte pieces of 128 bytes are permuted, so that the threads of a warp meet different banks. They do
// when each is on its own group of entries along K, and when some are on different lines of columns. Lines are permuted by the
// number of the 128 bytes and of the line, columns by the number of the group. Within a group nothing but the entry's own offset
// changes, see read_group.
template <class T>
struct TileLayout {
  bool has_columns;
  std::uint32_t log_pitch, mask;  // mask: of lines

  __device__ __forceinline__ explicit TileLayout(const EncodeOperand& operand)
      : has_columns(operand.order.has_columns), log_pitch(operand.log_pitch), mask(operand.swizzle_mask) {}
  __device__ __forceinline__ std::uint32_t in_lines(std::uint32_t line, std::uint32_t k) const {
    const std::uint32_t byte = k * static_cast<std::uint32_t>(sizeof(T));
    return (line << log_pitch) + (byte ^ (((line ^ (byte >> 7)) & mask) << 4));
  }
  // Groups that follow each other go to different halves first, then quarters, then eighths: with few lines, the groups of
  // several slots lie side by side. Precondition: log_pitch >= 4.
  __device__ __forceinline__ std::uint32_t in_columns(std::uint32_t line, std::uint32_t k) const {
    const std::uint32_t byte = (k << log_pitch) + line * static_cast<std::uint32_t>(sizeof(T));
    return byte ^ (__brev(k >> kLogGroup) >> 29 << 4);
  }
};

// ---- Copies ----------------------------------------------------------------------------------------------------------------

// Copies `valid` bytes, 0 <= valid <= Bytes, and clears the rest; nothing is read where valid is 0. Whole: all are valid.
// Asynchronous but for single bytes: see commit_copies.
template <int Bytes, bool Whole>
__device__ __forceinline__ void copy_entries(unsigned char* to, const char* from, std::uint32_t valid) {
  if constexpr (Bytes == 1) {
    *to = Whole || valid != 0 ? static_cast<unsigned char>(*from) : 0;
  } else {
    copy_async<Bytes, Whole>(to, from, static_cast<int>(valid));
  }
}

// How many of `Width` entries from the first on lie inside, in bytes.
template <class T, int Width>
__device__ __forceinline__ std::uint32_t bytes_inside(std::uint32_t first, std::uint32_t inside) {
  return first >= inside ? 0 : min(static_cast<std::uint32_t>(Width), inside - first) * static_cast<std::uint32_t>(sizeof(T));
}

// Lines, `Width` entries along K a copy; neighbouring threads along K.
template <class T, int Width, bool Whole>
__device__ __forceinline__ void load_lines(const EncodeOperand& operand, const TilePlace& place, unsigned char* tile) {
  const TileLayout<T> layout(operand);
  const std::uint32_t log_pieces = operand.log_tile_k - kLog<Width>, inside = operand.inner - place.origin->k0;
  const std::int64_t stride = Width > 1 ? static_cast<std::int64_t>(sizeof(T)) : operand.inner_stride;
  std::uint32_t piece = threadIdx.x;
  for (std::uint32_t step = 0; step < operand.steps; ++step) {
#pragma unroll
    for (int i = 0; i < kStepEntries<T> / (kEncodeThreads * Width); ++i, piece += kEncodeThreads) {
      const std::uint32_t line = piece >> log_pieces, k = (piece & ((1u << log_pieces) - 1)) * Width;
      const std::uint32_t valid = Whole ? 0 : bytes_inside<T, Width>(k, inside);
      const char* source = place.line[line].source;
      copy_entries<Width * sizeof(T), Whole>(tile + layout.in_lines(line, k), source + k * stride, source == nullptr ? 0 : valid);
    }
  }
}

// Columns, `Width` lines a copy: a thread keeps its lines and goes along K.
template <class T, int Width, bool Whole>
__device__ __forceinline__ void load_columns(const EncodeOperand& operand, const TilePlace& place, unsigned char* tile) {
  const TileLayout<T> layout(operand);
  const std::uint32_t log_pieces = operand.log_tile_lines - kLog<Width>;
  const std::uint32_t line = (threadIdx.x & ((1u << log_pieces) - 1)) * Width;
  const std::uint32_t valid = Whole ? 0 : bytes_inside<T, Width>(line, place.origin->lines);
  const std::uint32_t inside = operand.inner - place.origin->k0;
  std::uint32_t k = threadIdx.x >> log_pieces;
  const std::uint32_t stride = kEncodeThreads >> log_pieces;
  const std::int64_t stride_bytes = stride * operand.inner_stride;
  const char* source = place.line[line].source + k * operand.inner_stride;
  for (std::uint32_t step = 0; step < operand.steps; ++step) {
#pragma unroll
    for (int i = 0; i < kStepEntries<T> / (kEncodeThreads * Width); ++i, k += stride, source += stride_bytes) {
      copy_entries<Width * sizeof(T), Whole>(tile + layout.in_columns(line, k), source, k < inside ? valid : 0);
    }
  }
}

template <class T, bool Whole>
__device__ __forceinline__ void load_order(const EncodeOperand& operand, const TilePlace& place, unsigned char* tile) {
  constexpr int width = 16 / sizeof(T);
  if (operand.order.has_columns) {
    operand.order.has_vectors ? load_columns<T, width, Whole>(operand, place, tile)
                              : load_columns<T, 1, Whole>(operand, place, tile);
  } else {
    operand.order.has_vectors ? load_lines<T, width, Whole>(operand, place, tile) : load_lines<T, 1, Whole>(operand, place, tile);
  }
}

// Starts to bring a tile to shared memory; entries beyond the operand become 0.
template <class T>
__device__ __forceinline__ void load_tile(const EncodeArguments& arguments, const TilePlace& place, unsigned char* tile) {
  const TileOrigin origin = *place.origin;
  const EncodeOperand& operand = arguments.operand[origin.is_b];
  const bool whole = origin.lines == 1u << operand.log_tile_lines && operand.inner - origin.k0 >= 1u << operand.log_tile_k;
  whole ? load_order<T, true>(operand, place, tile) : load_order<T, false>(operand, place, tile);
}

// Starts to bring the tile's shifts.
__device__ __forceinline__ void load_shifts(const EncodeArguments& arguments, const TilePlace& place) {
  if (threadIdx.x >= (1u << arguments.operand[place.origin->is_b].log_tile_lines)) return;
  TileLine& line = place.line[threadIdx.x];
  if (line.shift_source == nullptr) return;
  copy_entries<4, true>(reinterpret_cast<unsigned char*>(&line.shift), reinterpret_cast<const char*>(line.shift_source), 4);
}

}  // namespace ozfp4::cuda
