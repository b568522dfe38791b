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

// Its extents are not larger; on a GPU they are at most those that are measured. Range: no extent is 0.
ShapeClass class_of(const Product& product, bool is_on_device);

// What is known without measuring: a reason to leave a call that BLAS takes, or Reason::always where time decides nothing. By
// type and extents, on a GPU also of what is too small to be measured there; by alpha and beta, and the mode in which they are
// multiplied.
Reason by_extents(const Product& product);
Reason by_extents_on_device(const Product& product);
Reason by_factors(const Product& product);
Reason by_call(const Product& product);  // both
bool has_finite_factors(const Product& product);

// ---- Where the mode is `fastest`: each class of shapes is measured once, and the real routine has to take a tenth longer. ----

// On a CPU: Reason::faster or slower; Reason::timed where ozfp4 makes this product so that its time is known. That is done where
// this product, with all before it that were made for that reason, is expected to take less than 1 % of the time that the process
// has spent in real routines.
Reason by_time(const Product& product);
// The real routine, or ozfp4 for Reason::timed, made a product so quickly. `is_typical`: chains are no large part of the time.
void native_took(const Product& product, std::int64_t nanoseconds);
void ours_took(const Product& product, std::int64_t nanoseconds, bool is_typical);

// On a GPU, whose products no call waits for, both are measured on matrices of the class's extents, by `measure`: as soon as that
// is expected to take less than 2 % of the time since the process began and 40 ms.
struct Times {
  std::int64_t ours = 0, native = 0;  // nanoseconds; 0 where that product could not be made
};
using Measure = Times (*)(void* cublas, const Product& extents);
Reason by_time_on_device(const Product& product, Measure measure, void* cublas);
// The same without measuring: Reason::always where it would be measured.
Reason known_on_device(const Product& product);

// By what was measured of its class on the CPU, in nanoseconds: what the real routine should take for a product; 0 where nothing
// was measured.
std::int64_t native_time_of(const Product& product);

// What was measured for products of this kind; empty where nothing was.
std::string measured_text(const Kind& kind);

}  // namespace ozfp4::interpose
