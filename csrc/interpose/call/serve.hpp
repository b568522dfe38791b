// A product made by ozfp4.
#pragma once

#include "interpose/call/product.hpp"
#include "interpose/call/reason.hpp"

namespace ozfp4::interpose {

// C as ozfp4 makes it, with the accuracy of the settings, and Reason::always; or why that cannot be, and nothing is written.
// `library`, for dlsym, is where plane products on the CPU find their BLAS: that of the first call is kept.
Reason serve(const Product& product, void* library);

}  // namespace ozfp4::interpose
