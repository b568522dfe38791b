// Products of the checks of csrc/product/gpu, as programs may pass them: their matrices lie nowhere, which is not looked at.
#pragma once

#include <algorithm>
#include <complex>
#include <string>

#include "check.hpp"
#include "product/matrices.hpp"

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

// The same product whose matrices lie elsewhere: one behind the other, as may be, or anywhere; a step of 0 stays.
inline void place_anywhere(BatchedProduct& p) {
  const bool repeats_a = p.a_step == 0, repeats_b = p.b_step == 0, is_plain = random_int(0, 1) == 0;
  const std::int64_t entry = p.type.bytes();
  p.a = random_operand(p.type, p.m, p.k);
  p.b = random_operand(p.type, p.k, p.n);
  p.c = nowhere(entry);
  p.c_stride = (p.n + random_int(0, 5)) * entry;
  if (p.count == 1) return;
  const auto step = [&](std::int64_t tall) {
    return is_plain ? tall : entry * random_int(1, 100) * (random_int(0, 3) == 0 ? -1 : 1);
  };
  p.a_step = repeats_a ? 0 : step(p.m * p.a.row_stride);
  p.b_step = repeats_b ? 0 : step(p.n * p.b.column_stride);
  p.c_step = is_plain ? p.m * p.c_stride : entry * random_int(1, 100);
}

// `rounds_twice`: factors may have both parts.
inline BatchedProduct random_product(const EntryType& type, bool rounds_twice = true) {
  BatchedProduct p{};
  p.type = type;
  p.m = random_extent();
  p.n = random_extent();
  p.count = random_int(0, 2) == 0 ? random_int(2, 20) : 1;
  p.k = random_int(0, 3) == 0 ? random_int(1, p.count > 1 ? 3000 : 300000) : random_extent();  // long lines are cut
  p.a_step = random_int(0, 2) == 0 ? 0 : 1;
  p.b_step = random_int(0, 2) == 0 ? 0 : 1;
  p.is_exchanged = random_int(0, 1) == 0;
  place_anywhere(p);
  const double factors[] = {0.0, 1.0, -0.5};
  const std::complex<double> turns[] = {1.0, {0.0, 1.0}, {1.0, 2.0}};
  for (std::complex<double>* factor : {&p.alpha, &p.beta}) {
    *factor = factors[random_int(0, 2)];
    if (type.is_complex) *factor *= turns[random_int(0, rounds_twice ? 2 : 1)];
  }
  return p;
}

inline std::string text_of(const BatchedProduct& p) {
  std::string text = (p.type.is_complex ? "complex" : "real");
  for (const std::int64_t x : {std::int64_t(p.type.bytes()), p.m, p.n, p.k, p.a.row_stride, p.a.column_stride, p.b.row_stride,
                               p.b.column_stride, p.c_stride, p.count, p.a_step, p.b_step, p.c_step}) {
    text += " " + std::to_string(x);
  }
  return text;
}

}  // namespace ozfp4::product
