// Arguments of products, checked once: what is no order, no extent, no leading dimension is refused here by its name.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

#include "arith/element_type.hpp"
#include "ozfp4.h"
#include "product/matrices.hpp"

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

// Of a product whose m, n and k were checked, all three of its matrices.
void check_matrices(std::int64_t m, std::int64_t n, std::int64_t k);

// Entries from one matrix of a batch to the next, either way; all of them within what addresses reach.
std::int64_t check_stride(const char* name, std::int64_t stride, std::int64_t batch);

// At least `least`, and 1, entries.
std::int64_t check_leading(const char* name, std::int64_t leading, std::int64_t least);

// Throws unless entries are read and there is memory to read them from.
void check_pointer(const char* name, const void* data, bool is_read);

// A finite factor.
double check_factor(const char* name, double factor);
std::complex<double> check_factor(const char* name, const void* factor, EntryType type);

// op(X) of so many rows and columns, where X lies in `order`.
Operand take_operand(const std::string& name, int order, int transpose, const void* data, std::int64_t rows, std::int64_t columns,
                     std::int64_t leading, int entry_bytes);

}  // namespace ozfp4::c_api
