// A BLAS by the file of its library.
#pragma once

#include <string>

#include "cpu/blas/blas.hpp"

namespace ozfp4 {

// The environment's variable that names one: OZFP4_BLAS; nullptr where it is unset or empty.
inline constexpr const char* kBlasVariable = "OZFP4_BLAS";
const char* asked_blas();

struct LibraryBlas {
  DgemmPointer dgemm = nullptr;  // and sgemm, or neither: then `error` says why, and begins with the file
  SgemmPointer sgemm = nullptr;
  bool is_there = false;  // the library can be opened
  std::string error;
};

// Its dgemm_ and sgemm_, or those of another of the usual names, where they multiply integers exactly. The name of a library that
// the process holds is that very one. One that was called stays loaded: it may have threads.
LibraryBlas open_blas(const char* file);

}  // namespace ozfp4
