// A tile: where its lines lie, and its way from global to shared memory.
#pragma once

#include <cstdint>

#include "encode/encode_arguments.cuh"
#include "scale/line_source.cuh"

namespace ozfp4::cuda {

// Of one line of a tile: its first entry of the tile in memory, the offset of that entry's byte in a plane, and the
// line's shift. Null where the line lies beyond the operand.
struct TileLine {
  const char* source;
  std::int64_t target;
  std::int32_t shift;
};

// A tile's operand and first entry along K, and its lines; all in shared memory.
struct TileOrigin {
  std::uint32_t is_b, k0;
};
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
  const std::uint32_t k = rest / width;
  return {first + rest - k * width, k};
}

// ---- Copies ------------------------------------------------------------------------------------------------------------

// Copies `valid` bytes, 0 <= valid <= Bytes, and clears the rest; nothing is read where valid is 0. Asynchronous but for
// single bytes: see commit_copies.
template <int Bytes>
__device__ __forceinline__ void copy_entries(unsigned char* to, const char* from, std::uint32_t valid) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(valid) : "memory");
  } else if constexpr (Bytes > 1) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(Bytes), "r"(valid) : "memory");
  } else {
    *to = valid != 0 ? static_cast<unsigned char>(*from) : 0;
  }
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most the latest `Pending` groups are on their way.
template <int Pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// ---- Addresses ---------------------------------------------------------------------------------------------------------

// Called by all threads. The addresses are there after the next barrier, the shifts (which may still be on their way when
// a kernel starts early) with the tile's entries.
__device__ __forceinline__ void find_tile(const EncodeArguments& arguments, std::uint32_t tile, const TilePlace& place) {
  const bool is_b = tile >= arguments.tiles_a;
  const EncodeOperand& operand = arguments.operand[is_b];
  const std::uint32_t lines = 1u << operand.log_tile_lines;
  if (threadIdx.x >= lines) return;
  const TileCoordinates at = tile_coordinates(operand, is_b ? tile - arguments.tiles_a : tile);
  const std::uint32_t k0 = at.k << operand.log_tile_k;
  const std::uint32_t stacked_line = at.line * lines + threadIdx.x;
  TileLine line{nullptr, 0, 0};
  const std::int32_t* shift = nullptr;
  if (stacked_line < operand.total_lines) {
    const LinePlace in = place_of(stacked_line, operand.lines);
    const std::uint32_t whole_line = operand.first_line + in.line;
    line.source = operand.data + matrix_offset(operand.stack, in.matrix) + whole_line * operand.outer_stride + k0 * operand.inner_stride;
    line.target = in.matrix * operand.planes.matrix_stride + in.line * operand.planes.pitch + k0;
    shift = operand.shift + std::int64_t(in.matrix) * operand.outer + whole_line;
  }
  place.line[threadIdx.x] = line;
  if (line.source != nullptr && operand.shift != nullptr) {
    copy_entries<4>(reinterpret_cast<unsigned char*>(&place.line[threadIdx.x].shift), reinterpret_cast<const char*>(shift), 4);
  }
  if (threadIdx.x == 0) *place.origin = {is_b, k0};
}

// ---- Entries -----------------------------------------------------------------------------------------------------------

// Byte of a tile in shared memory. The 16-byte pieces of 128 bytes are permuted, by the line number, so that threads on
// different lines meet different banks, and by the number of the 128 bytes, so that threads on different groups of one
// line do.
struct TileLayout {
  std::uint32_t log_line_bytes, mask;
  __device__ __forceinline__ std::uint32_t byte(std::uint32_t line, std::uint32_t in_line) const {
    return (line << log_line_bytes) + (in_line ^ (((line ^ (in_line >> 7)) & mask) << 4));
  }
};

template <int X>
inline constexpr std::uint32_t kLog = 1 + kLog<X / 2>;
template <>
inline constexpr std::uint32_t kLog<1> = 0;

template <class T>
__device__ __forceinline__ TileLayout tile_layout(const EncodeOperand& operand) {
  const std::uint32_t log_line_bytes = operand.log_tile_k + kLog<static_cast<int>(sizeof(T))>;
  return {log_line_bytes, min(8u, 1u << (log_line_bytes - 4)) - 1};
}

// `Width` entries at a time: a thread keeps its place along K and goes from line to line.
template <class T, int Width>
__device__ __forceinline__ void load_lines(const EncodeOperand& operand, const TilePlace& place, std::uint32_t inside, unsigned char* stage) {
  const TileLayout layout = tile_layout<T>(operand);
  const std::uint32_t log_pieces = operand.log_tile_k - kLog<Width>;
  const std::uint32_t k = (threadIdx.x & ((1u << log_pieces) - 1)) * Width;
  const std::uint32_t valid = k >= inside ? 0 : min(static_cast<std::uint32_t>(Width), inside - k) * sizeof(T);
  const std::int64_t offset = k * operand.inner_stride;
  std::uint32_t line = threadIdx.x >> log_pieces;
  for (std::uint32_t step = 0; step < operand.steps; ++step) {
#pragma unroll
    for (int i = 0; i < kStepEntries<T> / (kEncodeThreads * Width); ++i, line += kEncodeThreads >> log_pieces) {
      const char* source = place.line[line].source;
      copy_entries<Width * sizeof(T)>(stage + layout.byte(line, k * sizeof(T)), source + offset, source == nullptr ? 0 : valid);
    }
  }
}

// Entry by entry: a thread keeps its line and goes along K.
template <class T>
__device__ __forceinline__ void load_columns(const EncodeOperand& operand, const TilePlace& place, std::uint32_t inside, unsigned char* stage) {
  const TileLayout layout = tile_layout<T>(operand);
  const std::uint32_t line = threadIdx.x & ((1u << operand.log_tile_lines) - 1), stride = kEncodeThreads >> operand.log_tile_lines;
  const std::int64_t stride_bytes = stride * operand.inner_stride;
  const char* source = place.line[line].source;
  if (source == nullptr) inside = 0;
  std::uint32_t k = threadIdx.x >> operand.log_tile_lines;
  source += k * operand.inner_stride;
  for (std::uint32_t step = 0; step < operand.steps; ++step) {
#pragma unroll
    for (int i = 0; i < kStepEntries<T> / kEncodeThreads; ++i, k += stride, source += stride_bytes) {
      copy_entries<sizeof(T)>(stage + layout.byte(line, k * sizeof(T)), source, k < inside ? sizeof(T) : 0);
    }
  }
}

// Starts to bring a tile to shared memory; entries beyond the operand become 0.
template <class T>
__device__ __forceinline__ void load_tile(const EncodeArguments& arguments, const TilePlace& place, unsigned char* stage) {
  const TileOrigin origin = *place.origin;
  const EncodeOperand& operand = arguments.operand[origin.is_b];
  const std::uint32_t inside = operand.inner - origin.k0;  // entries along K from the tile's first on
  switch (operand.path) {
    case LoadPath::vectors: return load_lines<T, 16 / sizeof(T)>(operand, place, inside, stage);
    case LoadPath::along_k: return load_lines<T, 1>(operand, place, inside, stage);
    case LoadPath::along_lines: return load_columns<T>(operand, place, inside, stage);
  }
}

}  // namespace ozfp4::cuda
