// Whether ozfp4 makes a product, by what was asked for and by measured times.
#pragma once

#include <cstdint>
#include <string>

#include "interpose/call/product.hpp"
#include "interpose/call/reason.hpp"
#include "interpose/process/record.hpp"
#include "interpose/process/table.hpp"

namespace ozfp4::interpose {

// Products that are measured together, as matrices of these extents.
struct ShapeClass {
  Type type{};
  bool is_on_device = false;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool is_triangle = false;
  bool operator==(const ShapeClass& other) const {
    return type == other.type && is_on_device == other.is_on_device && m == other.m && n == other.n && k == other.k &&
           batch == other.batch && is_triangle == other.is_triangle;
  }
  std::uint64_t hash() const {
    std::uint64_t x = mix(static_cast<std::uint64_t>(m) + (static_cast<std::uint64_t>(type) << 48) +
                          (is_on_device ? 1ull << 52 : 0) + (is_triangle ? 1ull << 53 : 0));
    x = mix(x + static_cast<std::uint64_t>(n) + (static_cast<std::uint64_t>(batch) << 32));
    return mix(x + static_cast<std::uint64_t>(k));
  }
};

// The largest of 1, 2, 3, 4, 6, 8, 12, 16, ... that is not larger. Range: extent >= 1.
std::int64_t level(std::int64_t extent);

// Range: no extent is 0.
ShapeClass class_of(const Product& product, bool is_on_device);

// What a product takes, in nanoseconds; `ours` is 0 where ozfp4 does not make it, both where neither could be asked.
struct Times {
  std::int64_t ours = 0, native = 0;
};

// Where products are made: how both are measured there, of matrices of this type and these extents.
struct Arena {
  Times (*measure)(const void* context, const Product& extents);
  const void* context;
  bool is_on_device;
};

// What is known without measuring: a reason to leave a call that BLAS takes, or Reason::always where time decides nothing. By
// type and extents, on a GPU also of what is too small to be measured there; by alpha and beta, and the mode in which they are
// multiplied.
Reason by_extents(const Product& product);
Reason by_extents_on_device(const Product& product);
Reason by_factors(const Product& product);
Reason by_call(const Product& product);  // both
bool has_finite_factors(const Product& product);

// Where the mode is `fastest`: Reason::faster, or why not. Of each class of shapes (extents up to half-way to the next power of
// two) both are measured once on matrices of the smallest shape in it, or of the largest shape that is measured: on a GPU, and on
// a CPU with AMX, of 2^36 multiplications, on others of 2^28. On the CPU as soon as that, with all measurements before it and
// what the first product of ozfp4's takes longer, is expected to take less than 1 % of the time that the process has spent in
// real routines, and of the real routine the least of what was measured and what the program's own took counts; on a GPU, whose
// time no call knows, as soon as it is expected to take less than 2 % of the time since the process began and 40 ms, and of
// matrices all of whose extents are 1024 at least. The larger shapes of a class favour ozfp4, as what it does for an entry of A,
// B and C is shared by more multiplications.
Reason by_time(const Product& product, const Arena& arena);
// The same without measuring: Reason::always where it would be measured.
Reason known_by_time(const Product& product, bool is_on_device);
// What the real routine should take for a product, by what was measured of its class, in nanoseconds; 0: nothing was.
std::int64_t native_time_of(const Product& product, bool is_on_device);
// How much less ozfp4 should take for it, likewise.
std::int64_t gain_of(const Product& product, bool is_on_device);
// What a product on a GPU took for nothing counts as measuring does.
void has_cost(std::int64_t nanoseconds);
// A product that the real routine made on the CPU took so long.
void native_took(const Product& product, std::int64_t nanoseconds);

// What was measured for products of this kind; empty where nothing was.
std::string measured_text(const Kind& kind);

}  // namespace ozfp4::interpose
