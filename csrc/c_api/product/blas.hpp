// The BLAS that multiplies planes on the CPU: the caller's, or one of this machine, tried before it is used.
#pragma once

#include <string>

#include "ozfp4.h"

namespace ozfp4::c_api {

// Finds one where none is set. Throws Refusal with what was tried where there is none.
void require_blas();

// Whether one is set. The second: or can be found, for which libraries are opened.
bool has_blas();
bool finds_blas();

// Takes these two, or where both are null, forgets what there is. Throws Refusal where they are not exact.
void take_blas(ozfp4_blas_function dgemm, ozfp4_blas_function sgemm);

// Takes these two where there is none. Throws Refusal where they are not exact.
void offer_blas(ozfp4_blas_function dgemm, ozfp4_blas_function sgemm);

// Where it comes from. Range: require_blas has returned.
const char* blas_name();

}  // namespace ozfp4::c_api
