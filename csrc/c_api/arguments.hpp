// Arguments of products, converted: what is no order, no extent, no leading dimension is refused here by its name.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

#include "arith/element_type.hpp"
#include "ozfp4.h"
#include "product/gpu/enqueue.hpp"
#include "product/matrices.hpp"

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
ElementType integer_type(const char* name, int type);

bool is_row_major(int order);
bool is_transposed(const char* name, int transpose);
std::int64_t check_extent(const char* name, std::int64_t extent);

// Of a matrix that is there, rows x columns: as many entries as addresses reach. Range: extents that were checked.
void check_entries(const char* rows_name, std::int64_t rows, const char* columns_name, std::int64_t columns);

// Checks m, n and k of a product, and the sizes of its three matrices.
void check_extents(std::int64_t m, std::int64_t n, std::int64_t k);

// Entries from one matrix of a batch to the next, either way; all of them within what addresses reach.
std::int64_t check_stride(const char* name, std::int64_t stride, std::int64_t batch);

// At least `least`, and 1, entries.
std::int64_t check_leading(const char* name, std::int64_t leading, std::int64_t least);

// Throws unless entries are read and there is memory to read them from.
void check_pointer(const char* name, const void* data, bool is_read);

// A finite factor, or one that is pointed to.
std::complex<double> check_factor(const char* name, double factor, EntryType type);
std::complex<double> check_factor(const char* name, const void* factor, EntryType type);

// op(X) of so many rows and columns, where X lies in `order`.
Operand take_operand(const std::string& name, int order, int transpose, const void* data, std::int64_t rows, std::int64_t columns,
                     std::int64_t leading, int entry_bytes);

// Where a function runs that has a workspace; and of a function that asks for its size.
inline DevicePlace place_of(void* memory, std::int64_t bytes, void* stream) { return {memory, bytes, stream, nullptr}; }
inline DevicePlace size_into(std::int64_t* needed) {
  check_pointer("bytes", needed, true);
  return {nullptr, 0, nullptr, needed};
}

// An address whose alignment counts, of a function that asks for a size: NULL is one as cudaMalloc gives it.
template <class T>
T* or_aligned(T* data) {
  return data != nullptr ? data : reinterpret_cast<T*>(std::uintptr_t(256));
}

}  // namespace ozfp4::c_api
