// What products take on a GPU, measured on matrices, a stream and a handle of its own.
#pragma once

#include "interpose/call/choice.hpp"
#include "interpose/cublas/types.hpp"

namespace ozfp4::interpose::cublas {

// `cublas` is the library that makes the native ones, as of dlopen.
Times measure_on_device(const void* cublas, const Product& extents);

// cuBLAS's own product of one matrix on a stream, by a handle that nobody else has. False where it cannot be made.
bool can_make_native(void* cublas, Type type);
bool native_on_device(void* cublas, const Product& product, Stream stream);

}  // namespace ozfp4::interpose::cublas
