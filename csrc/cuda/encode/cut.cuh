// How a launch cuts the lines of an operand into tiles; on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "arith/multiples.hpp"
#include "cuda/encode/block.cuh"
#include "cuda/encode/tile.cuh"

namespace ozfp4::cuda {

inline std::int64_t line_count(const EncodeJob& job) { return std::int64_t(job.operand.view.stack.count()) * job.lines; }

inline std::int64_t entry_count(const EncodeJob& job) { return line_count(job) * job.operand.view.inner; }

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
  std::uint64_t low = reinterpret_cast<std::uintptr_t>(operand.data) + static_cast<std::uint64_t>(job.first_line) * entry_bytes;
  if (operand.inner > 1) low |= static_cast<std::uint64_t>(operand.inner_stride);
  for (int axis = 0; axis < operand.stack.rank; ++axis) {
    if (operand.stack.extent[axis] > 1) low |= static_cast<std::uint64_t>(operand.stack.stride[axis]);
  }
  if (operand.stack.count() > 1) low |= static_cast<std::uint64_t>(job.lines) * entry_bytes;
  return operand.outer_stride == entry_bytes && low % 16 == 0;
}

// The shape of a tile: its extent along K, and how many steps its entries are loaded in.
struct TileCut {
  int log_tile_k, log_steps;
};

// Pairs are written, and padded, up to the next multiple of 16 bytes as all others are: no tile may begin beyond.
constexpr int least_log_tile_k(EncodeKind kind) { return is_of_pairs(kind) ? kMinLogTileK + 1 : kMinLogTileK; }

// Range: as many lines as make the tile, at most 256.
template <class T>
EncodeOperand cut_tiles(const EncodeJob& job, EncodeKind kind, const TileCut& tile) {
  constexpr int log_step = static_cast<int>(kLog<kStepEntries<T>>);
  const DeviceOperand& operand = job.operand.view;
  EncodeOperand out = describe(job);
  out.order.has_columns = !runs_along_k(operand);
  out.order.has_vectors = out.order.has_columns ? has_aligned_columns(job, sizeof(T)) : has_aligned_lines(operand, sizeof(T));
  out.band = 1;
  out.log_entries_per_byte = static_cast<std::uint8_t>(log_entries_per_byte(kind));
  if (is_of_pairs(kind)) out.padded_inner = static_cast<std::uint32_t>(round_up(operand.inner, 32));
  out.log_tile_k = static_cast<std::uint8_t>(tile.log_tile_k);
  out.log_tile_lines = static_cast<std::uint8_t>(log_step + tile.log_steps - tile.log_tile_k);
  out.steps = static_cast<std::uint8_t>(1 << tile.log_steps);
  const int log_pitch =
      (out.order.has_columns ? out.log_tile_lines : tile.log_tile_k) + static_cast<int>(kLog<static_cast<int>(sizeof(T))>);
  out.log_pitch = static_cast<std::uint8_t>(log_pitch);
  out.swizzle_mask = static_cast<std::uint8_t>(log_pitch >= 7 ? 7 : (1 << (log_pitch - 4)) - 1);
  out.line_tiles = static_cast<std::uint32_t>(ceil_div(out.total_lines, 1 << out.log_tile_lines));
  out.k_tiles = static_cast<std::uint32_t>(ceil_div(out.padded_inner, 1 << tile.log_tile_k));
  return out;
}

inline std::int64_t tile_count(const EncodeOperand& operand) { return std::int64_t(operand.line_tiles) * operand.k_tiles; }

// Adds the tiles of an operand, and what they take of shared memory. Range: A before B.
template <class T>
void add_operand(EncodeArguments& arguments, int i, const EncodeOperand& operand) {
  arguments.operand[i] = operand;
  const auto tiles = static_cast<std::uint32_t>(tile_count(operand));
  if (i == 0) arguments.tiles_a = tiles;
  arguments.tiles += tiles;
  arguments.most_tile_lines = std::max(arguments.most_tile_lines, 1u << operand.log_tile_lines);
  arguments.most_tile_bytes =
      std::max(arguments.most_tile_bytes, static_cast<std::uint32_t>(operand.steps * kStepEntries<T> * sizeof(T)));
}

