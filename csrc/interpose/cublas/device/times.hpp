// What products take on a GPU, measured on matrices and a handle of its own.
#pragma once

#include "interpose/call/choice.hpp"
#include "interpose/cublas/types.hpp"

namespace ozfp4::interpose::cublas {

// `cublas` is the library that makes the native ones, as of dlopen.
Times measure_on_device(void* cublas, const Product& extents);

}  // namespace ozfp4::interpose::cublas
