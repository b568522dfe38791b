// Arguments of products, converted: what is no order, no extent, no leading dimension is refused here by its name.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "arith/element_type.hpp"
#include "ozfp4.h"
#include "product/gpu/enqueue.hpp"
#include "product/matrices.hpp"
#include "product/prepared.hpp"
#include "product/product.hpp"

// The functions of each letter of BLAS: X(letter, what entries are, what factors are, its type).
#define OZFP4_OF_EACH_LETTER(X) \
  X(s, float, float, kS)        \
  X(d, double, double, kD)      \
  X(c, void, const void*, kC)   \
  X(z, void, const void*, kZ)

namespace ozfp4::c_api {

using namespace ozfp4::product;

// Floating-point types alone, integers alone.
EntryType float_type(const char* name, int type);
EntryType integer_type(const char* name, int type);

bool is_row_major(int order);
bool is_transposed(const char* name, int transpose);
std::int64_t check_extent(const char* name, std::int64_t extent);

// Refuses a matrix, rows x columns, of more entries than addresses reach. Precondition: extents that were checked.
void check_entries(const char* rows_name, std::int64_t rows, const char* columns_name, std::int64_t columns);

// Entries from one matrix of a batch to the next, either way; all of them within what addresses reach. Precondition: batch > 0.
void check_stride(const char* name, std::int64_t stride, std::int64_t batch);

// At least `least`, and 1, entries.
std::int64_t check_leading(const char* name, std::int64_t leading, std::int64_t least);

// Throws unless entries are read and there is memory to read them from.
void check_pointer(const char* name, const void* data, bool is_read);

// A finite factor, or one that is pointed to.
std::complex<double> check_factor(const char* name, double factor, EntryType type);
std::complex<double> check_factor(const char* name, const void* factor, EntryType type);

// A matrix as it is passed.
struct GivenMatrix {
  EntryType type;
  const void* data;
  std::int64_t leading, stride = 0;    // to the next matrix of a batch
  const Prepared* prepared = nullptr;  // else nothing else of it is looked at
};

// op(X) of so many rows and columns, where X lies in `order`; `name` is that of X.
Operand take_operand(const char* name, int order, int transpose, const GivenMatrix& x, std::int64_t rows, std::int64_t columns,
                     bool is_read);

// C = op(A) op(B), or a batch of such, as it is passed; strides of a single product are not looked at.
struct GivenProduct {
  int order, transa, transb;
  std::int64_t m, n, k;
  GivenMatrix a, b, c;
  std::int64_t batch = 1;
};

// Its matrices in the order of the row-major product, of so many lines of C; `is_exchanged`: left is B.
struct Sides {
  bool is_exchanged;
  Operand left, right;
  const GivenMatrix &given_left, &given_right;
  std::int64_t lines, line;
};
Sides take_sides(const GivenProduct& product, bool alpha_is_zero);

// The row-major product, of factors 1 and 0, with C as addend; without the steps of a batch.
Product product_of(const GivenProduct& given, const Sides& sides);

// Where a function runs that has a workspace; and of a function that returns its size.
inline DevicePlace place_of(void* memory, std::int64_t bytes, void* stream) { return {memory, bytes, stream, nullptr}; }

// An address that counts by its alignment, of a function that returns a size: NULL is one as cudaMalloc gives it.
template <class T>
T* or_aligned(T* data) {
  return data != nullptr ? data : reinterpret_cast<T*>(std::uintptr_t(256));
}
template <class... Data>
DevicePlace size_into(std::int64_t* needed, Data*&... data) {
  check_pointer("bytes", needed, true);
  ((data = or_aligned(data)), ...);
  return {nullptr, 0, nullptr, needed};
}

}  // namespace ozfp4::c_api
