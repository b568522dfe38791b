// A product made by ozfp4.
#pragma once

#include <cstdint>

#include "exec/product.hpp"
#include "exec/reason.hpp"

namespace ozfp4::exec {

// C, or its triangle, as ozfp4 makes it, with the accuracy of the settings, and Reason::none; or why that cannot be, and
// nothing is written. `repaired`: how many entries were.
Reason serve(const Product& product, std::int64_t* repaired);
Reason serve_triangle(const Product& triangle, std::int64_t* repaired);

// ---- Payloads of NaNs, which tell R's NA from its NaN. ----

// Gives the entries of C whose row of op(A) or column of op(B) has a NaN the first one's bits, in the order of k and in a row
// before a column: ozfp4 has one NaN. A complex entry has them in both of its parts. Range: is_valid(product), which is made and
// is no triangle; alpha and beta are finite.
void keep_payloads(const Product& product);

// The same for an entry that is NaN by that of C before, in one line of so many entries: where an operand has a NaN, it goes
// before.
void keep_payloads_of_line(const Product& product, const void* before, void* line, std::int64_t entries);

// By a loop of its own. Range: is_valid(product).
void multiply_plainly(const Product& product);

}  // namespace ozfp4::exec
