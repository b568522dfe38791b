// Direct products of which one side is a single line: every entry of the other side is read once, and nothing is packed.
#pragma once

#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4 {

// result[i] = sum_k lines[i][k] vector[k] modulo 2^w of the result's type. Precondition: integer entries; a vector of one line,
// of the lines' inner extent; a result of one column, with a row for each line.
void multiply_vector(const OperandView& lines, const OperandView& vector, const ResultView& result);

}  // namespace ozfp4
