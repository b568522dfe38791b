// The lines of a listed entry: where they lie, and the power of two that multiplies their entries. With it double-double
// arithmetic neither overflows nor, for most, underflows (arith/exact/double_dot.hpp).
#pragma once

#include <cstdint>

#include "arith/exact/double_dot.hpp"
#include "arith/multiples.hpp"
#include "cuda/entries.cuh"
#include "cuda/line_order.hpp"
#include "cuda/repair/repair.hpp"

namespace ozfp4::cuda {

// Entries of lines with a largest exponent in this range are taken as they are. Products of the largest entries of two lines stay
// above 2^-200, far above the 2^-600 that an unsafe dot product may lose.
inline constexpr int kLeastPlainExponent = -100;
// Nonzero entries from here on are multiples of 2^(kDotFloor / 2), whatever their 53 bits are.
inline constexpr double kLeastSafeEntry = 0x1p-428;
static_assert(-428 - 52 == kDotFloor / 2);
// Mean depth of a line, in binades, from which on many of its products would be lost if its largest entry were not raised.
inline constexpr int kDeepLine = 64;

__device__ __forceinline__ int repair_shift(const LineRecord& line) {
  const bool is_plain = line.exponent == kNoExponent || (line.exponent >= kLeastPlainExponent && line.exponent <= kDotTop &&
                                                         line.depth < kDeepLine * line.nonzeros);
  return is_plain ? 0 : kDotTop - line.exponent;
}

// The tiles of all matrices' results.
template <int Rows, int Columns>
struct TileCover {
  std::int32_t tiles_x, tiles_y;  // of a matrix
  std::int64_t tiles;             // of all

  explicit TileCover(const DeviceResult& result)
      : tiles_x(static_cast<std::int32_t>(ceil_div(result.columns, Columns))),
        tiles_y(static_cast<std::int32_t>(ceil_div(result.rows, Rows))),
        tiles(std::int64_t(tiles_x) * tiles_y * result.stack.count()) {}
};

// Tile number `index` of them.
template <int Rows, int Columns>
struct TilePlace {
  std::int32_t matrix, first_row, first_column;

  __device__ __forceinline__ TilePlace(const TileCover<Rows, Columns>& cover, std::int64_t index) {
    const std::int64_t of_matrix = std::int64_t(cover.tiles_x) * cover.tiles_y;
    matrix = static_cast<std::int32_t>(index / of_matrix);
    const auto rest = static_cast<std::int32_t>(index % of_matrix);
    first_row = rest / cover.tiles_x * Rows;
    first_column = rest % cover.tiles_x * Columns;
  }
};

// Columns [0, count) of 32. Precondition: any count.
__device__ __forceinline__ std::uint32_t first_bits(std::int32_t count) {
  return count <= 0 ? 0u : count >= 32 ? 0xffffffffu : (1u << count) - 1;
}

// A row of A or a column of B; entries are finite.
struct RepairLine {
  const char* data;
  double first, second;  // halves of 2^shift
  std::int32_t shift;
};

// The lines of one matrix of an operand.
struct RepairLines {
  const char* data;          // of the block's first line
  const LineRecord* record;  // likewise
  std::int64_t outer_stride, inner_stride;
  bool is_double;

  __device__ __forceinline__ double entry(const char* line, std::int64_t k) const {
    return number_at(line + k * inner_stride, is_double);
  }

  // The lines from number `first` on.
  __device__ __forceinline__ RepairLines from(std::int64_t first) const {
    return {data + first * outer_stride, record + first, outer_stride, inner_stride, is_double};
  }

