#include "c_api/arguments.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "c_api/status.hpp"

namespace ozfp4::c_api {
namespace {

std::string given(const char* name, std::int64_t value) { return std::string(name) + ": " + std::to_string(value); }

}  // namespace

EntryType float_type(const char* name, int type) {
  switch (type) {
    case OZFP4_FLOAT64: return {ElementType::float64, false};
    case OZFP4_FLOAT32: return {ElementType::float32, false};
    case OZFP4_COMPLEX128: return {ElementType::float64, true};
    case OZFP4_COMPLEX64: return {ElementType::float32, true};
    default: break;
  }
  refuse(given(name, type) + " is not OZFP4_FLOAT64, OZFP4_FLOAT32, OZFP4_COMPLEX128 or OZFP4_COMPLEX64 (1 to 4)");
}

ElementType integer_type(const char* name, int type) {
  switch (type) {
    case OZFP4_INT8: return ElementType::int8;
    case OZFP4_INT16: return ElementType::int16;
    case OZFP4_INT32: return ElementType::int32;
    case OZFP4_INT64: return ElementType::int64;
    case OZFP4_UINT8: return ElementType::uint8;
    case OZFP4_UINT16: return ElementType::uint16;
    case OZFP4_UINT32: return ElementType::uint32;
    case OZFP4_UINT64: return ElementType::uint64;
    default: break;
  }
  refuse(given(name, type) + " is not one of OZFP4_INT8 to OZFP4_UINT64 (5 to 12)");
}

bool is_row_major(int order) {
  if (order != OZFP4_ROW_MAJOR && order != OZFP4_COL_MAJOR) {
    refuse(given("order", order) + " is neither OZFP4_ROW_MAJOR (101) nor OZFP4_COL_MAJOR (102)");
  }
  return order == OZFP4_ROW_MAJOR;
}

bool is_transposed(const char* name, int transpose) {
  if (transpose != OZFP4_NO_TRANS && transpose != OZFP4_TRANS && transpose != OZFP4_CONJ_TRANS) {
    refuse(given(name, transpose) + " is none of OZFP4_NO_TRANS (111), OZFP4_TRANS (112) and OZFP4_CONJ_TRANS (113)");
  }
  return transpose != OZFP4_NO_TRANS;
}

std::int64_t check_extent(const char* name, std::int64_t extent) {
  if (extent < 0) refuse(given(name, extent) + " is negative");
  if (extent > kMostEntries) refuse(given(name, extent) + " exceeds 2^48, the largest extent");
  return extent;
}

void check_entries(const char* rows_name, std::int64_t rows, const char* columns_name, std::int64_t columns) {
  if (rows == 0 || columns <= kMostEntries / rows) return;
  refuse(given(rows_name, rows) + " times " + columns_name + " = " + std::to_string(columns) +
         " exceeds 2^48, the most entries of a matrix");
}

void check_extents(std::int64_t m, std::int64_t n, std::int64_t k) {
  check_extent("m", m);
  check_extent("n", n);
  check_extent("k", k);
  if (m == 0 || n == 0 || k == 0) return;
  check_entries("m", m, "k", k);
  check_entries("k", k, "n", n);
  check_entries("m", m, "n", n);
}

std::int64_t check_stride(const char* name, std::int64_t stride, std::int64_t batch) {
  const std::int64_t most = kMostEntries / std::max<std::int64_t>(batch, 1);
  if (stride > most || stride < -most) {
    refuse(given(name, stride) + " is beyond 2^48 entries in a batch of " + std::to_string(batch));
  }
  return stride;
}

std::int64_t check_leading(const char* name, std::int64_t leading, std::int64_t least) {
  const std::int64_t needed = std::max<std::int64_t>(least, 1);
  if (leading < needed) refuse(given(name, leading) + " is less than " + std::to_string(needed) + ", the entries of a line");
  if (leading > kMostEntries) refuse(given(name, leading) + " exceeds 2^48, the longest line");
  return leading;
}

void check_pointer(const char* name, const void* data, bool is_read) {
  if (data == nullptr && is_read) refuse(std::string(name) + ": is NULL");
}

std::complex<double> check_factor(const char* name, double factor, EntryType) {
  if (!std::isfinite(factor)) refuse(std::string(name) + ": " + std::to_string(factor) + " is not finite");
  return factor;
}

std::complex<double> check_factor(const char* name, const void* factor, EntryType type) {
  check_pointer(name, factor, true);
  double parts[2] = {0, 0};
  const int count = type.is_complex ? 2 : 1;
  for (int i = 0; i < count; ++i) {
    const char* place = static_cast<const char*>(factor) + i * type.part_bytes();
    if (type.part == ElementType::float64) {
      std::memcpy(&parts[i], place, sizeof(double));
    } else {
      float part = 0;
      std::memcpy(&part, place, sizeof part);
      parts[i] = part;
    }
    check_factor(name, parts[i], type);
  }
  return {parts[0], parts[1]};
}

Operand take_operand(const std::string& name, int order, int transpose, const void* data, std::int64_t rows, std::int64_t columns,
                     std::int64_t leading, int entry_bytes) {
  // As it lies: lines of neighbouring entries are columns of X where it is column-major, and X^T has the lines of X as the other.
  const bool has_rows = is_row_major(order) != is_transposed(("trans" + name).c_str(), transpose);
  const std::ptrdiff_t line = check_leading(("ld" + name).c_str(), leading, has_rows ? columns : rows) * entry_bytes;
  return {static_cast<const char*>(data), rows, columns, has_rows ? line : entry_bytes, has_rows ? entry_bytes : line,
          transpose == OZFP4_CONJ_TRANS};
}

}  // namespace ozfp4::c_api
