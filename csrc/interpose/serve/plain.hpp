// A product by a plain loop: of what ozfp4 does not make where there is nobody else.
#pragma once

#include "interpose/call/product.hpp"

namespace ozfp4::interpose {

// As BLAS defines it, each entry one sum in its own precision. Range: is_valid(product).
void multiply_plainly(const Product& product);

}  // namespace ozfp4::interpose
