#include "c_api/checked/gemm.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "c_api/checked/status.hpp"

namespace ozfp4::c_api {
namespace {

// Where bounds go: entries of C from line to line and from matrix to matrix.
struct BoundStrides {
  std::int64_t line, matrix;
};

BoundStrides check_bound(const CallOptions& options, std::int64_t line, std::int64_t lines, std::int64_t batch) {
  if (options.bound == nullptr) return {0, 0};
  BoundStrides strides{options.ld_bound, options.stride_bound};
  if (strides.line == 0) strides.line = std::max<std::int64_t>(line, 1);
  check_leading("options.ld_bound", strides.line, line);
  check_entries("options.ld_bound", strides.line, "lines", lines);
  if (strides.matrix == 0) strides.matrix = std::max<std::int64_t>(lines, 1) * strides.line;
  if (batch > 1 && strides.matrix < 1) refuse("options.stride_bound: " + std::to_string(strides.matrix) + " is less than 1");
  return strides;
}

Operand operand_of(const GemmCall& call, const char* name, int transpose, const GivenMatrix& given, std::int64_t rows,
                   std::int64_t columns) {
  if (given.is_prepared) return {nullptr, rows, columns, 0, 0, false};
  Operand operand = take_operand(name, call.order, transpose, given.data, rows, columns, given.leading, call.type.bytes());
  operand.is_conjugated = operand.is_conjugated && call.type.is_complex;
  const bool is_read = call.alpha != 0.0 && call.m > 0 && call.n > 0 && call.k > 0 && call.batch > 0;
  check_pointer(name, given.data, is_read);
  return operand;
}

// A factor with a real and an imaginary part has A B rounded before the sum.
void check_both_parts(const GemmCall& call, const CallOptions& options) {
  if (!has_both_parts(call.alpha) && !has_both_parts(call.beta)) return;
  if (options.rounding != Rounding::nearest) {
    refuse(
        "options.rounding: alpha or beta has a real and an imaginary part, so that A B is rounded before the sum; allowed is "
        "OZFP4_ROUND_NEAREST");
  }
  if (options.bound != nullptr) {
    refuse(Fault::unsupported, "options.bound: alpha or beta has a real and an imaginary part, for which there are no bounds");
  }
}

}  // namespace

BatchedProduct check_gemm(const GemmCall& call, const CallOptions& options) {
  const bool has_rows = is_row_major(call.order);
  for (const auto& [name, transpose, given] :
       {std::make_tuple("transa", call.transa, &call.a), std::make_tuple("transb", call.transb, &call.b)}) {
    if (!given->is_prepared) is_transposed(name, transpose);
  }
  check_extent("m", call.m);
  check_extent("n", call.n);
  check_extent("k", call.k);
  check_extent("batch", call.batch);
  check_matrices(call.m, call.n, call.k);
  const Operand a = operand_of(call, "a", call.transa, call.a, call.m, call.k);
  const Operand b = operand_of(call, "b", call.transb, call.b, call.k, call.n);
  const std::int64_t entry = call.type.bytes(), line = has_rows ? call.n : call.m, lines = has_rows ? call.m : call.n;
  check_leading("ldc", call.ldc, line);
  check_pointer("c", call.c, line > 0 && lines > 0 && call.batch > 0);
  const bool has_strides = call.batch > 1;
  if (has_strides && call.stride_c < 1) refuse("stride_c: " + std::to_string(call.stride_c) + " is less than 1");
  check_both_parts(call, options);
  const BoundStrides bound = check_bound(options, line, lines, call.batch);
  const std::int64_t bound_entry = (call.type.is_complex ? 2 : 1) * static_cast<std::int64_t>(sizeof(double));
  BatchedProduct batch{{call.type, lines, line, call.k, has_rows ? a : transposed(b), has_rows ? b : transposed(a),
                        static_cast<char*>(call.c), static_cast<std::ptrdiff_t>(call.ldc * entry), call.alpha, call.beta,
                        options.bound, static_cast<std::ptrdiff_t>(bound.line * bound_entry), !has_rows}};
  batch.count = call.batch;
  if (has_strides) {
    const std::int64_t a_bytes = check_stride("stride_a", call.a.stride, call.batch) * entry;
    const std::int64_t b_bytes = check_stride("stride_b", call.b.stride, call.batch) * entry;
    batch.a_step = has_rows ? a_bytes : b_bytes;
    batch.b_step = has_rows ? b_bytes : a_bytes;
    batch.c_step = check_stride("stride_c", call.stride_c, call.batch) * entry;
    batch.bound_step = check_stride("options.stride_bound", bound.matrix, call.batch) * bound_entry;
  }
  return batch;
}

}  // namespace ozfp4::c_api
