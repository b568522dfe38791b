// The lines that a listed entry is made of: where they lie, and by what power of two their entries are multiplied so that
// double-double arithmetic neither overflows nor, for most, underflows (arith/exact/double_dot.hpp).
#pragma once

#include <cstdint>

#include "arith/exact/double_dot.hpp"
#include "cuda/line_order.hpp"
#include "cuda/repair/repair.hpp"
#include "cuda/stack_index.cuh"

namespace ozfp4::cuda {

// Of lines whose largest exponent lies in this range entries are taken as they are: products of the largest entries of two lines
// stay above 2^-200, far above the 2^-600 that an unsafe dot product may lose.
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

// Tile number `index` of all matrices' results, which `p` says how many of lie beside each other and below.
template <int Rows, int Columns>
struct TilePlace {
  std::int32_t matrix, first_row, first_column;

  template <class P>
  __device__ __forceinline__ TilePlace(const P& p, std::int64_t index) {
    const std::int64_t of_matrix = std::int64_t(p.tiles_x) * p.tiles_y;
    matrix = static_cast<std::int32_t>(index / of_matrix);
    const auto rest = static_cast<std::int32_t>(index % of_matrix);
    first_row = rest / p.tiles_x * Rows;
    first_column = rest % p.tiles_x * Columns;
  }
};

// Columns [0, count) of 32. Range: any count.
__device__ __forceinline__ std::uint32_t first_bits(std::int32_t count) {
  return count <= 0 ? 0u : count >= 32 ? 0xffffffffu : (1u << count) - 1;
}

// A row of A or a column of B; entries are finite.
struct RepairLine {
  const char* data;
  double first, second;  // halves of 2^shift
  std::int32_t shift;
};

__device__ __forceinline__ double entry_at(const char* at, bool is_double) {
  return is_double ? *reinterpret_cast<const double*>(at) : static_cast<double>(*reinterpret_cast<const float*>(at));
}

// The lines of one matrix of an operand.
struct RepairLines {
  const char* data;          // of the block's first line
  const LineRecord* record;  // likewise
  std::int64_t outer_stride, inner_stride;
  bool is_double;

  __device__ __forceinline__ double entry(const char* line, std::int64_t k) const {
    return entry_at(line + k * inner_stride, is_double);
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

// Those of a matrix of an operand, from line `first` on.
__device__ __forceinline__ RepairLines lines_of(const ScaledOperand& operand, std::int32_t matrix, std::int64_t first) {
  return {operand.view.data + StackIndex{matrix}.offset(operand.view.stack) + first * operand.view.outer_stride,
          operand.record + matrix * std::int64_t(operand.view.outer) + first, operand.view.outer_stride,
          operand.view.inner_stride, operand.view.type == ElementType::float64};
}

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
};

}  // namespace ozfp4::cuda
