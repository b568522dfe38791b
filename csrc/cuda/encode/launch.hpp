// How a launch of encode cuts the lines of its operands into tiles; on the host.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/encode/arguments.cuh"
#include "cuda/line_order.hpp"

namespace ozfp4::cuda {

struct EncodeLaunch {
  const EncodePlan& plan;
  const EncodeJob &a, &b;
  const int* moduli_used;
  cudaStream_t stream;
  bool after_scale;

  ElementType type() const { return (a.lines != 0 ? a : b).operand.view.type; }
};

// The launches of the kinds of a source of kernels. Precondition: kinds and words that find_encode_error has nothing against.
void launch_residues(const EncodeLaunch& how);
void launch_limbs(const EncodeLaunch& how);
void launch_codes(const EncodeLaunch& how);

struct ScaleEncodeLaunch;
bool scale_and_encode_codes(const ScaleEncodeLaunch& how);

// The tiles of the launch's operands.
void cut_operands(const EncodeLaunch& how, EncodeArguments& arguments);

inline std::int64_t line_count(const EncodeJob& job) { return std::int64_t(job.operand.view.stack.count()) * job.lines; }

// Everything but the tiling.
inline EncodeOperand describe(const EncodeJob& job) {
  const DeviceOperand& operand = job.operand.view;
  EncodeOperand out{};
  out.data = operand.data;
  out.outer_stride = operand.outer_stride;
  out.inner_stride = operand.inner_stride;
  out.stack = operand.stack;
  out.shift = job.operand.shift;
  out.planes = job.planes.data;
  out.plane_pitch = job.planes.pitch;
  out.plane_matrix_stride = job.planes.matrix_stride;
  out.plane_stride = job.planes.plane_stride;
  out.type = operand.type;
  out.outer = static_cast<std::uint32_t>(operand.outer);
  out.first_line = static_cast<std::uint32_t>(job.first_line);
  out.lines = static_cast<std::uint32_t>(job.lines);
  out.total_lines = static_cast<std::uint32_t>(line_count(job));
  out.inner = static_cast<std::uint32_t>(operand.inner);
  out.padded_inner = static_cast<std::uint32_t>(round_up(operand.inner, 16));
  out.record = job.counts ? job.operand.record : nullptr;
  out.twin_records = job.twin_records;
  return out;
}

// Whether 16-byte loads across lines are possible: lines adjacent, every column of every matrix 16-byte aligned from the
// first line to encode on, and no load in two matrices.
inline bool has_aligned_columns(const EncodeJob& job, int entry_bytes) {
  const DeviceOperand& operand = job.operand.view;
  const std::int64_t first = std::int64_t(job.first_line) * entry_bytes, all = std::int64_t(job.lines) * entry_bytes;
  return operand.outer_stride == entry_bytes && (operand.stack.count() == 1 || all % 16 == 0) &&
         are_aligned(operand.data + first, operand.inner, operand.inner_stride, operand.stack, 16);
}

// The shape of a tile: its extent along K, and how many steps its entries are loaded in.
struct TileCut {
  int log_tile_k, log_steps;
};

// Pairs are written, and padded, up to the next multiple of 16 bytes as all others are: no tile may begin beyond.
constexpr int least_log_tile_k(EncodeKind kind) { return is_of_pairs(kind) ? kMinLogTileK + 1 : kMinLogTileK; }

// Precondition: as many lines as make the tile, at most 256.
inline EncodeOperand cut_tiles(const EncodeJob& job, EncodeKind kind, const TileCut& tile) {
  const DeviceOperand& operand = job.operand.view;
  const int bytes = entry_bytes(operand.type);
  EncodeOperand out = describe(job);
  out.order.has_columns = !runs_along_k(operand);
  out.order.has_vectors = out.order.has_columns ? has_aligned_columns(job, bytes) : has_aligned_lines(operand, bytes);
  out.band = 1;
  out.log_entries_per_byte = static_cast<std::uint8_t>(log_entries_per_byte(kind));
  if (is_of_pairs(kind)) out.padded_inner = static_cast<std::uint32_t>(round_up(operand.inner, 32));
  out.log_tile_k = static_cast<std::uint8_t>(tile.log_tile_k);
  out.log_tile_lines = static_cast<std::uint8_t>(log_step_entries(bytes) + tile.log_steps - tile.log_tile_k);
  out.steps = static_cast<std::uint8_t>(1 << tile.log_steps);
  const int log_pitch = (out.order.has_columns ? out.log_tile_lines : tile.log_tile_k) + log_of(bytes);
  out.log_pitch = static_cast<std::uint8_t>(log_pitch);
  out.swizzle_mask = static_cast<std::uint8_t>(log_pitch >= 7 ? 7 : (1 << (log_pitch - 4)) - 1);
  out.line_tiles = static_cast<std::uint32_t>(ceil_div(out.total_lines, 1 << out.log_tile_lines));
  out.k_tiles = static_cast<std::uint32_t>(ceil_div(out.padded_inner, 1 << tile.log_tile_k));
  return out;
}

inline std::int64_t tile_count(const EncodeOperand& operand) { return std::int64_t(operand.line_tiles) * operand.k_tiles; }

// Adds the tiles of an operand, and what they take of shared memory. Precondition: A before B.
inline void add_operand(EncodeArguments& arguments, int i, const EncodeOperand& operand) {
  arguments.operand[i] = operand;
  const auto tiles = static_cast<std::uint32_t>(tile_count(operand));
  if (i == 0) arguments.tiles_a = tiles;
  arguments.tiles += tiles;
  const std::uint32_t lines = 1u << operand.log_tile_lines;
  arguments.most_tile_lines = std::max(arguments.most_tile_lines, lines);
  arguments.most_tile_bytes =
      std::max(arguments.most_tile_bytes, static_cast<std::uint32_t>(entry_bytes(operand.type)) * (lines << operand.log_tile_k));
}

}  // namespace ozfp4::cuda