  __device__ __forceinline__ RepairLine line(std::int64_t index) const {
    RepairLine line;
    line.data = data + index * outer_stride;
    line.shift = repair_shift(record[index]);
    const ShiftHalves halves = halves_of(line.shift);
    line.first = exact_power_of_two<double>(halves.first);
    line.second = exact_power_of_two<double>(halves.second);
    return line;
  }
};

// An entry as the dot product takes it, by the halves of its line; clears is_safe where that may lose something.
__device__ __forceinline__ double take_entry(double x, double first, double second, bool& is_safe) {
  const double y = dot_operand(x, first, second);
  is_safe = is_safe && (x == 0.0 || fabs(y) >= kLeastSafeEntry);
  return y;
}

// The lines of a matrix of an operand, from line `first` on.
__device__ __forceinline__ RepairLines lines_of(const ScaledOperand& operand, std::int32_t matrix, std::int64_t first) {
  return {operand.view.data + StackIndex{matrix}.offset(operand.view.stack) + first * operand.view.outer_stride,
          operand.record + matrix * std::int64_t(operand.view.outer) + first, operand.view.outer_stride,
          operand.view.inner_stride, operand.view.type == ElementType::float64};
}

// A thread's entries of Lines lines and Length entries along K of Threads threads: neighbours along the shorter stride.
template <int Lines, int Length, int Threads>
struct ThreadEntries {
  static constexpr int kEntries = Lines * Length / Threads, kNextLine = Threads / Length, kNextK = Threads / Lines;
  const char* at;                   // of the first one, at the beginning of K
  std::int64_t step, inner_stride;  // bytes from one to the next, and along K
  std::int32_t line, k, lines;      // of the first one; how many lines there are
  bool is_along_k, is_double;
  double x[kEntries];

  __device__ __forceinline__ ThreadEntries(const RepairLines& of, std::int32_t lines)
      : inner_stride(of.inner_stride),
        lines(lines),
        is_along_k(runs_along_k(of.outer_stride, of.inner_stride)),
        is_double(of.is_double) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    line = is_along_k ? thread / Length : thread % Lines;
    k = is_along_k ? thread % Length : thread / Lines;
    at = of.data + line * of.outer_stride + k * inner_stride;
    step = is_along_k ? kNextLine * of.outer_stride : kNextK * inner_stride;
  }
  __device__ __forceinline__ std::int32_t line_of(int i) const { return is_along_k ? line + i * kNextLine : line; }
  __device__ __forceinline__ std::int32_t k_of(int i) const { return is_along_k ? k : k + i * kNextK; }

  // Loads the entries from `first_k` on, zeros beyond the last one. Loads behind branches of their own would wait for each other.
  __device__ __forceinline__ void load(std::int64_t first_k, std::int64_t inner) {
    const char* from = at + first_k * inner_stride;
    if (is_double && lines >= Lines && first_k + Length <= inner) {
#pragma unroll
      for (int i = 0; i < kEntries; ++i, from += step) x[i] = *reinterpret_cast<const double*>(from);
    } else {
#pragma unroll
      for (int i = 0; i < kEntries; ++i, from += step) {
        const bool is_inside = line_of(i) < lines && first_k + k_of(i) < inner;
        x[i] = is_inside ? number_at(from, is_double) : 0.0;
      }
    }
  }
};

// A matrix of the result, the operands' matrices that make it, and where its entries go.
struct RepairMatrix {
  RepairLines a, b;
  std::int32_t a_matrix = 0, b_matrix = 0;
  std::int32_t part = 0;        // along the first axis
  const char *a_mask, *b_mask;  // of the block's first lines
  char* result;
  char* bound;

  __device__ __forceinline__ RepairMatrix(const RepairJob& job, std::int32_t matrix) {
    std::int64_t result_offset = 0, bound_offset = 0;
    StackIndex{matrix}.for_axes(job.result.stack, [&](std::int32_t axis, std::int32_t coordinate) {
      a_matrix += coordinate * job.result.a_step[axis];
      b_matrix += coordinate * job.result.b_step[axis];
      result_offset += coordinate * job.result.stack.stride[axis];
      bound_offset += coordinate * job.bound.stack.stride[axis];
      part = coordinate;
    });
    a = lines_of(job.a, a_matrix, 0);
    b = lines_of(job.b, b_matrix, job.first_column);
    const std::int64_t mask_bytes = mask_units(job.a.view.inner) * kMaskUnitBytes;
    a_mask = job.masks.a + a_matrix * job.result.rows * mask_bytes;
    b_mask = job.masks.b + b_matrix * job.result.columns * mask_bytes;
    result = job.result.data + result_offset;
    bound = job.bound.data == nullptr ? nullptr : job.bound.data + bound_offset;
  }

  // The places of the block's result, and of its bounds.
  template <class T>
  __device__ __forceinline__ T& entry(const RepairJob& job, std::int64_t row, std::int64_t column) const {
    return *reinterpret_cast<T*>(result + row * job.result.row_stride + column * job.result.column_stride);
  }
  __device__ __forceinline__ double& entry_bound(const RepairJob& job, std::int64_t row, std::int64_t column) const {
    return *reinterpret_cast<double*>(bound + row * job.bound.row_stride + column * job.bound.column_stride);
  }
};

}  // namespace ozfp4::cuda
