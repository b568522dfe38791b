// What the entries of an operand or a result are.
#pragma once

namespace ozfp4 {

enum class ElementType { float64, float32, int8 };

}  // namespace ozfp4
