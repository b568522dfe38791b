// An entry of an adjoint, exactly: what lies below the diagonal of a Hermitian matrix.
#pragma once

#include "arith/host_device.hpp"

namespace ozfp4 {

// The imaginary part of a conjugate. A zero is +0, as in a product; NaN keeps its bits. Precondition: any x.
template <class T>
OZFP4_HD T conjugated(T imaginary) {
  return imaginary == imaginary ? T(0) - imaginary : imaginary;
}

}  // namespace ozfp4
