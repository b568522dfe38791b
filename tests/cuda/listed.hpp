// What the checks of the kernels behind the list of entries share: lines of operands, what they are and where they lie.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "cpu/repair/correct_dot.hpp"
#include "cuda/gpu.hpp"
#include "cuda/repair/repair.hpp"

namespace ozfp4::cuda {

struct Shape {
  int matrices, rows, columns, inner;
};

template <class X>
struct OnDevice {
  X* data = nullptr;
  std::size_t count;

  explicit OnDevice(const std::vector<X>& from) : count(from.size()) {
    REQUIRE(cudaMalloc(&data, count * sizeof(X)));
    REQUIRE(cudaMemcpy(data, from.data(), count * sizeof(X), cudaMemcpyHostToDevice));
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { cudaFree(data); }

  std::vector<X> read() const {
    std::vector<X> read(count);
    REQUIRE(cudaMemcpy(read.data(), data, count * sizeof(X), cudaMemcpyDeviceToHost));
    return read;
  }
};

// Lines of `inner` entries along K, one behind the other or, where `is_transposed`, side by side, with a gap.
template <class E>
struct Lines {
  std::vector<E> entry;
  std::int64_t outer_stride, inner_stride, matrix_stride;  // in entries
  int matrices, outer, inner;

  Lines(int of_matrices, int of_outer, int of_inner, bool is_transposed)
      : matrices(of_matrices), outer(of_outer), inner(of_inner) {
    outer_stride = is_transposed ? 1 : of_inner + 3;
    inner_stride = is_transposed ? of_outer + 1 : 1;
    matrix_stride = is_transposed ? (of_outer + 1) * std::int64_t(of_inner) : (of_inner + 3) * std::int64_t(of_outer);
    entry.assign(static_cast<std::size_t>(matrices * matrix_stride), E(NAN));
  }
  E& at(int matrix, int line, int k) {
    return entry[static_cast<std::size_t>(matrix * matrix_stride + line * outer_stride + k * inner_stride)];
  }
  DotLine line(int matrix, int index) {
    const auto type = sizeof(E) == sizeof(double) ? ElementType::float64 : ElementType::float32;
    return dot_line(&at(matrix, index, 0), inner_stride * static_cast<std::int64_t>(sizeof(E)), type, inner);
  }
  // Of the capacities that capacity_of(facts) gives.
  template <class CapacityOf>
  std::vector<LineRecord> records(const CapacityOf& capacity_of) {
    std::vector<LineRecord> records;
    for (int matrix = 0; matrix < matrices; ++matrix) {
      for (int index = 0; index < outer; ++index) {
        const LineFacts facts = line(matrix, index).facts;
        records.push_back(make_record(facts, capacity_of(facts)));
      }
    }
    return records;
  }
};

template <class E>
DeviceOperand view_of(const Lines<E>& lines, const OnDevice<E>& data) {
  constexpr std::int64_t bytes = sizeof(E);
  DeviceOperand view{reinterpret_cast<const char*>(data.data),
                     bytes == 8 ? ElementType::float64 : ElementType::float32,
                     lines.outer,
                     lines.inner,
                     lines.outer_stride * bytes,
                     lines.inner_stride * bytes,
                     {}};
  view.stack.rank = 1;
  view.stack.extent[0] = lines.matrices;
  view.stack.stride[0] = lines.matrix_stride * bytes;
  return view;
}

inline DeviceResult result_of(void* data, ElementType type, const Shape& shape, std::int64_t bytes) {
  DeviceResult result;
  result.data = static_cast<char*>(data);
  result.type = type;
  result.rows = shape.rows;
  result.columns = shape.columns;
  result.row_stride = (shape.columns + 1) * bytes;
  result.column_stride = bytes;
  result.stack.rank = 1;
  result.stack.extent[0] = shape.matrices;
  result.stack.stride[0] = shape.rows * result.row_stride;
  result.a_step[0] = result.b_step[0] = 1;
  return result;
}

}  // namespace ozfp4::cuda
