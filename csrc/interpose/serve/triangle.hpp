// A triangle of a product by blocks: what is off the diagonal is products, and blocks on it are made whole in memory apart.
#pragma once

#include <cstdint>

#include "interpose/call/product.hpp"
#include "interpose/call/reason.hpp"

namespace ozfp4::interpose {

// A triangle of `n` rows in two, which begin where the rectangle between them does, at `half`. Range: 0 < half < n.
Product first_triangle(const Product& triangle, std::int64_t half);
Product second_triangle(const Product& triangle, std::int64_t half);
Product between_triangles(const Product& triangle, std::int64_t half);

// As serve(), of one of them.
Reason serve_triangle(const Product& triangle, std::int64_t* repaired);

}  // namespace ozfp4::interpose
