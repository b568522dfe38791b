// cuBLAS beside the program's calls: handles of our own, with factors on the host.
#pragma once

#include "interpose/call/product.hpp"
#include "interpose/cublas/types.hpp"

namespace ozfp4::interpose::cublas {

// A product of matrices, on a stream. `cublas`: a library, as of dlopen. False: it cannot be made.
bool native_on_device(void* cublas, const Product& product, Stream stream);

}  // namespace ozfp4::interpose::cublas
