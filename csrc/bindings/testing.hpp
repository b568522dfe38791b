// Parts of the extension module ozfp4._testing.
#pragma once

#include <pybind11/pybind11.h>

#include "plan/alphabet.hpp"

namespace ozfp4::bindings {

void register_arith(pybind11::module_& module);
void register_exact(pybind11::module_& module);

// FP8 (E4M3): integers of four significant bits.
const Alphabet& fp8_alphabet();

}  // namespace ozfp4::bindings
