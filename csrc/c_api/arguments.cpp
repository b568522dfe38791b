#include "c_api/arguments.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "c_api/status.hpp"

namespace ozfp4::c_api {
namespace {

std::string given(const char* name, std::int64_t value) { return std::string(name) + ": " + std::to_string(value); }

}  // namespace

EntryType float_type(const char* name, int type) {
  static constexpr EntryType types[] = {kD, kS, kZ, kC};
  if (type >= OZFP4_FLOAT64 && type <= OZFP4_COMPLEX64) return types[type - OZFP4_FLOAT64];
  refuse(given(name, type) + " is not OZFP4_FLOAT64, OZFP4_FLOAT32, OZFP4_COMPLEX128 or OZFP4_COMPLEX64 (1 to 4)");
}

EntryType integer_type(const char* name, int type) {
  using E = ElementType;
  static constexpr E types[] = {E::int8, E::int16, E::int32, E::int64, E::uint8, E::uint16, E::uint32, E::uint64};
  if (type >= OZFP4_INT8 && type <= OZFP4_UINT64) return {types[type - OZFP4_INT8], false};
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

void check_stride(const char* name, std::int64_t stride, std::int64_t batch) {
  const std::int64_t most = kMostEntries / batch;
  if (stride <= most && stride >= -most) return;
  refuse(given(name, stride) + " is beyond 2^48 entries in a batch of " + std::to_string(batch));
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
  const auto part = [&](int i) -> double {
    const double found =
        type.part == ElementType::float64 ? static_cast<const double*>(factor)[i] : static_cast<const float*>(factor)[i];
    return check_factor(name, found, type).real();
  };
  return {part(0), type.is_complex ? part(1) : 0};
}

Operand take_operand(const char* name, int order, int transpose, const GivenMatrix& x, std::int64_t rows, std::int64_t columns,
                     bool is_read) {
  if (x.prepared != nullptr) return {nullptr, rows, columns, 0, 0, false};
  // As it lies: lines of neighbouring entries are columns of X where it is column-major, and X^T has the lines of X as the other.
  const bool has_rows = is_row_major(order) != is_transposed((std::string("trans") + name).c_str(), transpose);
  const std::ptrdiff_t entry = x.type.bytes();
  const std::ptrdiff_t line = check_leading((std::string("ld") + name).c_str(), x.leading, has_rows ? columns : rows) * entry;
  check_pointer(name, x.data, is_read && rows > 0 && columns > 0);
  const bool is_conjugated = x.type.is_complex && transpose == OZFP4_CONJ_TRANS;
  return {static_cast<const char*>(x.data), rows, columns, has_rows ? line : entry, has_rows ? entry : line, is_conjugated};
}

Sides take_sides(const GivenProduct& product, bool alpha_is_zero) {
  const auto& [order, transa, transb, m, n, k, a, b, c, batch] = product;
  const bool has_rows = is_row_major(order);
  for (const auto& [name, extent] : {std::pair("m", m), std::pair("n", n), std::pair("k", k), std::pair("batch", batch)}) {
    check_extent(name, extent);
  }
  if (m > 0 && n > 0 && k > 0) {
    check_entries("m", m, "k", k);
    check_entries("k", k, "n", n);
    check_entries("m", m, "n", n);
  }
  const bool is_read = m > 0 && n > 0 && k > 0 && batch > 0 && !alpha_is_zero;
  const Operand left = take_operand("a", order, transa, a, m, k, is_read);
  const Operand right = take_operand("b", order, transb, b, k, n, is_read);
  check_leading("ldc", c.leading, has_rows ? n : m);
  check_pointer("c", c.data, m > 0 && n > 0 && batch > 0);
  if (batch > 1) {
    if (c.stride < 1) refuse(given("stride_c", c.stride) + " is less than 1");
    check_stride("stride_a", a.stride, batch);
    check_stride("stride_b", b.stride, batch);
    check_stride("stride_c", c.stride, batch);
  }
  if (has_rows) return {false, left, right, a, b, m, n};
  return {true, transposed(right), transposed(left), b, a, n, m};
}

Product product_of(const GivenProduct& given, const Sides& sides) {
  const std::ptrdiff_t entry = given.c.type.bytes();
  Product product{};
  product.type = given.c.type, product.type_a = sides.given_left.type, product.type_b = sides.given_right.type;
  product.m = sides.lines, product.n = sides.line, product.k = given.k;
  product.a = sides.left, product.b = sides.right;
  product.c = {static_cast<char*>(const_cast<void*>(given.c.data)), given.c.leading * entry, entry};
  product.addend = product.c;
  product.addend_part = given.c.type.part;
  product.is_exchanged = sides.is_exchanged;
  product.prepared_a = sides.given_left.prepared, product.prepared_b = sides.given_right.prepared;
  return product;
}

}  // namespace ozfp4::c_api
