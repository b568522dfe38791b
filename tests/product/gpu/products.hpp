// Products of the checks of csrc/product/gpu, as programs may pass them: their matrices lie nowhere, which is not looked at.
#pragma once

#include <algorithm>
#include <complex>
#include <string>

#include "check.hpp"
#include "product/product.hpp"

namespace ozfp4::product {

inline constexpr EntryType kTypes[] = {kD, kS, kZ, kC};

inline char* nowhere(std::int64_t bytes) { return reinterpret_cast<char*>(std::uintptr_t(4096 + random_int(0, 4) * bytes)); }

inline std::int64_t random_extent() { return random_int(0, 3) == 0 ? random_int(1, 2000) : random_int(1, 80); }

// With lines along either axis, and gaps between them.
inline Operand random_operand(const EntryType& type, std::int64_t rows, std::int64_t columns) {
  const bool has_rows = random_int(0, 1) == 0;
  const std::int64_t entry = type.bytes(), line = ((has_rows ? columns : rows) + random_int(0, 5)) * entry;
  return {
      nowhere(entry), rows, columns, has_rows ? line : entry, has_rows ? entry : line, type.is_complex && random_int(0, 2) == 0};
}

// With gaps between rows, and now and then between columns.
inline ResultMatrix random_result(std::int64_t entry, std::int64_t rows, std::int64_t columns) {
  const std::int64_t kind = random_int(0, 3);
  if (kind == 0) return {nowhere(entry), entry, (rows + random_int(0, 5)) * entry};
  const std::int64_t step = (kind == 1 ? random_int(2, 3) : 1) * entry;
  return {nowhere(entry), (columns + random_int(0, 5)) * step, step};
}

inline std::int64_t bound_bytes(const Product& p) { return p.type.is_complex ? 16 : 8; }
inline std::int64_t addend_bytes(const Product& p) { return entry_bytes(p.addend_part) * (p.type.is_complex ? 2 : 1); }

// The same product with matrices elsewhere: one behind the other, as may be, or anywhere; a step of 0 stays.
inline void place_anywhere(Product& p) {
  const bool is_plain = random_int(0, 1) == 0;
  const std::int64_t entry = p.type.bytes();
  p.a = random_operand(p.type_a, p.m, p.k);
  p.b = random_operand(p.type_b, p.k, p.n);
  p.c = random_result(entry, p.m, p.n);
  if (p.beta != 0.0) {
    const bool is_c = random_int(0, 1) == 0;
    p.addend = is_c ? p.c : random_result(addend_bytes(p), p.m, p.n);
    if (is_c) p.addend_part = p.type.part;
  }
  if (p.upper.exists()) p.upper = random_result(entry, p.m, p.n);
  if (p.bound.exists()) p.bound = random_result(bound_bytes(p), p.m, p.n);
  const auto place = [&](std::ptrdiff_t Axis::* step, std::int64_t own, std::int64_t tall) {
    std::int64_t behind = tall;
    for (auto axis = p.axes.rbegin(); axis != p.axes.rend(); ++axis) {
      if ((*axis).*step == 0) continue;
      (*axis).*step = is_plain ? behind : own * random_int(1, 100) * (random_int(0, 3) == 0 ? -1 : 1);
      behind *= axis->extent;
    }
  };
  place(&Axis::a, p.type_a.bytes(), p.m * p.a.row_stride);
  place(&Axis::b, p.type_b.bytes(), p.n * p.b.column_stride);
  place(&Axis::c, entry, p.m * p.c.row_stride);
  place(&Axis::addend, addend_bytes(p), p.m * p.addend.row_stride);
  place(&Axis::upper, entry, p.m * p.upper.row_stride);
  place(&Axis::bound, bound_bytes(p), p.m * p.bound.row_stride);
  if (p.addend.data == p.c.data) {
    for (Axis& axis : p.axes) axis.addend = axis.c;
  }
}

// The second result next to the first.
enum class Beside : std::uint8_t { nothing, bound, upper };

// `is_mixed`: operands may be of other types, and stacks have several axes; `rounds_once`: no factor has both parts.
inline Product random_product(const EntryType& type, bool is_mixed = true, bool rounds_once = false,
                              Beside beside = Beside::nothing) {
  Product p{};
  p.type = p.type_a = p.type_b = type;
  if (is_mixed) {
    EntryType& other = random_int(0, 1) == 0 ? p.type_a : p.type_b;
    if (random_int(0, 2) == 0) other.part = ElementType::float32;
    if (type.is_complex && random_int(0, 1) == 0) other.is_complex = false;
  }
  p.addend_part = is_mixed && random_int(0, 2) == 0 ? ElementType::float32 : type.part;
  p.m = random_extent();
  p.n = random_extent();
  const std::int64_t rank = random_int(0, 2) == 0 ? random_int(1, is_mixed ? 3 : 1) : 0;
  p.k = random_int(0, 3) == 0 ? random_int(1, rank > 0 ? 3000 : 300000) : random_extent();  // long lines are cut
  const auto step = [] { return random_int(0, 2) == 0 ? 0 : 1; };
  for (std::int64_t i = 0; i < rank; ++i) p.axes.push_back({random_int(2, rank > 1 ? 5 : 20), step(), step(), 1, 1, 1, 1});
  p.is_exchanged = (!is_mixed || p.type_a.is_complex == p.type_b.is_complex) && random_int(0, 1) == 0;
  const double factors[] = {0.0, 1.0, -0.5};
  const std::complex<double> turns[] = {1.0, {0.0, 1.0}, {1.0, 2.0}};
  for (std::complex<double>* factor : {&p.alpha, &p.beta}) {
    *factor = factors[random_int(0, 2)];
    if (type.is_complex) *factor *= turns[random_int(0, rounds_once ? 1 : 2)];
  }
  if (beside == Beside::bound) p.bound.data = nowhere(8);
  if (beside == Beside::upper) {
    p.upper.data = nowhere(type.bytes());
    p.alpha = 1.0;
    p.beta = 0.0;
  }
  place_anywhere(p);
  return p;
}

inline std::string text_of(const Product& p) {
  std::string text = p.type.is_complex ? "complex" : "real";
  for (const std::int64_t x :
       {std::int64_t(p.type.bytes()), std::int64_t(p.type_a.bytes()), std::int64_t(p.type_b.bytes()), p.m, p.n, p.k,
        p.a.row_stride, p.a.column_stride, p.b.row_stride, p.b.column_stride, p.c.row_stride, p.c.column_stride}) {
    text += " " + std::to_string(x);
  }
  for (const Axis& axis : p.axes) {
    text += " axis";
    for (const std::int64_t x : {axis.extent, axis.a, axis.b, axis.c, axis.addend}) text += " " + std::to_string(x);
  }
  return text;
}

}  // namespace ozfp4::product