// What the plan has for the kernel.
template <EncodeKind Kind, int Words>
void set_plan(EncodeParameters<Kind, Words>& arguments, const EncodePlan& plan) {
  if (plan.units > kUnitRoom<Kind>) throw std::logic_error("more units than an encode kernel has room for");
  std::copy_n(plan.unit, plan.units, arguments.unit);
  arguments.units = plan.units;
  arguments.planes = plan.planes;
  arguments.table_entries = plan.table_entries;
}
template <EncodeKind Kind>
TableOf<Kind> table_of(const EncodePlan& plan) {
  TableOf<Kind> table;
  if constexpr (kHasLimbTable<Kind>) std::copy_n(plan.table, kMaxTableEntries, table.entry);
  return table;
}

// Calls launch(kind), an std::integral_constant of a kind that is there for integers: residues, or limbs by tables.
template <class Launch>
void with_residues(EncodeKind kind, const Launch& launch) {
  using std::integral_constant;
  switch (kind) {
    case EncodeKind::residues: return launch(integral_constant<EncodeKind, EncodeKind::residues>());
    case EncodeKind::limb_tables: return launch(integral_constant<EncodeKind, EncodeKind::limb_tables>());
    case EncodeKind::limb_codes: return launch(integral_constant<EncodeKind, EncodeKind::limb_codes>());
    default: throw std::logic_error("no kernel cuts integers into digits");
  }
}

// Calls launch(kind, words) with std::integral_constants of a plan over floating-point entries. Words: the counts that the
// caller has kernels for, in ascending order; digits are cut from two words at least, and limbs of pairs have so many. Range:
// plan.words is one of them.
template <int... Words, class Launch>
void with_kind(const EncodePlan& plan, const Launch& launch) {
  using std::integral_constant;
  const auto from = [&](auto least, auto kind) {
    const auto try_words = [&](auto words) {
      if constexpr (words.value >= least.value && (!is_of_pairs(kind.value) || words.value <= 3)) {
        if (plan.words == words.value) launch(kind, words);
      }
    };
    (try_words(integral_constant<int, Words>()), ...);
  };
  const auto any = [&](auto kind) { from(integral_constant<int, 1>(), kind); };
  const auto digits = [&](auto kind) { from(integral_constant<int, 2>(), kind); };
  const auto pairs = [&](auto kind) {  // of at most three words
    if (plan.words <= 3) from(integral_constant<int, is_of_pair_limbs(kind.value) ? 2 : 1>(), kind);
  };
  switch (plan.kind) {
    case EncodeKind::residues: return any(integral_constant<EncodeKind, EncodeKind::residues>());
    case EncodeKind::limb_tables: return any(integral_constant<EncodeKind, EncodeKind::limb_tables>());
    case EncodeKind::limb_codes: return any(integral_constant<EncodeKind, EncodeKind::limb_codes>());
    case EncodeKind::digits13: return digits(integral_constant<EncodeKind, EncodeKind::digits13>());
    case EncodeKind::digit13_codes: return digits(integral_constant<EncodeKind, EncodeKind::digit13_codes>());
    case EncodeKind::digits256: return digits(integral_constant<EncodeKind, EncodeKind::digits256>());
    case EncodeKind::pairs: return pairs(integral_constant<EncodeKind, EncodeKind::pairs>());
    case EncodeKind::pair_tables: return pairs(integral_constant<EncodeKind, EncodeKind::pair_tables>());
    case EncodeKind::pair_codes: return pairs(integral_constant<EncodeKind, EncodeKind::pair_codes>());
    case EncodeKind::int8_limbs: break;
  }
  throw std::logic_error("no kernel encodes floating-point entries as limbs of int8 entries");
}

}  // namespace ozfp4::cuda
