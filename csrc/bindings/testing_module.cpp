// The extension module `ozfp4._testing`: what only the tests ask of the C++ code. Built with -DOZFP4_TESTING=ON.
#include "bindings/testing.hpp"

PYBIND11_MODULE(_testing, module) {
  module.doc() = "For the tests: the shared arithmetic, elementwise, and plans that the package does not offer.";
  // Its plans are those of _core, which registers the class.
  pybind11::module_::import("ozfp4._core");
  ozfp4::bindings::register_arith(module);
  ozfp4::bindings::register_exact(module);
  ozfp4::bindings::register_testing_plans(module);
  ozfp4::bindings::register_testing_trust(module);
}
