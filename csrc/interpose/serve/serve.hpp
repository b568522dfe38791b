// A product made by ozfp4.
#pragma once

#include <cstdint>

#include "interpose/call/product.hpp"
#include "interpose/call/reason.hpp"

namespace ozfp4::interpose {

// C, or its triangle, as ozfp4 makes it, with the accuracy of the settings, and Reason::none; or why that cannot be, and
// nothing is written. `repaired`: how many entries were.
Reason serve(const Product& product, std::int64_t* repaired);
Reason serve_triangle(const Product& triangle, std::int64_t* repaired);

// By a loop of its own. Range: is_valid(product).
void multiply_plainly(const Product& product);

}  // namespace ozfp4::interpose
